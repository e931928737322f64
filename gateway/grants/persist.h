/* persist: writes kept answers to the policy's file and removes them, in a separate process, one
 * change at a time, so that neither a lock of another process nor a slow disk blocks the loop.
 * docs/decisions/0037. */
#pragma once

#include <stdint.h>

#include "policies/policies.h"

struct approver_answer;
struct err;
struct gateway;
struct gateway_kept;

#define PERSIST_MAX 64 /* changes that wait, or whose result was not asked for yet */

/* Writes the line of an answer to @question. 0: it is in the file. -EINPROGRESS: it is being
 * written; call again with the same arguments when gateway_when_kept() calls back, to get the
 * result. -EBUSY: another answer to that question is being written. Else -errno with @why: it is
 * not in the file. */
int persist_append(struct gateway *gw, const char *question, enum policy_action action,
		   const char *text, const char *provenance, struct err *why);
/* The same, to remove the line of grant @grant. */
int persist_remove(struct gateway *gw, uint64_t grant, enum policy_action action, const char *text,
		   struct err *why);
/* Is an answer to @question being written? */
bool persist_has(const struct gateway *gw, const char *question);
/* Was an answer with @action to @question written, and its result not asked for yet? True at most
 * once. */
bool persist_take(struct gateway *gw, const char *question, enum policy_action action);
/* As gateway_when_kept(), gateway_forget_kept(). */
void persist_await(struct gateway *gw, struct gateway_kept *kept, void (*fn)(void *arg), void *arg);
void persist_forget(struct gateway *gw, struct gateway_kept *kept);
void persist_done(struct gateway *gw);
