/* An egress.lock, which commands and merges may have changed: it is refused, or it is exactly the
 * text that is written for its lines. */
#include <string.h>

#include "base/err.h"
#include "cli/egress_lock.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *text = malloc(len + 1);
	struct err why = { 0 };
	struct tally lines;

	fuzz_must(text);
	if (len > 0)
		memcpy(text, bytes, len);
	text[len] = '\0';
	egress_lock_init(&lines);
	if (egress_lock_parse(&lines, text, len, &why) == 0) {
		char *written = egress_lock_text(&lines);

		fuzz_must(strcmp(written, text) == 0 && strlen(text) == len);
		free(written);
	} else {
		fuzz_must(why.text[0] >= '1' && why.text[0] <= '9');
	}
	tally_done(&lines, NULL);
	free(text);
	return 0;
}
