/* fuzz_import: every importer gives a message that can be shown, or a policy that loads. */
#pragma once

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/policies_tools.h"
#include "tests/fuzz/fuzz.h"

static inline int fuzz_import(const char *format, const uint8_t *bytes, size_t len)
{
	auto_free char *copy = mem_new(len + 1), *text = NULL, *losses = NULL;
	struct err why = { 0 };

	if (len > 0)
		memcpy(copy, bytes, len);
	int r = policy_import(format, "f", copy, len, &text, &losses, &why);

	fuzz_must((r == 0) == (text != NULL) && (r == 0) == (why.text[0] == '\0'));
	if (r < 0)
		return 0;
	struct policy *policy = policy_new();

	/* Commands and methods are of a later version of the language. */
	if (!strstr(text, "\ncommand ") && !strstr(text, "\nprogram ") && !strstr(text, " method "))
		fuzz_must(policy_load_text(policy, "f", text) == 0);
	policy_free(policy);
	return 0;
}
