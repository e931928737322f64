/* recent: remembers for a short time what happened to a destination. After a question that ended
 * without an answer, the next request for it asks the same question again, with its id and the
 * number of times asked. After an allow that could not be used, there is no new question. */
#pragma once

#include <stdint.h>
#include <sys/queue.h>

#include "gateway/link/keys.h"
#include "policies/policies.h"

struct graces {
	struct key_table table;
	TAILQ_HEAD(recent_queue, recent) oldest;
};

void recent_init(struct graces *graces);
void recent_done(struct graces *graces);
/* Question @number for @dst, asked @times times so far, ends unanswered. */
void recent_leave(struct graces *graces, const struct policy_destination *dst, uint64_t number,
		  unsigned int times, int64_t now_ms);
/* @dst led to an address that no answer can permit to dial. @reason: why. */
void recent_leave_futile(struct graces *graces, const struct policy_destination *dst,
			 enum policy_reason reason, int64_t now_ms);
/* POLICY_NONE, or the reason given to recent_leave_futile(). */
enum policy_reason recent_futile(const struct graces *graces, const struct policy_destination *dst,
				 int64_t now_ms);
/* Removes the entry for @dst and returns its number and how often it was asked; false: none. */
bool recent_take(struct graces *graces, const struct policy_destination *dst, int64_t now_ms,
		 uint64_t *ret_number, unsigned int *ret_times);
