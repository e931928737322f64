/* A line of an audit log that someone has edited: a checkpoint whose parts lie in the line, or
 * none. */
#include <string.h>

#include "gateway/audit/checkpoint.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *line = malloc(len + 1), prev[DIGEST_TEXT_MAX];
	struct checkpoint read;

	fuzz_must(line);
	if (len > 0)
		memcpy(line, bytes, len);
	line[len] = '\n';
	memset(prev, '0', sizeof(prev));
	if (checkpoint_read(line, len, &read) == 0) {
		fuzz_must(read.signed_len < len && read.first > 0);
		fuzz_must(strlen(read.log) == DIGEST_TEXT_MAX - 1);
		fuzz_must((read.after > 0) == (strlen(read.digest) == DIGEST_TEXT_MAX - 1));
		fuzz_must(read.after > 0 || read.replaces[0] == '\0');
		(void)checkpoint_check(&read, line, prev);
	}
	free(line);
	return 0;
}
