/* gateway_kept: waits for an answer to be written to the policy's file, for approvers. */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

struct gateway;

/* A caller that waits for the policy's file to be written. Zeroed: it does not wait. */
struct gateway_kept {
	void (*fn)(void *arg);
	void *arg;
	bool is_waiting;
	TAILQ_ENTRY(gateway_kept) entry;
};
/* @fn runs once, from the loop, when an answer has been written or the write has failed; it may be
 * another answer than the caller's. Keeps @kept until then, or until gateway_forget_kept(). */
void gateway_when_kept(struct gateway *gw, struct gateway_kept *kept, void (*fn)(void *arg),
		       void *arg);
void gateway_forget_kept(struct gateway *gw, struct gateway_kept *kept);
