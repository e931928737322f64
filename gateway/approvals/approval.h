/* approval: the pending questions: their waiters, what approvers are told about them, and their
 * end. */
#pragma once

#include "gateway/state.h"

/* Adds @waiter to the question for its destination, which may be a new one. @asked: policy's ask
 * verdict for it. POLICY_NONE, or why it cannot wait: no approver is attached, too many wait, or
 * too much is asked; *@ret_words then holds the explanation, or is untouched. */
enum policy_reason approval_join(struct gateway *gw, struct waiter *waiter,
				 const struct policy_verdict *asked, const char **ret_words);
/* Queues @waiter to be decided again. Its party may be freed; the caller ends the question if
 * needed. */
void approval_let_go(struct waiter *waiter);
/* The number of waiters or the rule that asks has changed: tells the approvers. */
void approval_has_news(struct approval *approval);
/* A person has allowed a destination: looks again at the risk of every open question. */
void approval_weigh_all(struct gateway *gw);
/* Starts the question's own deadline again. */
void approval_await(struct approval *approval);
/* True: @dst is an address that policy guards, and it is asked about without permission to dial
 * it. */
bool approval_is_private(const struct gateway *gw, const struct policy_destination *dst);
/* A person is answering it: its deadline moves, once at most, and the approvers are told. */
void approval_touch(struct approval *approval);
/* @waiter no longer waits. A question without waiters is retracted. */
void approval_leave(struct waiter *waiter);

/* Borrowed; NULL: finished or unknown. */
struct approval *approval_find(const struct gateway *gw, const char *id);
/* Calls @each for every open question, oldest first; it may end any of them. */
void approval_walk(struct gateway *gw, void (*each)(struct approval *approval, void *arg),
		   void *arg);
/* Ends the question: removes it from the tables, queues its waiters with the decision, and tells
 * the approvers @how. */
void approval_settle(struct approval *approval, const struct decision *settled, const char *how);
/* Settles all questions as denials with @reason. */
void approval_deny_all(struct gateway *gw, enum policy_reason reason);
/* Denies the waiters of every exec that does not wait for an approver to attach. */
void approval_deny_impatient(struct gateway *gw, enum policy_reason reason);
/* Denies the waiters of @exec, in every question. */
void approval_exec_ended(struct gateway *gw, struct gateway_exec *exec);

/* Is an approver attached? */
bool approval_has_approver(const struct gateway *gw);
/* Do questions wait although no approver is attached? */
bool approval_is_patient(const struct gateway *gw);
/* Fills in what the approvers are shown; borrows the text from the approval. */
void approval_describe(const struct approval *approval, struct approver_question *ret);
/* Tells the approvers of new and changed questions. From the loop. */
void approval_tell_news(struct gateway *gw);

void approval_decision_drop(struct decision *decision); /* NULL is fine */
