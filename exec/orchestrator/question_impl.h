/* question: the inside of one, for those who put it (question_put) and those who take its answer
 * (question_answer). */
#pragma once

#include "exec/orchestrator/question.h"

/* PUT: somebody is to answer. RULED: what comes of it is known, but nobody was told. STORING: lines
 * are on their way into the policy. */
enum question_state {
	QUESTION_NEW,
	QUESTION_PUT,
	QUESTION_RULED,
	QUESTION_STORING,
	QUESTION_STORED
};
struct question {
	TAILQ_ENTRY(question) entry;
	struct orchestrator *orchestrator;
	TAILQ_HEAD(, call) waiting;
	enum question_state state;
	struct loop_timer task, deadline;
	char id[ORCHESTRATOR_ID_MAX];
	char share[DIGEST_TEXT_MAX]; /* who has the same may wait too; "": nobody */

	struct orchestrator_request request; /* of who asked first, a copy */
	struct question_ask ask;             /* its texts and lists are below, or NULL */
	struct access_list accesses;
	struct exec_sandbox *sandbox;
	char **proposal, *reason;
	bool is_retry;
	struct command_file program;
	unsigned int choices;
	struct key_list keys; /* that an answer for longer is remembered by */

	size_t next; /* the decider it is put to; behind the last: the person */
	enum orchestrator_decision heard; /* PASS, WAS_LATE, HAS_FAILED: of those before */
	bool is_reviewer_late;
	int64_t deadline_ms;
	struct ruling ruling;
	size_t chosen; /* ALWAYS: the line of the proposal that is stored, from 1; 0: all */
	int64_t expires_ms;
	uint64_t store;
	int store_error;
};

bool question_put_is_with_person(const struct question *question);
void question_wake(struct question *question);
/* Finds whom to put it to next, and puts it. From its task. */
void question_put_next(struct question *question);
/* Who waits is told so, or will be. */
void question_put_changed(const struct question *question);
void question_rule(struct question *question, enum orchestrator_choice choice,
		   enum orchestrator_result_kind rejected, const char *words);
