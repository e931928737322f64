#include <errno.h>
#include <string.h>

#include "gateway/approvers/programs/reviewer_line.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct reviewer_reply reply;
	int r = reviewer_line_parse((const char *)bytes, len, &reply);

	fuzz_must(r == 0 || r == -EBADMSG);
	fuzz_must(strnlen(reply.id, sizeof(reply.id)) < sizeof(reply.id));
	fuzz_must(strnlen(reply.reason, sizeof(reply.reason)) < sizeof(reply.reason));
	/* A line that is not understood does not answer. */
	fuzz_must(r == 0 || (reply.say == REVIEWER_ABSTAIN && reply.reason[0] == '\0' &&
			     reply.ttl_s == 0 && reply.negative_ttl_s == 0));
	fuzz_must(r < 0 || reply.id[0] != '\0');
	fuzz_must(reply.ttl_s >= 0 && reply.ttl_s <= REVIEWER_TTL_MAX_S);
	fuzz_must(reply.negative_ttl_s >= 0 && reply.negative_ttl_s <= REVIEWER_TTL_MAX_S);
	for (const char *c = reply.reason; *c != '\0'; c++)
		fuzz_must(*c >= ' ' && *c <= '~');
	return 0;
}
