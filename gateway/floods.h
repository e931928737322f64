/* floods: how many new questions may come, from a session, a command, a program, and about one
 * domain. A flood is refused, never merged: what one answer grants does not grow with it. */
#pragma once

#include <stdint.h>
#include <sys/queue.h>

#include "gateway/keys.h"
#include "gateway/who.h"
#include "policies/policies.h"

/* A token bucket. Zeroed it is full. */
struct flood_bucket {
	int64_t used;  /* thousandths of a question */
	int64_t at_ms; /* when it was so */
};

/* Buckets of which more are thinkable than are kept. */
struct flood_table {
	struct key_table keys;
	TAILQ_HEAD(flood_queue, flood_entry) oldest; /* by their last question */
};

struct floods {
	struct flood_bucket session;
	struct flood_table domains, programs;
};

/* Who asks, and about what. */
struct flood_source {
	struct flood_bucket *exec;      /* of the command; NULL: of none */
	const struct who_file *program; /* NULL, or zeroed: not known */
	const struct policy_destination *dst;
};

void floods_init(struct floods *floods);
void floods_done(struct floods *floods);
/* May one more question be made? NULL, or words that say what is too much. Static. */
const char *floods_check(struct floods *floods, const struct flood_source *source, int64_t now_ms);
/* The same, and counts it where it may. */
const char *floods_take(struct floods *floods, const struct flood_source *source, int64_t now_ms);
