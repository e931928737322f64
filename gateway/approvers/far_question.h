/* far_question: a question as sallyport-approver(7) writes it, read back. Private to far*.c. */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <sys/queue.h>

#include "gateway/approvers/approver_impl.h"

struct far_question {
	json_t *object; /* holds the text */
	struct approver_question question;
	int64_t read_ms;
	TAILQ_ENTRY(far_question) entry;
};
TAILQ_HEAD(far_question_list, far_question);

/* Reads @object, which is kept as well, @now_ms. Returned owned; NULL: it is no question. */
struct far_question *far_question_new(json_t *object, int64_t now_ms);
void far_question_free(struct far_question *question);
/* As it is by now; borrows from @ours. */
void far_question_look(const struct far_question *ours, int64_t now_ms,
		       struct approver_question *ret);
/* @answer to it as a request, without an id. Returned owned; NULL: out of memory. */
json_t *far_question_answer(const struct approver_question *question,
			    const struct approver_answer *answer);
