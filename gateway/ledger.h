/* ledger: what lives by remembered answers: counted, listed, taken back, and over when its time is.
 */
#pragma once

#include "gateway/approvers/ledger_impl.h"
#include "gateway/core.h"

/* @waiter is allowed, or over; waiter->grant says by what answer. */
void ledger_begin(struct waiter *waiter);
void ledger_end(struct waiter *waiter);
/* What it has moved. Before ledger_end(). */
void ledger_count(const struct waiter *waiter, const struct gateway_report *report);

/* @grant is new, or says something else than before. */
void ledger_remembered(struct gateway *gw, struct grant *grant);
/* Forgets all that is remembered for the session, and cuts what lives by it. */
void ledger_forget_session(struct gateway *gw);

/* As gateway_each_grant() and so on. */
void ledger_each_grant(struct gateway *gw,
		       void (*each)(const struct approver_grant *grant, void *arg), void *arg);
size_t ledger_each_live(struct gateway *gw, size_t max,
			void (*each)(const struct approver_live *live, void *arg), void *arg);
int ledger_revoke(struct gateway *gw, uint64_t grant, const char *by, struct approver_revoked *ret,
		  struct err *why);
int ledger_undo(struct gateway *gw, const char *by, char ret_text[APPROVER_KEY_MAX],
		struct approver_revoked *ret, struct err *why);
/* It ends: what was remembered for it alone is forgotten. */
void ledger_end_session(struct gateway *gw, uint64_t session);
int ledger_cut(struct gateway *gw, uint64_t live, const char *by, struct err *why);
