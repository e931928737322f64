#include "agent/command/refusal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/rpc/limits.h"
#include "agent/session/tell.h"
#include "base/mem.h"
#include "exec/exec_process.h"
#include "exec/orchestrator/orchestrator_request.h"
#include "policies/policies.h"

#define REFUSALS_MAX (EXEC_EVIDENCE_MAX + 64)
#define LATE_MS      50 /* the longest delay of a denial's event */

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

/* The orchestrator may read the list until the task is done, so its strings are not freed before.
 */
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

/* False: it is known already, or the list is full. Each refusal has two strings: its name and the
 * reason. */
static bool add(struct refusal_list *refusals, const struct orchestrator_refusal *refusal)
{
	if (refusals->is_closed || refusals->count == REFUSALS_MAX ||
	    is_known(refusals, &refusal->access))
		return false;
	if (!refusals->list) {
		/* Allocated at full size: it must not move while the orchestrator reads it. */
		refusals->list = mem_new_array(REFUSALS_MAX, sizeof(*refusals->list));
		refusals->texts = mem_new_array(2 * REFUSALS_MAX, sizeof(*refusals->texts));
	}
	size_t at = refusals->count++;

	refusals->list[at] = *refusal;
	refusals->list[at].access.name = keep(refusals, 2 * at, refusal->access.name);
	refusals->list[at].why = keep(refusals, 2 * at + 1, refusal->why);
	return true;
}

static void show(struct refusal_list *refusals, const char *what, json_t *more)
{
	if (json_array_size(refusals->evidence) < AGENT_EVIDENCE_SHOWN) {
		tell_add(more, "what", json_string(what));
		(void)json_array_append_new(refusals->evidence,
					    more); /* fails only without memory */
	} else {
		json_decref(more);
	}
}

void refusal_init(struct refusal_list *refusals)
{
	refusals->evidence = json_array();
}

void refusal_add_evidence(struct refusal_list *refusals, const struct exec_evidence *evidence)
{
	bool is_call = evidence->what == EXEC_REFUSED_CALL;
	const struct orchestrator_refusal refusal = {
		.access = { .what = classes[evidence->what].what,
			    .name = is_call ? evidence->call : evidence->path },
		.why = evidence->call ? evidence->call : "",
	};
	json_t *shown =
		json_pack("{s:o, s:o, s:s, s:i}", "path", tell_text(evidence->path), "call",
			  tell_text(evidence->call), "error",
			  strerrorname_np(evidence->error) ? strerrorname_np(evidence->error) : "",
			  "pid", evidence->pid);

	show(refusals, classes[evidence->what].word, shown);
	/* A program that bypasses the proxy would not be helped by a destination that the gate
	 * allows. */
	if (evidence->what != EXEC_REFUSED_NETWORK && refusal.access.name && refusal.access.name[0])
		(void)add(refusals, &refusal); /* false if it was told before */
}

void refusal_set_path(struct refusal_list *refusals, size_t at, const char *path, bool is_listable)
{
	if (at >= refusals->count)
		return;
	free(refusals->texts[2 * at]);
	refusals->list[at].access.name = keep(refusals, 2 * at, path);
	refusals->list[at].access.is_listable = is_listable;
}

static void swap_texts(struct refusal_list *refusals, size_t to, size_t from)
{
	for (size_t i = 0; i < 2; i++) {
		char *text = refusals->texts[2 * to + i];

		refusals->texts[2 * to + i] = refusals->texts[2 * from + i];
		refusals->texts[2 * from + i] = text;
	}
}

void refusal_merge(struct refusal_list *refusals)
{
	size_t all = refusals->count;

	/* The entries before @count are distinct. */
	refusals->count = 0;
	for (size_t i = 0; i < all; i++) {
		if (is_known(refusals, &refusals->list[i].access))
			continue;
		refusals->list[refusals->count] = refusals->list[i];
		if (refusals->count != i)
			swap_texts(refusals, refusals->count, i);
		refusals->count++;
	}
	for (size_t i = 2 * refusals->count; i < 2 * all; i++)
		free(take(refusals->texts[i]));
}

static int64_t boot_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_BOOTTIME, &now); /* cannot fail: the clock exists */
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void note_denied(struct refusal_denied *denied, pid_t pid)
{
	denied->at_ms = boot_ms();
	denied->count = exec_process_ancestors(pid, denied->chain, REFUSAL_ANCESTORS_MAX);
}

void refusal_add_destination(struct refusal_list *refusals, const struct policy_destination *dst,
			     bool is_final, const char *why, pid_t pid)
{
	const struct orchestrator_refusal refusal = {
		.access = { .what = ORCHESTRATOR_DESTINATION,
			    .name = dst->host,
			    .protocol = policy_protocol_name(dst->protocol),
			    .port = dst->port },
		.is_final = is_final,
		.why = why,
	};

	if (refusals->denied_count < AGENT_DENIED_TIMES)
		note_denied(&refusals->denied[refusals->denied_count], pid);
	refusals->denied_count++;
	(void)add(refusals, &refusal); /* false if it was told before; "network" shows it */
}

/* Was it denied to neither the process that failed, nor one below it, nor one that ran beside it at
 * that time? If it is not known to which, the time alone decides. */
static bool is_other(const struct refusal_denied *denied, const struct exec_origin *origin)
{
	bool is_apart = denied->at_ms < origin->from_ms || denied->at_ms > origin->to_ms + LATE_MS;

	if (denied->count < 2)
		return is_apart;
	for (size_t i = 0; i < denied->count; i++) {
		if (denied->chain[i] == origin->pid)
			return false;
	}
	return is_apart || denied->chain[1] != origin->parent;
}

bool refusal_is_beside(const struct refusal_list *refusals, const struct exec_process_result *raw)
{
	bool is_clean = raw->origin.is_clean && refusals->denied_count <= AGENT_DENIED_TIMES;

	for (size_t i = 0; i < refusals->denied_count && is_clean; i++)
		is_clean = is_other(&refusals->denied[i], &raw->origin);
	return is_clean;
}

void refusal_done(struct refusal_list *refusals)
{
	for (size_t i = 0; i < 2 * refusals->count; i++)
		free(refusals->texts[i]);
	free(refusals->texts);
	free(refusals->list);
	json_decref(refusals->evidence);
	*refusals = (struct refusal_list){ 0 };
}
