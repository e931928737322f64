/* The remembered answers of another session: a list of copies, read completely or not at all. */
#include <string.h>

#include "base/err.h"
#include "gateway/grants/copies.h"
#include "gateway/grants/width.h"
#include "policies/policies_tools.h"
#include "tests/fuzz/fuzz.h"

#define NOW_S 1700000000

/* It covers exactly its text, and only for its session and its time. */
static void check(const struct grant *grant)
{
	const struct policy_destination *dst = &grant->dst;
	struct policy_destination again;
	char text[APPROVER_KEY_MAX];

	fuzz_must(policy_destination_set(&again, dst->host, strlen(dst->host), dst->port, NULL) ==
			  0 &&
		  policy_destination_equal(dst, &again));
	fuzz_must(grant->scope == GATEWAY_SESSION && grant->exec == 0);
	fuzz_must(grant->action == POLICY_ALLOW || grant->action == POLICY_DENY);
	fuzz_must(grant->until_s == 0 || grant->until_s > NOW_S);
	fuzz_must(grant->limits.upload == grant->width.upload_max &&
		  grant->limits.until_s == grant->until_s);
	fuzz_must(width_text(dst, grant->program ? grant->program : "", &grant->width, text,
			     NULL) == 0 &&
		  strcmp(text, grant->text) == 0);
	for (const char *at = grant->words; *at; at++)
		fuzz_must(*at >= 0x20 && *at < 0x7f);
	for (const char *at = grant->by; *at; at++)
		fuzz_must(*at >= 0x20 && *at < 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const struct gateway_copies copies = { (const char *)bytes, len, "fuzz", "7f3a" };
	struct gateway_copied count;
	struct err why = { 0 };
	const struct grant *grant;
	struct grants grants;
	size_t read = 0;

	grants_init(&grants);
	int r = copies_read(&copies, NOW_S, &grants, &count, &why);

	fuzz_must((r == 0) == (why.text[0] == '\0'));
	TAILQ_FOREACH (grant, &grants.all, order) {
		check(grant);
		read++;
	}
	fuzz_must(r < 0 || read == count.copied);
	grants_done(&grants);
	return 0;
}
