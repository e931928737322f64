/* session: one conversation of the client: what all its tasks share. agent_session.c begins and
 * ends it. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "agent/command/extra.h"
#include "agent/tally.h"
#include "exec/orchestrator/orchestrator.h"

struct agent;
struct aside;
struct deciders;
struct exec_sandbox;
struct proposal;
struct task;

struct session {
	struct agent *agent;
	char *name, *cwd, **env;
	struct exec_sandbox *sandbox;
	struct orchestrator *orchestrator;
	enum orchestrator_mode mode;
	unsigned int categories;
	enum orchestrator_on_denial on_denial;
	bool must_intercept, is_closing; /* takes nothing new; ends with its last task */
	int64_t timeout_ms, tasks_max, event_bytes_max, kept_max, question_ms;
	uint64_t number;
	TAILQ_HEAD(task_queue, task) tasks;
	size_t task_count;
	TAILQ_HEAD(proposal_queue, proposal) proposals;
	struct tally tally;
	char **patches; /* approved ones that were not reported as applied, by id; may be NULL */
	struct extra permits;      /* approved, for the next command */
	struct deciders *deciders; /* the programs that are asked before the client */
	/* What the client wants instead of sandbox, cwd, mode and categories; NULL: nothing. */
	struct exec_sandbox *next;
	char *next_cwd;
	enum orchestrator_mode next_mode;
	unsigned int next_categories;
	/* While a separate process looks at its paths (docs/decisions/0037); NULL: it is
	 * configured. The id of its submission, owned, and later ones, that wait. */
	struct aside *look;
	char *id;
	json_t *held;
	TAILQ_ENTRY(session) entry;
};
