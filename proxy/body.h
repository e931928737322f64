/* body: an HTTP/1 body taken out of one framing and put into another, piece by piece, without
 * copying it. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "proxy/parse/http1.h"

#define BODY_PARTS 3 /* size line, data, line end or last chunk */

/* Zeroed is a body of nothing that is not done: use body_init(). */
struct body {
	enum http1_body in;  /* how it comes */
	bool is_chunked_out; /* how it goes: chunked, or as the bytes are (counted, or until close)
			      */
	bool is_done;
	uint64_t left; /* HTTP1_LENGTH */
	struct http1_chunked decoder;
	char size_line[20];
};

void body_init(struct body *body, enum http1_body in, uint64_t length, bool is_chunked_out);

/* Consumes from @bytes, which it may move about, and says in @parts (*@ret_count of them, pointing
 * into @bytes, @body and constants) what to send. Bytes behind the end of the body are left:
 * *@ret_used says how many were ours. 0, or -EBADMSG. */
int body_feed(struct body *body, char *bytes, size_t len, size_t *ret_used,
	      struct iovec parts[BODY_PARTS], int *ret_count);

/* The sender closed: was that the end? HTTP1_UNTIL_CLOSE ends so: 0 and the last parts. Else
 * -EPIPE: it was cut. */
int body_end(struct body *body, struct iovec parts[BODY_PARTS], int *ret_count);
