#include "base/http1/http1_target.h"

#include <errno.h>
#include <string.h>

#include "base/addr.h"
#include "base/text.h"
#include "base/http1/http1_head.h"
#include "base/http1/http1_chars.h"
#include "base/http1/http1_path.h"
#include "base/http1/http1_refuse.h"

#define HOST_MAX_BYTES 255

struct authority {
	struct http1_span userinfo, host;
	uint16_t port; /* 0: no port was sent */
};

/* No sign, no leading zero (which also excludes 0), nothing behind the digits. */
static int parse_port(struct http1_span text, uint16_t *ret_port, const char **ret_cause)
{
	uint64_t port;

	if (text.len == 0 || text.at[0] == '0' ||
	    text_to_u64(text.at, text.len, UINT16_MAX, &port) < 0)
		return http1_refuse(ret_cause, "the port is not a number from 1 to 65535");
	*ret_port = (uint16_t)port;
	return 0;
}

/* "[…]": @text starts behind the opening bracket. A zone id is refused: it means nothing to another
 * host. */
static int parse_bracketed(struct http1_span text, struct authority *ret, struct http1_span *rest,
			   const char **ret_cause)
{
	const char *closing = memchr(text.at, ']', text.len);
	struct addr addr;

	if (closing == NULL)
		return http1_refuse(ret_cause,
				    "the host has an opening bracket without a closing one");
	ret->host = (struct http1_span){ text.at, (size_t)(closing - text.at) };
	if (addr_parse(ret->host.at, ret->host.len, &addr) < 0 || addr.family != AF_INET6)
		return http1_refuse(ret_cause,
				    "the brackets of the host do not contain an IPv6 address");
	*rest = (struct http1_span){ closing + 1, text.len - ret->host.len - 1 };
	return 0;
}

static int parse_name(struct http1_span text, struct authority *ret, struct http1_span *rest,
		      const char **ret_cause)
{
	const char *colon = text.len > 0 ? memchr(text.at, ':', text.len) : NULL;
	size_t len = colon != NULL ? (size_t)(colon - text.at) : text.len;

	ret->host = (struct http1_span){ text.at, len };
	if (len == 0)
		return http1_refuse(ret_cause, "the host is empty");
	if (len > HOST_MAX_BYTES)
		return http1_refuse(ret_cause, "the host is longer than 255 bytes");
	if (!http1_chars_all(ret->host, HTTP1_CHAR_HOST))
		return http1_refuse(ret_cause,
				    "the host contains a byte that is not valid in a host name");
	*rest = (struct http1_span){ text.at + len, text.len - len };
	return 0;
}

/* host [":" port]. Percent-encoding in a host is refused: some recipients would decode it and some
 * would not. */
static int parse_host_port(struct http1_span text, struct authority *ret, const char **ret_cause)
{
	struct http1_span rest;
	int r;

	if (text.len > 0 && text.at[0] == '[')
		r = parse_bracketed((struct http1_span){ text.at + 1, text.len - 1 }, ret, &rest,
				    ret_cause);
	else
		r = parse_name(text, ret, &rest, ret_cause);
	if (r < 0)
		return r;

	ret->port = 0;
	if (rest.len == 0)
		return 0;
	if (rest.at[0] != ':')
		return http1_refuse(ret_cause, "something other than a port follows the host");
	return parse_port((struct http1_span){ rest.at + 1, rest.len - 1 }, &ret->port, ret_cause);
}

/* [userinfo "@"] host [":" port]. With a second @ the host would be ambiguous: refused. RFC 9110
 * §4.2.4 recommends refusing one @ too; but curl, apt and Python send it to proxies. It is not
 * passed on. */
static int parse_authority(struct http1_span text, struct authority *ret, const char **ret_cause)
{
	const char *at = text.len > 0 ? memchr(text.at, '@', text.len) : NULL;

	ret->userinfo = (struct http1_span){ 0 };
	if (at != NULL) {
		ret->userinfo = (struct http1_span){ text.at, (size_t)(at - text.at) };
		if (ret->userinfo.len == 0)
			return http1_refuse(ret_cause, "the user name before the @ is empty");
		if (!http1_chars_all(ret->userinfo, HTTP1_CHAR_USERINFO))
			return http1_refuse(ret_cause,
					    "the user name before the @ has an invalid byte");
		text = (struct http1_span){ at + 1, text.len - ret->userinfo.len - 1 };
	}
	return parse_host_port(text, ret, ret_cause);
}

/* RFC 9112 §3.2.3: the only form for CONNECT; the port is required. */
static int parse_authority_form(struct http1_head *head, const char **ret_cause)
{
	struct authority authority;
	int r;

	if (memchr(head->target.at, '@', head->target.len) != NULL)
		return http1_refuse(ret_cause, "a CONNECT target must not have a user name");
	r = parse_host_port(head->target, &authority, ret_cause);
	if (r < 0)
		return r;
	if (authority.port == 0)
		return http1_refuse(ret_cause, "a CONNECT target must have a port");
	head->form = HTTP1_AUTHORITY;
	head->host = authority.host;
	head->port = authority.port;
	return 0;
}

