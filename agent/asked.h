/* asked: a question of the agent's server, from its event approval_request, as text for a person:
 * for servers of other protocols that are clients of it. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define ASKED_MAX 8192 /* bytes of a question as a person reads it */

struct asked {
	char out[ASKED_MAX];
	size_t len;
	bool is_cut;
};

/* Shows all that an allow grants, what the decisions of @event mean, and then what others claim.
 * Printable ASCII and line ends. False: what would be granted is too long to show. */
bool asked_describe(const json_t *event, const char *kind, struct asked *ret);
