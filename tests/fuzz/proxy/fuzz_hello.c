#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "proxy/parse/hello.h"
#include "tests/fuzz/fuzz.h"

#define RECORD_HEADER 5

static void must_match(int r, const struct hello *hello, int want, const struct hello *want_hello)
{
	fuzz_must(r == want);
	if (r < 0)
		return;
	fuzz_must(strcmp(hello->server_name, want_hello->server_name) == 0);
	fuzz_must(hello->has_server_name == want_hello->has_server_name);
	fuzz_must(hello->has_ech == want_hello->has_ech);
	fuzz_must(hello->offers_h2 == want_hello->offers_h2);
}

static void check_segments(const uint8_t *bytes, size_t len, int want,
			   const struct hello *want_hello)
{
	size_t step = len > 512 ? len / 101 : 1;
	struct hello hello = { 0 };
	int r = -EAGAIN;

	for (size_t at = 0; at < len && r == -EAGAIN; at += step)
		r = hello_parse(bytes, at, &hello);
	if (r == -EAGAIN)
		r = hello_parse(bytes, len, &hello);
	must_match(r, &hello, want, want_hello);
}

/* The message of a hello that was taken: what all its records hold. Returned owned. */
static uint8_t *join(const uint8_t *bytes, size_t len, size_t *ret_len)
{
	uint8_t *message = mem_new(len);
	size_t have = 0, want = 4;

	for (size_t at = 0; have < want && at + RECORD_HEADER <= len;) {
		size_t part = (size_t)bytes[at + 3] << 8 | bytes[at + 4];

		fuzz_must(at + RECORD_HEADER + part <= len);
		memcpy(message + have, bytes + at + RECORD_HEADER, part);
		have += part;
		at += RECORD_HEADER + part;
		if (have >= 4)
			want = 4 + ((size_t)message[1] << 16 | message[2] << 8 | message[3]);
	}
	fuzz_must(have == want);
	*ret_len = have;
	return message;
}

/* Cut into other records, it says the same. */
static void check_records(const uint8_t *bytes, size_t len, const struct hello *want)
{
	size_t message_len = 0, at = 0;
	auto_free uint8_t *message = join(bytes, len, &message_len);
	auto_free uint8_t *stream = mem_new(message_len + RECORD_HEADER * HELLO_MAX_RECORDS);
	size_t record = message_len / HELLO_MAX_RECORDS + 1 + bytes[len - 1] % 16;
	struct hello hello = { 0 };

	for (size_t done = 0; done < message_len; done += record) {
		size_t part = record < message_len - done ? record : message_len - done;

		memcpy(stream + at, "\x16\3\3", 3);
		stream[at + 3] = (uint8_t)(part >> 8);
		stream[at + 4] = (uint8_t)part;
		memcpy(stream + at + RECORD_HEADER, message + done, part);
		at += RECORD_HEADER + part;
	}
	must_match(hello_parse(stream, at, &hello), &hello, 0, want);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct hello hello = { 0 };
	int r = hello_parse(bytes, len, &hello);

	fuzz_must(r == 0 || r == -EAGAIN || r == -EPROTO || r == -EBADMSG);
	fuzz_must(r != -EAGAIN || len < HELLO_MAX_STREAM);
	check_segments(bytes, len, r, &hello);
	if (r < 0)
		return 0;
	fuzz_must(hello.has_server_name == (hello.server_name[0] != '\0'));
	for (const char *at = hello.server_name; *at != '\0'; at++)
		fuzz_must(*at > ' ' && *at < 127 && strchr("/\\@:%*\"'", *at) == NULL);
	check_records(bytes, len, &hello);
	return 0;
}
