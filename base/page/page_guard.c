/* Decides which requests the page serves. Each check prevents one attack: the name, a site whose
 * address changes to loopback (DNS rebinding); the origin and the site, scripts of other pages; the
 * content type, their forms; the cookie and the key, programs and people that were not shown the
 * address. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/page/page.h"
#include "base/text.h"

static bool guard_is_host(const struct page *self, const struct http1_span *host)
{
	static const char *const names[] = { "127.0.0.1", "localhost" };
	char text[32];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		(void)snprintf(text, sizeof(text), "%s:%u", names[i], self->port);
		if (page_head_is(host, text))
			return true;
	}
	return false;
}

/* Is the origin "http://" and the host of this request? */
static bool guard_is_origin(const struct page_head *head)
{
	static const char scheme[] = "http://";
	const struct http1_span *origin = &head->origin;
	size_t len = sizeof(scheme) - 1;

	return origin->len == len + head->host.len && memcmp(origin->at, scheme, len) == 0 &&
	       memcmp(origin->at + len, head->host.at, head->host.len) == 0;
}

static bool guard_is_for_links(const struct page *self, const struct page_head *head)
{
	const char *const *paths = self->config->link_paths;

	if (self->link_origin[0] == '\0')
		return false;
	for (size_t i = 0; paths && paths[i]; i++) {
		if (page_head_is(&head->path, paths[i]))
			return true;
	}
	return false;
}

static bool guard_is_link_host(const struct page *self, const struct http1_span *host)
{
	const char *authority = strstr(self->link_origin, "://");

	return authority && page_head_is(host, authority + 3);
}

static bool guard_is_json(const struct http1_span *type)
{
	static const char json[] = "application/json";
	size_t len = sizeof(json) - 1;

	return type->at && type->len >= len && text_equal_nocase(type->at, len, json) &&
	       (type->len == len || type->at[len] == ';');
}

/* A browser says which site sent a request; other programs do not have to. A person may open a file
 * of the page directly ("none"), but not its data. */
static bool guard_is_site(const struct page_head *head, bool is_api)
{
	return !head->fetch_site.at || page_head_is(&head->fetch_site, "same-origin") ||
	       (!is_api && page_head_is(&head->fetch_site, "none"));
}

static bool guard_is_known(const struct page *self, const struct page_head *head)
{
	struct http1_span cookie = page_head_cookie(head, self->cookie_name);
	bool has_cookie = cookie.at && text_is_secret(self->cookie, cookie.at, cookie.len);
	bool has_key = head->key.at && text_is_secret(self->key, head->key.at, head->key.len);

	return has_cookie && has_key;
}

int page_guard_check(const struct page *self, const struct page_head *head, bool is_entry,
		     const char **ret_why)
{
	bool is_api = head->path.len > 5 && memcmp(head->path.at, "/api/", 5) == 0;
	/* A link from another site to the page is allowed: the page alone shows no data. */
	const char *const *link_paths = self->config->link_paths;
	bool is_page = (page_head_is(&head->path, "/") ||
			(link_paths && page_head_is(&head->path, link_paths[0]))) &&
		       head->method == PAGE_GET;
	bool is_for_links = guard_is_for_links(self, head);
	bool is_from_link = is_for_links && page_head_is(&head->origin, self->link_origin);

	if (!guard_is_host(self, &head->host) &&
	    !(is_for_links && guard_is_link_host(self, &head->host))) {
		*ret_why = "this page has another host name; open the address that was printed";
		return 421;
	}
	if ((head->origin.at && !guard_is_origin(head) && !is_from_link) ||
	    (!head->origin.at && head->method != PAGE_GET) ||
	    (!is_page && !guard_is_site(head, is_api))) {
		*ret_why = "only the page itself may send this request";
		return 403;
	}
	if (head->method == PAGE_POST && !guard_is_json(&head->content_type)) {
		*ret_why = "a request must have the type application/json";
		return 415;
	}
	if (is_api && !is_entry && !is_for_links && !guard_is_known(self, head)) {
		*ret_why = "open the address that was printed when it began";
		return 401;
	}
	return 0;
}
