#include <string.h>

#include "policies/policies_tools.h"
#include "tests/fuzz/fuzz.h"

static bool is_shown(const char *text, size_t size)
{
	size_t len = strnlen(text, size);

	for (size_t i = 0; i < len; i++) {
		if (text[i] < ' ' || text[i] > '~')
			return false;
	}
	return len < size;
}

/* The printed form of every decoded host is ASCII. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct policy_host_warning warning;
	struct policy_destination dst;

	if (policy_destination_set(&dst, (const char *)bytes, len, 443, NULL) < 0)
		return 0;
	bool is_warned = policy_host_warning(dst.host, &warning);

	fuzz_must(is_warned == warning.is_punycode);
	fuzz_must(is_warned == (warning.text[0] != '\0'));
	fuzz_must(is_shown(warning.text, sizeof(warning.text)));
	fuzz_must(is_shown(warning.scripts, sizeof(warning.scripts)));
	fuzz_must(is_shown(warning.looks_like, sizeof(warning.looks_like)));
	fuzz_must(strnlen(warning.unicode, sizeof(warning.unicode)) < sizeof(warning.unicode));
	return 0;
}
