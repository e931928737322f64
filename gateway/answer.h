/* answer: what a person's answer to a question does. */
#pragma once

#include "gateway/core.h"

struct err;

/* As gateway_answer(). */
int answer_give(struct gateway *gw, const char *id, const struct approver_answer *answer,
		struct err *why);
