#include "agent/refusal.h"

#include <stdlib.h>
#include <string.h>

#include "agent/confine.h"
#include "agent/core.h"
#include "agent/tell.h"
#include "base/mem.h"
#include "exec/exec.h"
#include "policies/policies.h"

#define REFUSALS_MAX (EXEC_EVIDENCE_MAX + 64)

static const struct {
	enum orchestrator_class what;
	const char *word;
} classes[] = {
	[EXEC_REFUSED_WRITE] = { ORCHESTRATOR_WRITE_PATH, "write" },
	[EXEC_REFUSED_READ] = { ORCHESTRATOR_READ_PATH, "read" },
	[EXEC_REFUSED_SOCKET] = { ORCHESTRATOR_SOCKET, "socket" },
	[EXEC_REFUSED_CALL] = { ORCHESTRATOR_SYSTEM_CALL, "call" },
	[EXEC_REFUSED_PROGRAM] = { ORCHESTRATOR_PROGRAM, "program" },
	[EXEC_REFUSED_NETWORK] = { ORCHESTRATOR_DESTINATION, "network" },
};

/* The list may be read by the orchestrator until the task is done, so its texts stay where they
 * are. */
static const char *keep(struct refusal_list *refusals, size_t slot, const char *text)
{
	refusals->texts[slot] = mem_strdup(text);
	return refusals->texts[slot];
}

static bool is_known(const struct refusal_list *refusals, const struct orchestrator_access *access)
{
	for (size_t i = 0; i < refusals->count; i++) {
		const struct orchestrator_access *other = &refusals->list[i].access;

		if (other->what == access->what && other->port == access->port &&
		    strcmp(other->name, access->name) == 0)
			return true;
	}
	return false;
}

/* False: it is there already, or there is no room. Two texts a refusal: its name, and why. */
static bool add(struct trial *trial, const struct orchestrator_refusal *refusal)
{
	struct refusal_list *refusals = &trial->refusals;

	if ((trial->has_settled && !trial->is_deferred) || refusals->count == REFUSALS_MAX ||
	    is_known(refusals, &refusal->access))
		return false;
	if (!refusals->list) {
		/* Whole at once: it must not move while somebody reads it. */
		refusals->list = mem_new_array(REFUSALS_MAX, sizeof(*refusals->list));
		refusals->texts = mem_new_array(2 * REFUSALS_MAX, sizeof(*refusals->texts));
	}
	size_t at = refusals->count++;

	refusals->list[at] = *refusal;
	refusals->list[at].access.name = keep(refusals, 2 * at, refusal->access.name);
	refusals->list[at].why = keep(refusals, 2 * at + 1, refusal->why);
	return true;
}

static void show(struct trial *trial, const char *what, json_t *more)
{
	if (json_array_size(trial->evidence) < AGENT_EVIDENCE_SHOWN) {
		tell_add(more, "what", json_string(what));
		(void)json_array_append_new(trial->evidence, more); /* out of memory only */
	} else {
		json_decref(more);
	}
}

void refusal_add_evidence(struct trial *trial, const struct exec_evidence *evidence)
{
	bool is_call = evidence->what == EXEC_REFUSED_CALL;
	auto_free char *opened = evidence->what == EXEC_REFUSED_WRITE
					 ? confine_openable(evidence->path)
					 : mem_strdup(is_call ? evidence->call : evidence->path);
	const struct orchestrator_refusal refusal = {
		.access = { .what = classes[evidence->what].what, .name = opened },
		.why = evidence->call ? evidence->call : "",
	};
	json_t *shown =
		json_pack("{s:o, s:o, s:s, s:i}", "path", tell_text(evidence->path), "call",
			  tell_text(evidence->call), "error",
			  strerrorname_np(evidence->error) ? strerrorname_np(evidence->error) : "",
			  "pid", evidence->pid);

	show(trial, classes[evidence->what].word, shown);
	/* A program that goes past the gate is not helped by a destination that the gate allows. */
	if (evidence->what != EXEC_REFUSED_NETWORK && refusal.access.name && refusal.access.name[0])
		(void)add(trial, &refusal); /* known already: told once */
}

void refusal_add_destination(struct trial *trial, const struct policy_destination *dst,
			     bool is_final, const char *why)
{
	const struct orchestrator_refusal refusal = {
		.access = { .what = ORCHESTRATOR_DESTINATION,
			    .name = dst->host,
			    .protocol = policy_protocol_name(dst->protocol),
			    .port = dst->port },
		.is_final = is_final,
		.why = why,
	};

	if (add(trial, &refusal))
		show(trial, "destination",
		     json_pack("{s:o, s:s}", "destination", tell_destination(dst), "reason", why));
}

void refusal_forget(struct trial *trial)
{
	struct refusal_list *refusals = &trial->refusals;

	for (size_t i = 0; i < 2 * refusals->count; i++)
		free(refusals->texts[i]);
	free(refusals->texts);
	free(refusals->list);
	*refusals = (struct refusal_list){ 0 };
}
