/* task: one submission that takes time: a command, or a question of the client's own. Its
 * task_complete is the last that is told of it. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "exec/orchestrator/orchestrator.h"

struct agent;
struct proposal;
struct session;
struct task;
struct trial;
enum task_kind;

/* Of @session, not told yet. Owned by it from task_begin() on. */
struct task *task_new(struct session *session, enum task_kind kind, const char *id);
/* Puts it to the orchestrator; @request's client, done and arg are filled here. 0, or -errno with
 * @why, and it is the caller's to free. */
int task_begin(struct task *task, struct orchestrator_request *request, struct err *why);
/* A command that lives on behind its result has ended. */
void task_end_deferred(struct task *task, struct trial *trial);
/* Ends it, its words for whoever reads the result. */
void task_cancel(struct task *task, const char *why);
void task_free(struct task *task);
/* Writes down what was decided about it without a question: @rejected says how; NULL: it goes
 * ahead. Not 0: it could not be, and then it does not. */
int task_record(const struct task *task, const struct orchestrator_result *rejected,
		bool is_unconfined);

/* By the client's number; NULL: there is none that runs. */
struct task *task_find(const struct session *session, uint64_t number);
/* By the gateway's; NULL: none. */
struct trial *task_find_trial(const struct agent *agent, uint64_t exec);
void task_drop_proposal(struct proposal *proposal);
