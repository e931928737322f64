#include "exec/evidence.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void evidence_tell(struct evidence *evidence, const struct exec_evidence *what)
{
	if (!evidence->fn)
		return;
	evidence->count++;
	/* What one class says of one path is one thing, by whichever call it was tried. */
	auto_free char *key =
		mem_printf("%d %s%s", (int)what->what, what->path[0] ? "" : what->call, what->path);

	for (unsigned int i = 0; i < evidence->seen_count; i++)
		if (strcmp(evidence->seen[i], key) == 0)
			return;
	if (evidence->seen_count == EXEC_EVIDENCE_MAX)
		return;
	evidence->seen[evidence->seen_count++] = take(key);
	evidence->fn(what, evidence->arg);
}

void evidence_done(struct evidence *evidence)
{
	for (unsigned int i = 0; i < evidence->seen_count; i++)
		free(evidence->seen[i]);
	evidence->seen_count = 0;
}
