/* denials: the last refusals of an exec, for http://sallyport.internal/denials, where a command
 * reads its network denials. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "proxy/relay/buffer.h"
#include "proxy/limits.h"
#include "proxy/http/refusal.h"

struct denial {
	int64_t wall_us;
	char *text; /* as refusal_text() */
	char *json; /* as refusal_json(), without the line end */
};

/* Embedded; zeroed is empty. */
struct denials {
	struct denial last[LIMITS_DENIALS_MAX]; /* a ring */
	size_t next, count;
};

void denials_add(struct denials *denials, const struct refusal *refusal, int64_t wall_us);
void denials_done(struct denials *denials);
/* Newest first. -E2BIG: truncated. */
int denials_text(const struct denials *denials, struct buffer *out);
int denials_json(const struct denials *denials, struct buffer *out);
