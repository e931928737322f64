/* far_question: reads a question as sallyport-approver(7) writes it. Private to far*.c. */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <sys/queue.h>

#include "gateway/approvers/approver_impl.h"

struct far_link;

struct far_question {
	struct far_link *link; /* that it came over; set by far.c */
	json_t *object;        /* owns the text */
	struct approver_question question;
	struct approver_agent_question
		agent;                    /* @question.agent, if it is not about a destination */
	struct gateway_agent_line *lines; /* of it; owned */
	int64_t read_ms;
	TAILQ_ENTRY(far_question) entry;
};
TAILQ_HEAD(far_question_list, far_question);

/* Reads @object, and keeps a reference to it. Returned owned; NULL: malformed. */
struct far_question *far_question_new(json_t *object, int64_t now_ms);
void far_question_free(struct far_question *question); /* NULL is fine */
/* The question as it is at the given time; borrows from @ours. */
void far_question_look(const struct far_question *ours, int64_t now_ms,
		       struct approver_question *ret);
/* The request that gives @answer, without an id. Returned owned; NULL: out of memory. */
json_t *far_question_answer(const struct approver_question *question,
			    const struct approver_answer *answer);
