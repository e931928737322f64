/* floods: limits the number of new questions of a session, a command, a program, and about one
 * domain. Excess questions are refused, not merged: one answer never grants more because of a
 * flood. */
#pragma once

#include <stdint.h>
#include <sys/queue.h>

#include "gateway/link/keys.h"
#include "gateway/execs/socket_owner.h"
#include "policies/policies.h"

/* A token bucket. A zeroed one is full. */
struct flood_bucket {
	int64_t used;  /* thousandths of a question, at @at_ms */
	int64_t at_ms; /* time of the last change */
};

/* Buckets by key; more keys are possible than are kept. */
struct flood_table {
	struct key_table keys;
	TAILQ_HEAD(flood_queue, flood_entry) oldest; /* by their last question, oldest first */
};

struct floods {
	struct flood_bucket session;
	struct flood_table domains, programs;
};

/* The source of a question and its destination. */
struct flood_source {
	struct flood_bucket *exec;               /* of the command; NULL: none */
	const struct socket_owner_file *program; /* NULL, or zeroed: not known */
	const struct policy_destination *dst;
};

void floods_init(struct floods *floods);
void floods_done(struct floods *floods);
/* May one more question be made? NULL, or the limit that it exceeds, in static text. */
const char *floods_check(struct floods *floods, const struct flood_source *source, int64_t now_ms);
/* The same, and counts the question if it may be made. */
const char *floods_take(struct floods *floods, const struct flood_source *source, int64_t now_ms);
