/* web_head: the head of a request to the page, read strictly (RFC 9112 §2–5). Whatever two readers
 * could read differently is refused. Pure. Private to web*.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define WEB_HEAD_MAX_BYTES 8192
#define WEB_BODY_MAX_BYTES 8192
#define WEB_HEAD_FIELDS    64

/* Bytes of the request itself; at NULL: not given. */
struct web_span {
	const char *at;
	size_t len;
};

enum web_method { WEB_OTHER_METHOD, WEB_GET, WEB_POST };

struct web_head {
	enum web_method method;
	struct web_span path;
	/* Each at most once. */
	struct web_span host, origin, fetch_site, content_type, content_length, cookie, key;
	size_t body_len; /* what content_length says, or 0 */
	size_t len;      /* of the head */
};

/* 0; -EAGAIN: not whole yet; -EBADMSG: malformed; -E2BIG: too large a head; -EMSGSIZE: too large a
 * body; -EPROTONOSUPPORT: not HTTP/1.1. @ret borrows @bytes, and is whole only on 0. */
int web_head_parse(const char *bytes, size_t len, struct web_head *ret);

bool web_head_is(const struct web_span *span, const char *text);
/* The value of cookie @name; at NULL: not there, or there twice. */
struct web_span web_head_cookie(const struct web_head *head, const char *name);
