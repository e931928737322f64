#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "proxy/upstream/upstream_talk.h"
#include "tests/fuzz/fuzz.h"

static const char *const urls[] = {
	"http://p.test:1",
	"http://ana:hush@p.test:1",
	"socks5h://p.test:1",
	"socks5h://ana:hush@p.test:1",
};

/* Plays the conversation with pieces of @step bytes; returns how many bytes it took. */
static size_t play(const struct policy_upstream *upstream, const struct policy_destination *dst,
		   const char *bytes, size_t len, size_t step, int *ret, enum policy_reason *reason)
{
	struct upstream_talk talk = { 0 };
	size_t at = 0, used;
	int r = -EAGAIN;

	upstream_talk_begin(&talk, upstream, dst);
	while (at < len && (r == -EAGAIN || r == 1)) {
		size_t more = step < len - at ? step : len - at;

		r = upstream_talk_read(&talk, bytes + at, more, &used);
		fuzz_must(used <= more && (used > 0 || r == -EBADMSG));
		fuzz_must(r == 0 || r == 1 || r == -EAGAIN || r == -EBADMSG);
		fuzz_must(talk.out_len <= sizeof(talk.out) && talk.in_len <= sizeof(talk.in));
		fuzz_must((r == -EBADMSG) == (talk.reason != POLICY_NONE));
		fuzz_must(!strstr(talk.cause, "hush"));
		at += used;
	}
	*ret = r == 1 ? -EAGAIN : r; /* either way, more has to arrive */
	*reason = talk.reason;
	return at;
}

/* The first byte chooses the proxy; the rest is what it sends. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct policy_upstream upstream;
	struct policy_destination dst;
	enum policy_reason reason, again;
	int r, by_byte;

	if (len < 1)
		return 0;
	const char *stream = (const char *)bytes + 1;

	fuzz_must(policy_upstream_parse(urls[bytes[0] % ARRAY_SIZE(urls)], &upstream, NULL) == 0);
	fuzz_must(policy_destination_set(&dst, "a.test", 6, 443, NULL) == 0);
	size_t used = play(&upstream, &dst, stream, len - 1, len, &r, &reason);
	size_t taken = play(&upstream, &dst, stream, len - 1, 1, &by_byte, &again);

	fuzz_must(r == by_byte && reason == again);
	fuzz_must(r == -EBADMSG || used == taken);
	return 0;
}
