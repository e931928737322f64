/* question: the inside of a question, for the files that put it (question_put) and take its answer
 * (question_answer). */
#pragma once

#include "exec/orchestrator/questions/question.h"

/* PUT: an answer is awaited. RULED: the result is known, but not reported yet. STORING: lines are
 * being written to the policy. */
enum question_state {
	QUESTION_NEW,
	QUESTION_PUT,
	QUESTION_RULED,
	QUESTION_STORING,
	QUESTION_STORED
};
struct question {
	TAILQ_ENTRY(question) entry;
	struct questions *questions;
	struct setting *setting;
	TAILQ_HEAD(, request) waiting;
	enum question_state state;
	struct loop_timer task, deadline;
	char id[ORCHESTRATOR_ID_MAX];
	char share[DIGEST_TEXT_MAX]; /* requests with the same text may wait for it, too; "": no
					others */

	struct orchestrator_request wanted; /* a copy of the first request */
	struct question_ask ask;            /* its texts and lists are below, or NULL */
	struct access_list accesses;
	struct exec_sandbox *sandbox;
	char **proposal, *reason;
	bool is_retry, is_of_accesses; /* is_of_accesses: there is one key for each access */
	struct command_file program;
	unsigned int choices;
	struct key_list keys; /* that a lasting answer is remembered by */

	size_t next; /* the decider that is asked; after the last: the person */
	enum orchestrator_decision heard; /* PASS, WAS_LATE, HAS_FAILED: of the earlier deciders */
	bool is_reviewer_late;
	char by[ORCHESTRATOR_NAME_MAX]; /* the program that answered */
	int64_t deadline_ms;
	struct ruling ruling;
	size_t chosen; /* ALWAYS: the line of the proposal to store, from 1; 0: all */
	int64_t expires_ms;
	uint64_t store;
	int store_error;
};

bool question_put_is_with_person(const struct question *question);
void question_wake(struct question *question);
/* Finds the next one to ask, and asks. Call it from its task. */
void question_put_next(struct question *question);
/* Reports to the one asked that the number of waiting requests has changed, now or later. */
void question_put_changed(const struct question *question);
/* @rejected: the kind of result if it denies. */
void question_rule(struct question *question, enum orchestrator_by by,
		   enum orchestrator_choice choice, enum orchestrator_result_kind rejected,
		   const char *words);
