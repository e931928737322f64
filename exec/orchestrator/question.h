/* question: one question, and the calls that wait on it: to whom it is put in turn, until when, and
 * what is made of the answer. */
#pragma once

#include "exec/orchestrator/core.h"

/* What a call asks. Borrowed, but for what of it is the call's own. */
struct question_ask {
	bool is_one_shot;
	bool is_review; /* nothing has to be asked, but reviewers are to see it */
	bool is_wider;  /* the run is less confined than the sandbox */
	bool may_unconfine;
	bool is_confined;
	const struct exec_sandbox *sandbox;         /* with what is granted; copied */
	const struct orchestrator_access *accesses; /* kept as long as @call waits */
	size_t access_count;
	char **proposal; /* taken */
	const char *reason;
};

/* @call waits on a new question, or on one that is open and the same in all; call_ruled() then says
 * what came of it. From a task. */
void question_open(struct call *call, const struct question_ask *ask);
/* @call waits no more. Nobody left: it is over, @why. */
void question_leave(struct call *call, const char *why);

/* As the orchestrator's functions of these names. */
int question_answer(struct orchestrator *orchestrator, const char *id, uint64_t client,
		    const struct orchestrator_answer *answer, struct err *why);
int question_answer_decider(struct orchestrator *orchestrator, const char *id,
			    enum orchestrator_decision decision, const char *words,
			    struct err *why);
size_t question_answer_gone(struct orchestrator *orchestrator, uint64_t client);
int question_stored(struct orchestrator *orchestrator, uint64_t number, int error);
/* Tells nobody. */
void question_free(struct question *question);
