/* hello: the server name and ALPN of a TLS ClientHello (RFC 8446 §4.1.2, RFC 6066 §3). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HELLO_MAX_BYTES   16384 /* of the hello; a larger one is refused */
#define HELLO_MAX_RECORDS 64    /* records that one hello may be spread over */
#define HELLO_MAX_STREAM                                                                           \
	(HELLO_MAX_BYTES +                                                                         \
	 5 * HELLO_MAX_RECORDS) /* with a buffer of this size, hello_parse() never returns -EAGAIN \
				   when the buffer is full */

struct hello {
	char server_name[256]; /* as sent, NUL-terminated; "": no name */
	bool has_server_name;
	bool has_ech;   /* encrypted_client_hello (0xfe0d); real ECH and GREASE look the same */
	bool offers_h2; /* ALPN */
	size_t bytes;   /* of the stream: the records of the hello */
};

/* Reads records from the start of a stream; handles a hello split over segments and records.
 * -EAGAIN: needs more (never more than HELLO_MAX_BYTES plus record headers), -EPROTO: not TLS at
 * all, -EBADMSG: TLS but malformed, ambiguous (two server names, NUL inside) or too large. 0: @ret
 * is filled. */
int hello_parse(const uint8_t *bytes, size_t len, struct hello *ret);
