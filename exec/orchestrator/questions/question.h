/* question: one question, and the requests that wait for it: whom it is put to and in which order,
 * its deadline, and the effect of the answer. */
#pragma once

#include "exec/orchestrator/questions/breaker.h"
#include "exec/orchestrator/requests.h"

struct question;

/* All questions of an orchestrator. */
struct questions {
	struct setting *setting;
	struct exec_records *execs;
	TAILQ_HEAD(, question) list;
	struct breaker breakers[ORCHESTRATOR_DECIDERS_MAX];
};

void question_list_init(struct questions *questions, struct setting *setting,
			struct exec_records *execs);
/* Calls no operation. */
void question_list_done(struct questions *questions);

/* What a request asks. Borrowed, except what belongs to the request itself. */
struct question_ask {
	bool is_one_shot;
	bool is_review; /* no question is required, but reviewers are to see it */
	bool is_wider;  /* the run is less confined than the sandbox */
	bool may_unconfine;
	bool is_confined;
	const struct exec_sandbox *sandbox;         /* includes what is granted; copied */
	const struct orchestrator_access *accesses; /* kept as long as @request waits */
	size_t access_count;
	char **proposal; /* taken */
	const char *reason;
};

/* @request waits for a new question, or for an open one that is identical; requests_ruled() then
 * reports the result. Call it from a task. */
void question_open(struct questions *questions, struct request *request,
		   const struct question_ask *ask);
/* @request does not wait any more. If no request is left, the question ends with @why. */
void question_leave(struct request *request, const char *why);

/* As the functions of the orchestrator with these names. */
int question_answer(struct questions *questions, const char *id, uint64_t client,
		    const struct orchestrator_answer *answer, struct err *why);
int question_answer_decider(struct questions *questions, const char *id,
			    enum orchestrator_decision decision, const char *by, const char *words,
			    struct err *why);
size_t question_answer_gone(struct questions *questions, uint64_t client);
int question_stored(struct questions *questions, uint64_t number, int error);
