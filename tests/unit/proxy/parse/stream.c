#include "tests/unit/proxy/parse/stream.h"

#include <string.h>

#include "tests/unit/proxy/parse/parse_test.h"

void stream_put(struct stream *to, const void *bytes, size_t len)
{
	ck_assert_uint_le(to->len + len, STREAM_MAX);
	memcpy(to->bytes + to->len, bytes, len);
	to->len += len;
}

void stream_put_number(struct stream *to, size_t value, size_t bytes)
{
	while (bytes-- > 0)
		stream_put(to, &(uint8_t){ (uint8_t)(value >> 8 * bytes) }, 1);
}

/* What comes before the extensions: version, random, session, one suite, no compression. */
static void put_start(struct stream *to)
{
	static const uint8_t session[32] = { 1, 2, 3 };

	stream_put(to, "\3\3", 2);
	stream_put(to, session, sizeof(session));
	stream_put(to, "\x20", 1);
	stream_put(to, session, sizeof(session));
	stream_put(to, "\0\2\x13\1", 4);
	stream_put(to, "\1\0", 2);
}

void stream_put_records(struct stream *to, const struct stream *body, uint8_t type, size_t record)
{
	struct stream message = { 0 };

	stream_put(&message, &type, 1);
	stream_put_number(&message, body->len, 3);
	stream_put(&message, body->bytes, body->len);
	for (size_t at = 0; at < message.len; at += record) {
		size_t part = message.len - at < record ? message.len - at : record;

		stream_put(to, "\x16\3\1", 3);
		stream_put_number(to, part, 2);
		stream_put(to, message.bytes + at, part);
	}
}

void stream_put_hello(struct stream *to, struct bytes extensions, size_t record)
{
	struct stream body = { 0 };

	put_start(&body);
	stream_put_number(&body, extensions.len, 2);
	stream_put(&body, extensions.at, extensions.len);
	stream_put_records(to, &body, 1, record);
}
