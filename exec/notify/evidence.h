/* evidence: what one command was refused: each different refusal is reported once, and all are
 * counted. */
#pragma once

#include <stdint.h>

#include "exec/exec_told.h"

struct evidence {
	exec_evidence_fn fn; /* NULL: nothing is reported */
	void *arg;
	char *seen[EXEC_EVIDENCE_MAX];
	unsigned int seen_count;
	uint64_t *total; /* all refusals; another process reads it */
};

/* Reports it, unless it was reported before, or too many were. Borrows all. */
void evidence_tell(struct evidence *evidence, const struct exec_evidence *what);