/* The authority ends at the first of "/", "?" and the end. "\" does not end it, and is not allowed
 * in a host. */
static size_t authority_len(struct http1_span text)
{
	size_t len = 0;

	while (len < text.len && text.at[len] != '/' && text.at[len] != '?')
		len++;
	return len;
}

/* An empty path becomes the path that is sent to the origin server (RFC 9112 §3.2.1, §3.2.4). */
static int parse_path(struct http1_span text, struct http1_head *head, const char **ret_cause)
{
	const char *flaw = http1_path_flaw(text);

	if (text.len > 0 && text.at[0] == '?')
		return http1_refuse(ret_cause, "the target has a query but no path");
	if (flaw)
		return http1_refuse(ret_cause, flaw);
	if (text.len == 0 && text_equal_nocase(head->method.at, head->method.len, "OPTIONS"))
		head->path = (struct http1_span){ "*", 1 };
	else if (text.len == 0)
		head->path = (struct http1_span){ "/", 1 };
	else
		head->path = text;
	return 0;
}

/* 0: another scheme. */
static uint16_t default_port(struct http1_span scheme)
{
	if (text_equal_nocase(scheme.at, scheme.len, "http"))
		return 80;
	if (text_equal_nocase(scheme.at, scheme.len, "https"))
		return 443;
	return text_equal_nocase(scheme.at, scheme.len, "ftp") ? 21 : 0;
}

/* RFC 9112 §3.2.2 */
static int parse_absolute_form(struct http1_head *head, const char **ret_cause)
{
	struct http1_span target = head->target;
	const char *mark = memmem(target.at, target.len, "://", 3);
	struct authority authority;

	if (mark == NULL)
		return http1_refuse(ret_cause, "the target is neither a path nor a URL");
	head->scheme = (struct http1_span){ target.at, (size_t)(mark - target.at) };

	uint16_t port = default_port(head->scheme);

	if (port == 0)
		return http1_refuse(ret_cause,
				    "the target's scheme is none of http, https and ftp");

	struct http1_span rest = { mark + 3, target.len - head->scheme.len - 3 };
	size_t len = authority_len(rest);
	int r = parse_authority((struct http1_span){ rest.at, len }, &authority, ret_cause);

	if (r < 0)
		return r;
	head->form = HTTP1_ABSOLUTE;
	head->userinfo = authority.userinfo;
	head->host = authority.host;
	head->port = authority.port != 0 ? authority.port : port;
	return parse_path((struct http1_span){ rest.at + len, rest.len - len }, head, ret_cause);
}

int http1_target_parse(struct http1_head *head, const char **ret_cause)
{
	struct http1_span target = head->target, method = head->method;

	if (target.len == 0)
		return http1_refuse(ret_cause, "the request target is empty");
	if (target.len > HTTP1_TARGET_MAX)
		return http1_refuse_size(ret_cause,
					 "the request target is longer than 16384 bytes");
	if (memchr(target.at, '#', target.len) != NULL)
		return http1_refuse(ret_cause, "the request target has a fragment");
	if (!http1_chars_all(target, HTTP1_CHAR_TARGET))
		return http1_refuse(ret_cause,
				    "the request target has a byte that must be percent-encoded");

	if (text_equal_nocase(method.at, method.len, "CONNECT"))
		return parse_authority_form(head, ret_cause);
	if (target.at[0] == '/') {
		head->form = HTTP1_ORIGIN;
		return parse_path(target, head, ret_cause);
	}
	if (target.len == 1 && target.at[0] == '*') {
		head->form = HTTP1_ASTERISK;
		if (!text_equal_nocase(method.at, method.len, "OPTIONS"))
			return http1_refuse(ret_cause, "only OPTIONS may have the target *");
		return 0;
	}
	return parse_absolute_form(head, ret_cause);
}

/* RFC 9112 §3.2: HTTP/1.1 needs one Host field, empty if the target has no authority; HTTP/1.0 may
 * have none. */
int http1_target_parse_host(struct http1_head *head, const char **ret_cause)
{
	const struct http1_field *host = NULL;
	struct authority authority;

	for (size_t i = 0; i < head->field_count; i++) {
		const struct http1_field *field = &head->fields[i];

		if (!text_equal_nocase(field->name.at, field->name.len, "host"))
			continue;
		if (host != NULL)
			return http1_refuse(ret_cause, "there is more than one Host field");
		host = field;
	}
	if (host == NULL && head->minor >= 1)
		return http1_refuse(ret_cause, "the Host field is missing");
	if (host == NULL || host->value.len == 0)
		return 0;

	if (parse_host_port(host->value, &authority, ret_cause) < 0)
		return http1_refuse(ret_cause,
				    "the Host field is not a host with an optional port");
	head->host_field = host->value;
	head->host_field_name = authority.host;
	head->host_field_port = authority.port;
	return 0;
}
