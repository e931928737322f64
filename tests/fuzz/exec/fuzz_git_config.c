#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "exec/view/git_config.h"
#include "tests/fuzz/fuzz.h"

/* Whatever stands there: one line of it or none, the same with a harmless one before it, and with
 * what runs something behind it always some. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static const char first[] = "[core]\n\tbare = false\n[x]\n",
			  last[] = "\n[core]\n\tfsmonitor = evil\n";
	const size_t before = sizeof(first) - 1, behind = sizeof(last) - 1;
	auto_free char *line = git_config_runs((const char *)bytes, len);
	auto_free char *text = mem_new(before + len + behind);

	fuzz_must(!line || strlen(line) <= 80);
	fuzz_must(!line || memmem(bytes, len, line, strlen(line)));
	fuzz_must(len == 0 || line || !memchr(bytes, '\0', len));
	memcpy(text, first, before);
	memcpy(text + before, bytes, len);
	auto_free char *again = git_config_runs(text, before + len);

	fuzz_must(!line == !again && (!line || strcmp(line, again) == 0));
	memcpy(text + before + len, last, behind);
	auto_free char *more = git_config_runs(text, before + len + behind);

	fuzz_must(more && (!line || strcmp(line, more) == 0));
	return 0;
}
