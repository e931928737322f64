/* inquiries: what is put to the programs that stand in for people and is no destination: a command,
 * a patch, permissions. gateway_review(). */
#pragma once

#include "gateway/core.h"

/* Drops them all; nobody is told. Before the approvers close. */
void inquiries_done(struct gateway *gw);
/* As gateway_reviewed(). */
void inquiries_heard(struct approver_review *asked, enum gateway_review_outcome outcome,
		     const char *by, const char *reason);
