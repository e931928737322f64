/* Decides which requests the page serves. Each check prevents one attack: the name, a site whose
 * address changes to loopback (DNS rebinding); the origin and the site, scripts of other pages; the
 * content type, their forms; the cookie and the key, programs and people that were not shown the
 * address. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/web/web.h"

static int guard_draw_one(char out[WEB_SECRET_MAX])
{
	uint8_t bytes[WEB_SECRET_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	explicit_bzero(bytes, sizeof(bytes));
	return 0;
}

int web_guard_draw(struct approver *self, const char *answer_origin, struct err *why)
{
	if (guard_draw_one(self->capability) < 0 || guard_draw_one(self->cookie) < 0 ||
	    guard_draw_one(self->key) < 0 || guard_draw_one(self->link_key) < 0)
		return err_set(why, -EIO, "no random numbers for the page");
	if (answer_origin)
		(void)snprintf(self->link_origin, sizeof(self->link_origin), "%s", answer_origin);
	return 0;
}

bool web_guard_is_capability(const struct approver *self, const char *given, size_t len)
{
	return text_is_secret(self->capability, given, len);
}

static bool guard_is_host(const struct approver *self, const struct http1_span *host)
{
	static const char *const names[] = { "127.0.0.1", "localhost" };
	char text[32];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		(void)snprintf(text, sizeof(text), "%s:%u", names[i], self->port);
		if (web_head_is(host, text))
			return true;
	}
	return false;
}

/* Is the origin "http://" and the host of this request? */
static bool guard_is_origin(const struct web_head *head)
{
	static const char scheme[] = "http://";
	const struct http1_span *origin = &head->origin;
	size_t len = sizeof(scheme) - 1;

	return origin->len == len + head->host.len && memcmp(origin->at, scheme, len) == 0 &&
	       memcmp(origin->at + len, head->host.at, head->host.len) == 0;
}

/* The path of the page for answer links, which are opened elsewhere, or of a file that it needs. */
static bool guard_is_for_links(const struct web_head *head)
{
	static const char *const paths[] = { "/once.html",     "/once.js",        "/dom.js",
					     "/shown.js",      "/refused.js",     "/app.css",
					     "/api/once/look", "/api/once/answer" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (web_head_is(&head->path, paths[i]))
			return true;
	}
	return false;
}

static bool guard_is_link_host(const struct approver *self, const struct http1_span *host)
{
	const char *authority = strstr(self->link_origin, "://");

	return authority && web_head_is(host, authority + 3);
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
static bool guard_is_site(const struct web_head *head, bool is_api)
{
	return !head->fetch_site.at || web_head_is(&head->fetch_site, "same-origin") ||
	       (!is_api && web_head_is(&head->fetch_site, "none"));
}

static bool guard_is_known(const struct approver *self, const struct web_head *head)
{
	struct http1_span cookie = web_head_cookie(head, self->cookie_name);
	bool has_cookie = cookie.at && text_is_secret(self->cookie, cookie.at, cookie.len);
	bool has_key = head->key.at && text_is_secret(self->key, head->key.at, head->key.len);

	return has_cookie && has_key;
}

int web_guard_check(const struct approver *self, const struct web_head *head, bool is_entry,
		    const char **ret_why)
{
	bool is_api = head->path.len > 5 && memcmp(head->path.at, "/api/", 5) == 0;
	/* A link from another site to the page is allowed: the page alone shows no data. */
	bool is_page = (web_head_is(&head->path, "/") || web_head_is(&head->path, "/once.html")) &&
		       head->method == WEB_GET;
	bool is_for_links = self->link_origin[0] != '\0' && guard_is_for_links(head);
	bool is_from_link = is_for_links && web_head_is(&head->origin, self->link_origin);

	if (!guard_is_host(self, &head->host) &&
	    !(is_for_links && guard_is_link_host(self, &head->host))) {
		*ret_why = "this page has another host name; open the address that was printed";
		return 421;
	}
	if ((head->origin.at && !guard_is_origin(head) && !is_from_link) ||
	    (!head->origin.at && head->method != WEB_GET) ||
	    (!is_page && !guard_is_site(head, is_api))) {
		*ret_why = "only the page itself may send this request";
		return 403;
	}
	if (head->method == WEB_POST && !guard_is_json(&head->content_type)) {
		*ret_why = "a request must have the type application/json";
		return 415;
	}
	if (is_api && !is_entry && !is_for_links && !guard_is_known(self, head)) {
		*ret_why = "open the address that was printed when the run began";
		return 401;
	}
	return 0;
}
