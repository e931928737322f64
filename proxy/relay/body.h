/* body: re-frames an HTTP/1 body piece by piece, without copying it. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/http1/http1.h"

#define BODY_PARTS 3 /* size line, data, line end or last chunk */

/* Use body_init(): a zeroed value is not a valid body. */
struct body {
	enum http1_body in;  /* how it is received */
	bool is_chunked_out; /* how it is sent: chunked, or the plain bytes (by length, or until
				close) */
	bool is_done;
	uint64_t left; /* HTTP1_LENGTH */
	struct http1_chunked decoder;
	char size_line[20];
};

void body_init(struct body *body, enum http1_body in, uint64_t length, bool is_chunked_out);

/* Consumes from @bytes, which it may move, and fills @parts (*@ret_count of them, pointing into
 * @bytes, @body and constants) with what to send. Bytes behind the end of the body are left:
 * *@ret_used is how many belong to the body. 0, or -EBADMSG. */
int body_feed(struct body *body, char *bytes, size_t len, size_t *ret_used,
	      struct iovec parts[BODY_PARTS], int *ret_count);

/* The sender closed: was the body complete? HTTP1_UNTIL_CLOSE ends that way: 0 and the last parts.
 * Otherwise -EPIPE: truncated. */
int body_end(struct body *body, struct iovec parts[BODY_PARTS], int *ret_count);
