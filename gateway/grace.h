/* grace: questions that ended without an answer. Whoever asks the same soon after asks the same
 * question: it has its id, and says how often it was asked. */
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
/* Forgets what there was for @dst: false, or its number and how often it was asked. */
bool grace_take(struct graces *graces, const struct policy_destination *dst, int64_t now_ms,
		uint64_t *ret_number, unsigned int *ret_times);
