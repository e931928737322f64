#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/toml.h"
#include "tests/fuzz/fuzz.h"

struct policy_parts {
	const uint8_t *bytes;
	size_t len, line;
};

static int see(const struct toml_value *value, void *arg)
{
	struct policy_parts *seen = arg;

	fuzz_must(value->depth > 0 && value->depth <= TOML_DEPTH_MAX);
	fuzz_must(value->keys[0] != NULL);
	for (size_t i = 0; i < value->depth; i++)
		fuzz_must(!value->keys[i] || strlen(value->keys[i]) <= TOML_KEY_MAX);
	fuzz_must(value->len <= seen->len);
	fuzz_must(value->line >= seen->line);
	fuzz_must(value->is_string || value->len > 0);
	seen->line = value->line;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct policy_parts seen = { bytes, len, 1 };
	struct err why = { 0 };
	size_t line = 0;
	int r = toml_read((const char *)bytes, len, see, &seen, &line, &why);

	fuzz_must(line >= 1 && line <= len + 1);
	fuzz_must((r < 0) == (why.text[0] != '\0'));
	return 0;
}
