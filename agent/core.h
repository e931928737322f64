/* core: the objects of an agent, shared by the files that work on them: the client's sessions,
 * their tasks, and what was tried for each. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "agent/agent.h"
#include "agent/ahead.h"
#include "agent/extra.h"
#include "agent/limits.h"
#include "agent/piece.h"
#include "base/loop.h"
#include "exec/exec_job.h"
#include "exec/orchestrator/orchestrator.h"
#include "gateway/gateway_agent.h"

#define AGENT_BY "the agent's client" /* in records, and beside answers */

struct channel;

enum agent_question_kind {
	AGENT_EXEC,
	AGENT_PATCH,
	AGENT_NETWORK,
	AGENT_PERMISSIONS,
	AGENT_ELICITATION
};
/* A question that the client was asked and has not answered. */
struct asked {
	char *id;
	enum agent_question_kind kind;
	struct session *session; /* NULL: it is the gateway's */
	char *typed;             /* what an allow comes with; NULL: nothing */
	char *shown;             /* what it is about, for the records */
	int64_t since_ms;
	bool is_retry, is_unconfined;
	char **warned;                /* the destinations it is for; NULL: none */
	struct gateway_review *watch; /* what a reviewer says of it, for itself; NULL: nothing */
	TAILQ_ENTRY(asked) entry;
};

struct trial {
	struct task *task;
	uint64_t number, exec; /* the orchestrator's, the gateway's */
	struct exec_sandbox *sandbox;
	bool is_confined, is_retry;
	struct exec_job *job;
	struct exec_job_result result;
	bool has_result;  /* the job has ended; the gateway's last word is awaited */
	bool has_settled; /* its orchestrator knows */
	bool is_deferred; /* it lives on behind its task's result */
	unsigned int pauses;
	int64_t yield_ms; /* when it goes to the background; while it is paused: how long after */
	struct loop_timer yield;
	bool is_waiting;                           /* on a question of the gateway's */
	uint64_t owed;                             /* bytes of output that wait in the channel */
	struct piece pieces[EXEC_STREAMS], polled; /* of characters that are not whole yet */
	uint64_t told[EXEC_STREAMS];               /* bytes, whole or waiting */
	struct refusal_list {
		struct orchestrator_refusal *list; /* their text is owned */
		char **texts;
		size_t count, room;
	} refusals;
	json_t *evidence, *allowed; /* as it is told; destinations, each once */
	bool is_allowed_cut;
};

enum task_kind { TASK_EXEC, TASK_QUESTION, TASK_PROGRAM };
/* One submission that takes time, until its task_complete. */
struct task {
	struct session *session;
	enum task_kind kind;
	char *id;                      /* the submission's */
	uint64_t number, asked_as;     /* the client's name for it: "exec"; the orchestrator's */
	const char *about;             /* in records: "exec", "patch" and so on */
	bool was_asked;                /* somebody was put a question about it */
	bool is_started, is_cancelled; /* at the orchestrator, which has not told; by the client */
	json_t *earlier; /* attempts that were told to it before it went to the background */
	char **argv, *cwd, **env, **own_env, *justification; /* own_env: not its session's */
	int64_t timeout_ms, yield_ms, started_ms;
	bool is_background, is_streamed, has_input, has_pty;
	struct exec_size size;
	struct command_world *world;
	char **world_writable;
	struct trial *trials[AGENT_TRIALS_MAX];
	size_t trial_count;
	char *poll_id; /* of the submission that waits for output; NULL: none */
	/* TASK_QUESTION: what is approved is the client's to do: its attempt is over at once. */
	uint64_t attempt;
	struct loop_timer granted;
	struct extra permits; /* that it asks for */
	struct trial *of;     /* TASK_PROGRAM: of this attempt, and what is to be answered: */
	uint64_t program;
	char *file, *line, *rule; /* what it is, its words, what asks; owned */
	TAILQ_ENTRY(task) entry;
};

/* A proposal at the gateway. */
struct proposal {
	struct session *session;
	char *id;
	struct gateway_proposal *proposal;
	TAILQ_ENTRY(proposal) entry;
};

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
	struct extra permits; /* approved, for the next command */
	struct ahead_table deciders;
	LIST_HEAD(ahead_list, ahead) ahead; /* questions that they have */
	bool has_handed_over;               /* the reviewer's, to people */
	TAILQ_ENTRY(session) entry;
};

struct agent {
	struct agent_config config;
	struct loop *loop;
	struct gateway *gateway;
	const struct policy *policy;       /* in force; NULL before agent_start() */
	const struct command_rules *rules; /* its own; may be NULL */
	struct channel *channel;
	struct gateway_embedded embedded;
	TAILQ_HEAD(session_queue, session) sessions;
	size_t session_count;
	TAILQ_HEAD(asked_queue, asked) asked;
	uint64_t last_exec, last_call, last_session;
	const struct gateway_helpers *helpers; /* NULL: none */
	unsigned int malformed;
	bool is_gone, is_deaf; /* the client: nothing is asked or started any more; it reads on */
	bool has_gone;         /* host->on_end() was told */
	struct loop_timer ending, deadline;
};

/* agent.c: is there anything left to do? Looks again from the loop. */
void agent_look(struct agent *agent);
