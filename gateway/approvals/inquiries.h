/* inquiries: asks the programs that answer in place of people about something other than a
 * destination: a command, a patch, permissions. gateway_review(). */
#pragma once

#include "gateway/state.h"

/* Frees them all without calling back. Call it before the approvers close. */
void inquiries_done(struct gateway *gw);
/* As gateway_reviewed(). */
void inquiries_heard(struct approver_review *asked, enum gateway_review_outcome outcome,
		     const char *by, const char *reason);
