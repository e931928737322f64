/* evidence: what was refused to one command: each different thing told once, all counted. */
#pragma once

#include <stdint.h>

#include "exec/exec.h"

struct evidence {
	exec_evidence_fn fn; /* NULL: nobody wants it */
	void *arg;
	char *seen[EXEC_EVIDENCE_MAX];
	unsigned int seen_count;
	uint64_t count;
};

/* Tells it, unless it was told or too much was. Borrows all. */
void evidence_tell(struct evidence *evidence, const struct exec_evidence *what);
void evidence_done(struct evidence *evidence);
