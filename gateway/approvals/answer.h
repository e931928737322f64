/* answer: applies a person's answer to a question. */
#pragma once

#include "gateway/state.h"

struct err;

/* As gateway_answer(). */
int answer_give(struct gateway *gw, const char *id, const struct approver_answer *answer,
		struct err *why);
/* Writes what @answer to a question about @dst, asked first by @program, would store at @since_s.
 * -EINVAL with @why: there is no such answer. Works without a gateway. */
int answer_words(const struct policy_destination *dst, const char *program,
		 const struct approver_answer *answer, int64_t since_s, char out[APPROVER_KEY_MAX],
		 struct err *why);
/* As gateway_answer_text(). */
int answer_text(struct gateway *gw, const char *id, const struct approver_answer *answer,
		char out[APPROVER_KEY_MAX], struct err *why);
