/* page_head: the head of a request to the page, as base/http1 parses it, and the page's own
 * stricter limits. No I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/http1/http1_head.h"

#define PAGE_HEAD_MAX_BYTES 8192
#define PAGE_BODY_MAX_BYTES 8192
#define PAGE_HEAD_FIELDS    64

enum page_method { PAGE_OTHER_METHOD, PAGE_GET, PAGE_POST };

struct page_head {
	enum page_method method;
	struct http1_span path;
	/* Each is given at most once; at NULL: not given. */
	struct http1_span host, origin, fetch_site, content_type, cookie, key;
	size_t body_len; /* the value of Content-Length, or 0 */
	size_t len;      /* of the head */
};

/* 0; -EAGAIN: incomplete; -EBADMSG: malformed; -E2BIG: the head is too large; -EMSGSIZE: the body
 * is too large; -EPROTONOSUPPORT: not HTTP/1.1. @ret borrows @bytes, and is complete only on 0. */
int page_head_parse(const char *bytes, size_t len, struct page_head *ret);

bool page_head_is(const struct http1_span *span, const char *text);
/* The value of cookie @name; at NULL: missing, or given twice. */
struct http1_span page_head_cookie(const struct page_head *head, const char *name);
