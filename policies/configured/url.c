#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "policies/configured/configured_impl.h"

#define URL_ADDRESS_MAX 47 /* an IPv6 address in brackets */

static const struct {
	const char *name;
	enum url_scheme scheme;
	uint16_t port;
	const char *protocol; /* as the policy language spells it */
} url_schemes[] = {
	{ "http", URL_HTTP, 80, "http" },  { "https", URL_HTTPS, 443, "https" },
	{ "ssh", URL_SSH, 22, "tcp" },     { "git+ssh", URL_SSH, 22, "tcp" },
	{ "ssh+git", URL_SSH, 22, "tcp" }, { "git", URL_GIT, 9418, "tcp" },
};

static bool url_is_letter_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Accepts only the characters of a host: a configuration must not produce a wildcard, a block or a
 * list, whatever the policy language would accept. */
static bool url_is_host(const char *host, size_t len)
{
	if (len > 2 && host[0] == '[' && host[len - 1] == ']') {
		for (size_t i = 1; i + 1 < len; i++) {
			if (!strchr("0123456789abcdefABCDEF:.", host[i]) || host[i] == '\0')
				return false;
		}
		return len <= URL_ADDRESS_MAX;
	}
	if (len == 0 || len >= URL_HOST_MAX || host[0] == '-' || host[0] == '.')
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!url_is_letter_or_digit(host[i]) && host[i] != '.' && host[i] != '-' &&
		    host[i] != '_')
			return false;
	}
	return true;
}

/* Removes the user: RFC 3986 §3.2.1. A second @ is refused, because tools differ in how they read
 * it. */
static int url_take_user(const char **authority, size_t *len, struct err *why)
{
	const char *at = memchr(*authority, '@', *len);

	if (!at)
		return 0;
	*len -= (size_t)(at + 1 - *authority);
	*authority = at + 1;
	if (memchr(*authority, '@', *len))
		return err_set(why, -EBADMSG, "the URL has more than one @ before its host");
	return 0;
}

static int url_take_port(const char *authority, size_t *len, uint16_t *ret, struct err *why)
{
	const char *close = authority[0] == '[' ? memchr(authority, ']', *len) : NULL;
	const char *from = close ? close : authority;
	const char *colon = memchr(from, ':', *len - (size_t)(from - authority));
	uint64_t port;

	if (!colon)
		return 0;
	size_t digits = *len - (size_t)(colon + 1 - authority);

	*len = (size_t)(colon - authority);
	if (digits == 0)
		return 0; /* "host:" is allowed by RFC 3986 §3.2.3 and means the default port */
	if (text_to_u64(colon + 1, digits, UINT16_MAX, &port) < 0 || port == 0)
		return err_set(why, -EBADMSG,
			       "the port of the URL is not a number from 1 to 65535");
	*ret = (uint16_t)port;
	return 0;
}

static int url_take_authority(const char *text, size_t len, struct url *url, struct err *why)
{
	size_t end = 0;

	while (end < len && text[end] != '/' && text[end] != '?' && text[end] != '#')
		end++;
	int r = url_take_user(&text, &end, why);

	if (r == 0 && end > 0)
		r = url_take_port(text, &end, &url->port, why);
	if (r < 0)
		return r;
	if (!url_is_host(text, end))
		return err_set(why, -EBADMSG, "the host of the URL is not a plain name or address");
	for (size_t i = 0; i < end; i++)
		url->host[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]);
	return 0;
}

int url_parse(const char *text, size_t len, struct url *ret, struct err *why)
{
	const char *mark = memmem(text, len, "://", 3);
	struct url url = { 0 };

	for (size_t i = 0; i < len; i++) {
		/* Some tools read a backslash as a slash, others as a part of the user. */
		if ((unsigned char)text[i] <= ' ' || text[i] == 0x7f || text[i] == '\\')
			return err_set(why, -EBADMSG,
				       "the URL has blanks, backslashes or control bytes");
	}
	if (!mark)
		return err_set(why, -EBADMSG, "this is not a URL: it has no ://");
	for (size_t i = 0; i < ARRAY_SIZE(url_schemes); i++) {
		if (!text_equal_nocase(text, (size_t)(mark - text), url_schemes[i].name))
			continue;
		url.scheme = url_schemes[i].scheme;
		url.port = url_schemes[i].port;
	}
	if (url.scheme != URL_ELSE) {
		int r = url_take_authority(mark + 3, len - (size_t)(mark + 3 - text), &url, why);

		if (r < 0)
			return r;
	}
	*ret = url;
	return 0;
}

const char *url_destination(const struct url *url, char out[URL_DESTINATION_MAX])
{
	const char *protocol = "tcp";

	for (size_t i = 0; i < ARRAY_SIZE(url_schemes); i++) {
		if (url_schemes[i].scheme == url->scheme)
			protocol = url_schemes[i].protocol;
	}
	(void)snprintf(out, URL_DESTINATION_MAX, "%s://%s:%u", protocol, url->host, url->port);
	return out;
}
