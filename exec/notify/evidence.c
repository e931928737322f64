#include "exec/notify/evidence.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "exec/notify/inside.h"

bool exec_evidence_is_network(const struct exec_evidence *evidence)
{
	return evidence->what == EXEC_REFUSED_NETWORK || evidence->what == EXEC_REFUSED_SOCKET;
}

char *exec_evidence_text(const struct exec_evidence *evidence)
{
	bool has_path = evidence->path[0] != '\0';

	return mem_printf("%s: %s%s%s: %s", evidence->program[0] ? evidence->program : "a program",
			  evidence->call, has_path ? " " : "", evidence->path,
			  strerror(evidence->error));
}

void evidence_tell(struct evidence *evidence, const struct exec_evidence *what)
{
	if (!evidence->fn)
		return;
	(void)__atomic_add_fetch(evidence->total, 1, __ATOMIC_SEQ_CST);
	/* A refusal of the same kind for the same path is reported once, whichever call tried
	 * it. */
	auto_free char *key =
		mem_printf("%d %s%s", (int)what->what, what->path[0] ? "" : what->call, what->path);

	for (unsigned int i = 0; i < evidence->seen_count; i++)
		if (strcmp(evidence->seen[i], key) == 0)
			return;
	if (evidence->seen_count == EXEC_EVIDENCE_MAX)
		return;
	evidence->seen[evidence->seen_count++] = take(key);
	char name[EXEC_PROGRAM_MAX];
	struct exec_evidence whole = *what;

	inside_program(what->pid, name, sizeof(name));
	whole.program = name;
	evidence->fn(&whole, evidence->arg);
}
