#include <string.h>

#include "base/mem.h"
#include "policies/policies_tools.h"
#include "tests/fuzz/fuzz.h"

/* Only what a resolver reads as we do: lower-case letters, digits, hyphens, underscores, dots;
 * colons in IPv6. */
static void check_canonical(const struct policy_destination *dst)
{
	struct policy_destination again;
	size_t len = strnlen(dst->host, sizeof(dst->host));
	size_t allowed = strspn(dst->host, dst->addr.family == AF_INET6
						   ? "abcdef0123456789:."
						   : "abcdefghijklmnopqrstuvwxyz0123456789-_.");

	fuzz_must(len > 0 && len < sizeof(dst->host));
	fuzz_must(allowed == len);
	fuzz_must(dst->host[len - 1] != '.' && dst->host[0] != '.' && dst->host[0] != '-');
	fuzz_must(!strstr(dst->host, ".."));
	fuzz_must(policy_destination_set(&again, dst->host, len, dst->port, NULL) == 0);
	fuzz_must(strcmp(again.host, dst->host) == 0);
	fuzz_must(addr_equal(&again.addr, &dst->addr));
	if (dst->addr.family == 0) {
		struct addr addr;

		fuzz_must(addr_parse(dst->host, len, &addr) < 0);
		fuzz_must(addr_parse_loose_v4(dst->host, len, &addr) < 0);
	}
}

static void check_text(const struct policy_destination *dst)
{
	char text[POLICY_DESTINATION_TEXT_MAX], twice[POLICY_DESTINATION_TEXT_MAX];
	struct policy_destination again;

	policy_destination_text(dst, text);
	fuzz_must(policy_destination_parse(text, &again, NULL) == 0);
	fuzz_must(policy_destination_equal(dst, &again));
	fuzz_must(strcmp(policy_destination_text(&again, twice), text) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct policy_destination dst;
	auto_free char *text = mem_new(len + 1);

	if (policy_destination_set(&dst, (const char *)bytes, len, 443, NULL) == 0) {
		check_canonical(&dst);
		check_text(&dst);
		(void)policy_destination_is_loopback(&dst);
	}
	if (len > 0)
		memcpy(text, bytes, len);
	if (policy_destination_parse(text, &dst, NULL) == 0) {
		check_canonical(&dst);
		check_text(&dst);
	}
	return 0;
}
