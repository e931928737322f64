/* requests: the state of each request from its start until it is done. orchestrator.c decides the
 * next step. */
#pragma once

#include <sys/queue.h>

#include "base/loop.h"
#include "exec/orchestrator/judging/access.h"
#include "exec/orchestrator/judging/judgement.h"
#include "exec/orchestrator/questions/key.h"
#include "exec/orchestrator/orchestrator_ops.h"

struct exec_record;
struct request;
struct orchestrator;
struct question;
struct setting;

/* The result of a question, for each request that waited for it. */
struct ruling {
	enum orchestrator_choice choice;
	enum orchestrator_result_kind rejected; /* DENY, ABORT: the kind of result */
	bool is_for_session;                    /* the gateway may remember it */
	enum orchestrator_by by;
	char name[ORCHESTRATOR_NAME_MAX]; /* of a program; of a person, if known */
	const char *through;              /* a person's answer came; static; NULL: by the client */
	char words[ORCHESTRATOR_TEXT_MAX], note[ORCHESTRATOR_TEXT_MAX];
};
bool requests_is_approval(enum orchestrator_choice choice);

enum request_state {
	REQUEST_NEW,
	REQUEST_ASKING,
	REQUEST_RULED,
	REQUEST_RUNNING,
	REQUEST_ENDED,
	REQUEST_STATES
};
struct request {
	TAILQ_ENTRY(request) entry;
	struct requests *requests;
	struct setting *setting;
	uint64_t number;
	enum request_state state;
	bool is_cancelled;
	struct orchestrator_request wanted; /* a deep copy: requests_drop() */
	struct judgement judgement;
	struct key_list keys;
	struct loop_timer task;

	struct question *question; /* it waits for, */
	int64_t asked_ms;          /* since this time; 0: it has asked nothing yet */
	TAILQ_ENTRY(request) waiting;
	bool is_retry;
	struct ruling ruling;
	bool is_holding; /* it pauses the clock of the exec that its question is about */

	struct access_list granted;   /* all that the exec is granted; */
	size_t granted_before;        /* how many of them before its question */
	struct access_list offered;   /* by the open question, for the retry */
	struct exec_sandbox *sandbox; /* of the exec, if confined */
	bool is_confined, is_for_session;
	uint64_t exec;                     /* the running one */
	struct orchestrator_result result; /* its outcomes are deep copies */
};
/* All requests of an orchestrator. */
struct requests {
	struct setting *setting;
	TAILQ_HEAD(, request) list;
	size_t count;
	/* Takes the next step of a request that was woken; called from a task. It may free the
	 * request. */
	void (*step)(struct request *request, void *arg);
	void *arg;
};

void requests_init(struct requests *requests, struct setting *setting,
		   void (*step)(struct request *request, void *arg), void *arg);
void requests_done(struct requests *requests);

struct request *requests_new(struct requests *requests, const struct orchestrator_request *wanted);
struct request *requests_find(const struct requests *requests, uint64_t number);
void requests_cancel(struct request *request);
/* Cancels the requests that wait on a question about @exec, which is over. */
void requests_cancel_questions(struct requests *requests, uint64_t exec);
void requests_enter(struct request *request, enum request_state next);
/* Its question has ended; the request does not wait for it any more. */
void requests_ruled(struct request *request, const struct ruling *ruling);
/* Its running exec has ended with @outcome. */
void requests_exec_ended(struct request *request, struct exec_record *exec,
			 const struct orchestrator_outcome *outcome);
void requests_free(struct request *request);

/* Limits and copies of the requested value. */
#define REQUESTS_WORDS_MAX 8192
#define REQUESTS_BYTES_MAX (256U << 10) /* of argv, and of the keys */

/* 0; -EINVAL, -E2BIG with @why. */
int requests_check(const struct orchestrator_request *wanted, struct err *why);
/* A deep copy of a valid request; all strings are non-NULL except reason and justification. */
struct orchestrator_request requests_copy(const struct orchestrator_request *wanted);
void requests_drop(struct orchestrator_request *wanted);
/* EXEC, PATCH: if allowed, something is executed or written, so it is confined, and reviewed. */
bool requests_acts(const struct orchestrator_request *wanted);
