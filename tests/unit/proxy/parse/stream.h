/* stream: TLS bytes put together piece by piece; more than fits fails the test. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "proxy/parse/hello.h"

struct bytes;

#define STREAM_MAX (4 * HELLO_MAX_STREAM)

struct stream {
	uint8_t bytes[STREAM_MAX];
	size_t len;
};

void stream_put(struct stream *to, const void *bytes, size_t len);
/* Big-endian, in @bytes bytes. */
void stream_put_number(struct stream *to, size_t value, size_t bytes);
/* @body as a handshake message of @type, cut into records of @record bytes each. */
void stream_put_records(struct stream *to, const struct stream *body, uint8_t type, size_t record);
/* A ClientHello with these @extensions. */
void stream_put_hello(struct stream *to, struct bytes extensions, size_t record);
