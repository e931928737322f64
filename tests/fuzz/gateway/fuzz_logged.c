/* A line of an audit log, which may have been edited: a record whose texts lie in the line, or
 * none. */
#include <string.h>

#include "gateway/audit/logged.h"
#include "gateway/gateway_audit.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *line = malloc(len + 1);
	struct gateway_logged record;
	const char *words = NULL;

	fuzz_must(line);
	if (len > 0)
		memcpy(line, bytes, len);
	line[len] = '\n';
	if (logged_parse(line, len, &record, &words) == 0) {
		const char *texts[] = { record.session,  record.run, record.event,  record.command,
					record.kind,     record.cwd, record.action, record.reason,
					record.by,       record.way, record.host,   record.protocol,
					record.resolved, record.rule };

		for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
			fuzz_must(texts[i][0] == '\0' ||
				  (texts[i] > line && texts[i] + strlen(texts[i]) < line + len));
		fuzz_must(record.time_us >= 0 && record.port <= UINT16_MAX && record.event[0]);
	} else {
		fuzz_must(words && words[0]);
	}
	free(line);
	return 0;
}
