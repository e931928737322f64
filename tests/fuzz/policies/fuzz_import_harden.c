#include "tests/fuzz/policies/fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	return fuzz_import("harden-runner", bytes, len);
}
