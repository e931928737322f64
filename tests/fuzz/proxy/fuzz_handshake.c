#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "proxy/parse/handshake.h"
#include "proxy/parse/hello.h"
#include "tests/fuzz/fuzz.h"

#define RECORD_HEADER 5
#define HANDSHAKE     22

/* The result of a stream: how it ended, how far it was read, and the names in its hellos. */
struct outcome {
	int r;
	size_t used, hellos;
	unsigned int names;
};

static void note(struct outcome *outcome, const struct hello *hello)
{
	outcome->hellos++;
	for (const char *at = hello->server_name; *at; at++)
		outcome->names = outcome->names * 31 + (unsigned char)*at;
}

/* As a tunnel does it: what is here is judged until no more is whole. */
static struct outcome play(const uint8_t *bytes, size_t len, size_t step, bool is_past_hello)
{
	struct handshake handshake = { .is_past_hello = is_past_hello };
	struct outcome outcome = { .r = HANDSHAKE_MORE };

	for (size_t here = step < len ? step : len;; here = here + step < len ? here + step : len) {
		do {
			struct hello hello = { 0 };
			size_t used = 0;

			outcome.r = handshake_client(&handshake, bytes + outcome.used,
						     here - outcome.used, &used, &hello);
			if (outcome.r < 0)
				return outcome;
			fuzz_must(used <= here - outcome.used);
			outcome.used += used;
			if (outcome.r == HANDSHAKE_HELLO)
				note(&outcome, &hello);
		} while (outcome.r == HANDSHAKE_HELLO);
		fuzz_must(here - outcome.used < HELLO_MAX_STREAM);
		if (outcome.r == HANDSHAKE_OVER)
			outcome.used = 0; /* the number of available bytes does not matter */
		if (outcome.r == HANDSHAKE_OVER || here == len)
			return outcome;
	}
}

/* A server that waits for a hello reads the messages of all handshake records as one stream, and
 * skips every other record. How many hellos does it find in what went on? */
static size_t count_hellos(const uint8_t *bytes, size_t len)
{
	uint8_t header[4];
	size_t have = 0, left = 0, count = 0;

	for (size_t at = 0; at + RECORD_HEADER <= len;) {
		size_t body = (size_t)bytes[at + 3] << 8 | bytes[at + 4];
		bool is_read = bytes[at] == HANDSHAKE;

		at += RECORD_HEADER;
		for (size_t i = 0; i < body && at + i < len && is_read; i++) {
			if (left) {
				left--;
				continue;
			}
			header[have++] = bytes[at + i];
			if (have < sizeof(header))
				continue;
			have = 0;
			left = (size_t)header[1] << 16 | header[2] << 8 | header[3];
			count += header[0] == 1;
		}
		at += body;
	}
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct handshake handshake = { 0 };

	if (len < 2)
		return 0;
	size_t step = 1 + bytes[0];
	bool is_past_hello = bytes[1] & 1;

	bytes += 2;
	len -= 2;
	struct outcome whole = play(bytes, len, len ? len : 1, is_past_hello);
	struct outcome split = play(bytes, len, step, is_past_hello);

	fuzz_must(whole.r == split.r && whole.hellos == split.hellos && whole.names == split.names);
	fuzz_must(whole.r < 0 || whole.used == split.used);
	if (whole.r == HANDSHAKE_MORE)
		fuzz_must(count_hellos(bytes, whole.used) == whole.hellos);

	/* The same bytes from the server, at once and one by one. */
	struct handshake one_by_one = { 0 };

	handshake_server(&handshake, bytes, len);
	for (size_t i = 0; i < len; i++)
		handshake_server(&one_by_one, bytes + i, 1);
	fuzz_must(handshake.is_past_hello == one_by_one.is_past_hello);
	fuzz_must(handshake.is_server_unread == one_by_one.is_server_unread);
	return 0;
}
