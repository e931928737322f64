/* grace: what happened to a destination a moment ago. Of a question that ended without an answer:
 * whoever asks the same soon after asks the same question, which has its id, and says how often it
 * was asked. Of what was allowed and led nowhere: that it is not worth a question. */
#pragma once

#include <stdint.h>
#include <sys/queue.h>

#include "gateway/keys.h"
#include "policies/policies.h"

struct graces {
	struct key_table table;
	TAILQ_HEAD(grace_queue, grace) oldest;
};

void grace_init(struct graces *graces);
void grace_done(struct graces *graces);
/* Question @number for @dst, asked @times times by now, ends unanswered. */
void grace_leave(struct graces *graces, const struct policy_destination *dst, uint64_t number,
		 unsigned int times, int64_t now_ms);
/* @dst led to an address that nothing a person can say lets be dialled: why. */
void grace_leave_futile(struct graces *graces, const struct policy_destination *dst,
			enum policy_reason reason, int64_t now_ms);
/* POLICY_NONE, or that reason. */
enum policy_reason grace_futile(const struct graces *graces, const struct policy_destination *dst,
				int64_t now_ms);
/* Forgets what there was for @dst: false, or its number and how often it was asked. */
bool grace_take(struct graces *graces, const struct policy_destination *dst, int64_t now_ms,
		uint64_t *ret_number, unsigned int *ret_times);
