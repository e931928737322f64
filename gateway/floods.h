/* floods: how many new questions may come, from a session, from a command, and about one domain. A
 * flood is refused, never merged: what one answer grants does not grow with it. */
#pragma once

#include <stdint.h>
#include <sys/queue.h>

#include "gateway/keys.h"
#include "policies/policies.h"

/* A token bucket. Zeroed it is full. */
struct flood_bucket {
	int64_t used;  /* thousandths of a question */
	int64_t at_ms; /* when it was so */
};

struct floods {
	struct flood_bucket session;
	struct key_table domains;
	TAILQ_HEAD(flood_domain_queue, flood_domain) oldest; /* by their last question */
};

void floods_init(struct floods *floods);
void floods_done(struct floods *floods);
/* May one more question for @dst be made? Counts it. @exec: of the command that asks, or NULL.
 * NULL, or words that say what is too much; then nothing was counted. Static. */
const char *floods_take(struct floods *floods, struct flood_bucket *exec,
			const struct policy_destination *dst, int64_t now_ms);
