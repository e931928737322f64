/* ledger: the connections that remembered answers allow: counts and lists them, and cuts them when
 * the answer is revoked or expires. */
#pragma once

#include "gateway/approvers/ledger_impl.h"
#include "gateway/state.h"

/* @waiter was allowed, or has ended; waiter->grant names the answer. */
void ledger_begin(struct waiter *waiter);
void ledger_end(struct waiter *waiter);
/* Counts what it has moved. Call it before ledger_end(). */
void ledger_count(const struct waiter *waiter, const struct gateway_report *report);

/* @grant is new, or was changed. */
void ledger_remembered(struct gateway *gw, struct grant *grant);
/* Forgets every grant of the session, and cuts the connections that they allow. */
void ledger_forget_session(struct gateway *gw);

/* As gateway_each_grant() and so on. */
void ledger_each_grant(struct gateway *gw,
		       void (*each)(const struct approver_grant *grant, void *arg), void *arg);
size_t ledger_each_live(struct gateway *gw, size_t max,
			void (*each)(const struct approver_live *live, void *arg), void *arg);
int ledger_revoke(struct gateway *gw, uint64_t grant, const char *by, struct approver_revoked *ret,
		  struct err *why);
int ledger_undo(struct gateway *gw, uint64_t shown, const char *by, char ret_text[APPROVER_KEY_MAX],
		struct approver_revoked *ret, struct err *why);
/* The session ends: forgets the grants that are only for it. */
void ledger_end_session(struct gateway *gw, uint64_t session);
int ledger_cut(struct gateway *gw, uint64_t live, const char *by, struct err *why);
