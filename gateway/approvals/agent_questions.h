/* agent_questions: the open questions of gateway_agent_question.h, for approvers. */
#pragma once

#include "gateway/state.h"

/* Forgets them without calling back. Call it before the approvers close. */
void agent_questions_done(struct gateway *gw);
