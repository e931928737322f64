/* web_head: the head of a request to the page, as base/http1 parses it, and the page's own stricter
 * limits. No I/O. Private to web*.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/http1/http1_head.h"

#define WEB_HEAD_MAX_BYTES 8192
#define WEB_BODY_MAX_BYTES 8192
#define WEB_HEAD_FIELDS    64

enum web_method { WEB_OTHER_METHOD, WEB_GET, WEB_POST };

struct web_head {
	enum web_method method;
	struct http1_span path;
	/* Each is given at most once; at NULL: not given. */
	struct http1_span host, origin, fetch_site, content_type, cookie, key;
	size_t body_len; /* the value of Content-Length, or 0 */
	size_t len;      /* of the head */
};

/* 0; -EAGAIN: incomplete; -EBADMSG: malformed; -E2BIG: the head is too large; -EMSGSIZE: the body
 * is too large; -EPROTONOSUPPORT: not HTTP/1.1. @ret borrows @bytes, and is complete only on 0. */
int web_head_parse(const char *bytes, size_t len, struct web_head *ret);

bool web_head_is(const struct http1_span *span, const char *text);
/* The value of cookie @name; at NULL: missing, or given twice. */
struct http1_span web_head_cookie(const struct web_head *head, const char *name);
