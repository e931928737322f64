#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/http1/http1.h"
#include "tests/fuzz/fuzz.h"

struct outcome {
	int r;
	size_t used, len;
	char *payload; /* as much room as the input has bytes */
};

static void feed_part(struct http1_chunked *decoder, const char *bytes, size_t len,
		      struct outcome *outcome)
{
	size_t at = 0;

	while (outcome->r == 0 && at < len) {
		struct http1_span data = { 0 };
		size_t used = 0;

		outcome->r = http1_chunked_feed(decoder, bytes + at, len - at, &used, &data);
		fuzz_must(outcome->r == 0 || outcome->r == 1 || outcome->r == -EBADMSG);
		fuzz_must(used <= len - at && (used > 0 || outcome->r != 0));
		fuzz_must(data.len == 0 ||
			  (data.at >= bytes + at && data.at + data.len <= bytes + at + used));
		if (data.len > 0)
			memcpy(outcome->payload + outcome->len, data.at, data.len);
		outcome->len += data.len;
		at += used;
	}
	outcome->used += at;
}

/* @step bytes at a time; 0: all at once. */
static void decode(const char *bytes, size_t len, size_t step, struct outcome *outcome)
{
	struct http1_chunked decoder = { 0 };

	if (step == 0)
		step = len;
	for (size_t at = 0; at < len && outcome->r == 0; at += step)
		feed_part(&decoder, bytes + at, step < len - at ? step : len - at, outcome);
}

/* The proxy sends the payload on in its own chunks: it must be unchanged when they are read. */
static void check_round_trip(const struct outcome *want)
{
	auto_free char *framed = mem_new(want->len + 64);
	auto_free char *payload = mem_new(want->len + 1);
	struct outcome outcome = { .payload = payload };
	size_t len = 0;

	if (want->len > 0) {
		len = (size_t)snprintf(framed, 32, "%zx\r\n", want->len);
		memcpy(framed + len, want->payload, want->len);
		len += want->len;
		memcpy(framed + len, "\r\n", 2);
		len += 2;
	}
	memcpy(framed + len, "0\r\n\r\n", 5);
	decode(framed, len + 5, 0, &outcome);
	fuzz_must(outcome.r == 1 && outcome.len == want->len);
	fuzz_must(memcmp(outcome.payload, want->payload, want->len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static const size_t steps[] = { 1, 2, 5, 13 };
	auto_free char *payload = mem_new(len + 1);
	struct outcome want = { .payload = payload };

	decode((const char *)bytes, len, 0, &want);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		auto_free char *again = mem_new(len + 1);
		struct outcome outcome = { .payload = again };

		decode((const char *)bytes, len, steps[i], &outcome);
		fuzz_must(outcome.r == want.r && outcome.used == want.used);
		fuzz_must(outcome.len == want.len && memcmp(again, payload, want.len) == 0);
	}
	if (want.r == 1)
		check_round_trip(&want);
	return 0;
}
