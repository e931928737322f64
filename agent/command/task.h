/* task: one submission that takes time: a command, or a question of the client's own.
 * The reply to it is sent when it has ended. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "agent/command/extra.h"
#include "agent/rpc/limits.h"
#include "agent/session/tell.h"
#include "base/loop.h"
#include "exec/exec.h"
#include "exec/orchestrator/orchestrator_mode.h"
#include "exec/orchestrator/orchestrator_request.h"
#include "policies/commands/commands.h"

struct agent;
struct aside;
struct err;
struct exec_sandbox;
struct orchestrator_exec;
struct orchestrator_request;
struct orchestrator_result;
struct orchestrator_judged;
struct session;
struct task;
struct task_exec;

enum task_kind { TASK_EXEC, TASK_QUESTION, TASK_PROGRAM };
/* The operations of one kind of task. */
struct task_ops {
	enum task_kind kind;
	/* The orchestrator's result: once, from the loop. */
	void (*done)(struct task *task, const struct orchestrator_result *result);
	/* Stops an exec that continues after the task's result. NULL: there is none. */
	void (*stop)(struct task *task, const char *why);
	/* Frees the members of its kind. NULL: there are none. */
	void (*drop)(struct task *task);
};

/* What a separate process finds in the file system before the task begins: see look.h. Zeroed:
 * there is no such process. */
struct task_look {
	struct aside *aside; /* NULL: no process is running */
	/* Called with what was written. Not 0 with @why: the client is told, and @task is freed. */
	int (*then)(struct task *task, struct err *why);
	char *bytes; /* owned */
	size_t len;
	struct command_world world; /* answers from what the process found */
};

struct task {
	struct session *session;
	const struct task_ops *ops;
	char *id;                      /* the submission's, by rpc_id_text() */
	struct exec_sandbox *sandbox;  /* the session's, with what answers added to it. Owned */
	uint64_t number, request;      /* the client's name for it: "exec"; the orchestrator's */
	bool is_started, is_cancelled; /* given to the orchestrator; cancelled by the client */
	json_t *first; /* its first exec, if a later one went to the background; else NULL */
	char **argv, *cwd, **env, **own_env, *justification;
	char **files, *changes; /* of a patch; changes may be NULL */
	enum orchestrator_confinement confinement;
	enum orchestrator_on_denial on_denial;
	struct task_look look;
	int64_t timeout_ms, yield_ms, started_ms;
	bool is_background, is_streamed, is_whole, has_input, has_pty, may_retry, must_confine;
	struct exec_size size;
	struct command_world *world;
	char **world_writable;
	struct task_exec *execs[AGENT_EXECS_MAX];
	size_t exec_count;
	char *poll_id;               /* of the submission that waits for output; NULL: none */
	struct extra permits, given; /* wanted; EXEC: and granted by an earlier approval */
	struct task_exec *of;        /* TASK_PROGRAM: of this exec, and the program to answer: */
	struct orchestrator_judged *program; /* owned, as its words and the rule that asks: */
	char *line, *rule;
	TAILQ_ENTRY(task) entry;
};

/* A task of @session that was not told yet. @session owns it from task_begin() on. Keeps @ops. */
struct task *task_new(struct session *session, const struct task_ops *ops, const char *id);
/* Passes it to the orchestrator; fills @request's client, done and arg. 0, or -errno with @why, and
 * then the caller must free the task. */
int task_begin(struct task *task, struct orchestrator_request *request, struct err *why);
/* Adds it to its session's list, before it begins. */
void task_add(struct task *task);
/* The task does not begin: tells the client why, and frees it. @error: negative. */
void task_refuse(struct task *task, int error, const char *why);
/* The members of an event about it: owned. */
json_t *task_event(const struct task *task);
/* Tells the end, and frees it. @result is taken. */
void task_complete(struct task *task, json_t *result);
/* Ends it; @why is part of its result. */
void task_cancel(struct task *task, const char *why);
void task_free(struct task *task);
/* The files as its command finds them, in a process that runs in @cwd. Keeps @task. Returned owned:
 * host->world_free(). */
struct command_world *task_world_new(const struct task *task, const char *cwd);
/* A command by the client's number; NULL: no such command is running. */
struct task *task_find(const struct session *session, uint64_t number);
/* An exec of any task, by its number; NULL: none. */
struct task_exec *task_find_exec(const struct agent *agent, uint64_t number);
