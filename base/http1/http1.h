/* http1: strict incremental parser for HTTP/1.1 heads and chunked bodies (RFC 9110, RFC 9112).
 * Everything ambiguous is refused. Pure: no allocation, no I/O; spans point into the caller's
 * buffer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/http1/http1_connection.h"
#include "base/http1/http1_head.h"

/* -EAGAIN: incomplete (call again with more bytes; @buffer from the same start). -E2BIG: over a
 * limit. -EBADMSG: refused, *@ret_cause is a static sentence. 0: @ret is filled. Keep *@scanned
 * between the calls, so that only new bytes are scanned (0 at first; 0 again after a complete
 * head). */
int http1_parse_request(const char *buffer, size_t len, size_t *scanned, struct http1_head *ret,
			const char **ret_cause);
/* @method: of the request it belongs to (HEAD, CONNECT change the body). */
int http1_parse_response(const char *buffer, size_t len, size_t *scanned, struct http1_span method,
			 struct http1_head *ret, const char **ret_cause);

/* Incremental chunked decoder. Zeroed is the start state. */
struct http1_chunked {
	uint64_t left;
	uint32_t line; /* length of the current size line or trailer name so far */
	uint32_t trailer_bytes;
	uint8_t state;
	char name[24]; /* of the current trailer field, truncated */
};
/* Consumes *@ret_used bytes; their payload is *@ret_data (one span, may be empty). 0: continue
 * (call again with the rest, or more), 1: the body is complete, -EBADMSG: refused. Extensions and
 * trailers are dropped. It stops behind the payload of a chunk, and without payload only at the end
 * of @bytes. */
int http1_chunked_feed(struct http1_chunked *decoder, const char *bytes, size_t len,
		       size_t *ret_used, struct http1_span *ret_data);
