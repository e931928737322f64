/* approval: pending questions: who waits on them, what the approvers are told, and how they end. */
#pragma once

#include "gateway/core.h"

/* @waiter waits on the question for its destination, a new one or one that is open. @asked:
 * policy's ask verdict for it. POLICY_NONE, or why it cannot: nobody is attached, too many wait, or
 * too much is asked; *@ret_words then says what, or is not touched. */
enum policy_reason approval_join(struct gateway *gw, struct waiter *waiter,
				 const struct policy_verdict *asked, const char **ret_words);
/* @waiter goes back to be decided. Its party may die with it; the question is the caller's to end.
 */
void approval_let_go(struct waiter *waiter);
/* More or fewer wait, or it is asked for another reason: the approvers are told. */
void approval_has_news(struct approval *approval);
/* Its own deadline counts again. */
void approval_await(struct approval *approval);
/* A literal that policy guards, asked without the leave to dial it. */
bool approval_is_private(const struct gateway *gw, const struct policy_destination *dst);
/* A person is at it: once, its deadline may move, and the approvers are told. */
void approval_touch(struct approval *approval);
/* @waiter waits no more. With nobody left the question is retracted. */
void approval_leave(struct waiter *waiter);

/* Borrowed; NULL: finished or unknown. */
struct approval *approval_find(const struct gateway *gw, const char *id);
/* Calls @each for every open question, oldest first; it may end any of them. */
void approval_walk(struct gateway *gw, void (*each)(struct approval *approval, void *arg),
		   void *arg);
/* Ends the question: it leaves the tables, its waiters go to gw->queue with the decision, the
 * approvers are told @how. */
void approval_settle(struct approval *approval, enum policy_action action,
		     enum policy_reason reason, const char *by, const char *how);
/* The same, with a person's @words to whoever waits. */
void approval_settle_with(struct approval *approval, const struct decision *settled,
			  const char *how);
/* Settles all of them as denials with @reason. */
void approval_deny_all(struct gateway *gw, enum policy_reason reason);
/* Denies the waiters of every exec that would not wait for somebody to come. */
void approval_deny_impatient(struct gateway *gw, enum policy_reason reason);
/* Denies the waiters of @exec, on every question. */
void approval_exec_ended(struct gateway *gw, struct gateway_exec *exec);

/* Somebody is there to answer. */
bool approval_has_approver(const struct gateway *gw);
/* What the approvers are shown; text is borrowed from the approval. */
void approval_describe(const struct approval *approval, struct approver_question *ret);
/* Tells the approvers of new and changed questions. From the loop. */
void approval_tell_news(struct gateway *gw);

void approval_decision_drop(struct decision *decision); /* NULL is fine */
