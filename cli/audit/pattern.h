/* pattern: which destinations of a log may be suggested, and where hosts prove a wildcard. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policies/policies.h"

struct history_destination;

/* How often it was allowed. */
uint64_t pattern_allowed(const struct history_destination *at);
/* May a line allow it: it was allowed and reached, and no person and no rule ever denied it. */
bool pattern_may_suggest(const struct history_destination *at);
/* As policy_destination_text(), without a port that the protocol implies. */
const char *pattern_destination(const struct policy_destination *dst,
				char out[POLICY_DESTINATION_TEXT_MAX]);

struct pattern {
	const char *parent;                         /* borrowed from a member */
	char text[POLICY_DESTINATION_TEXT_MAX + 4]; /* as a policy writes it */
	const struct history_destination **members; /* owned array of borrowed ones */
	size_t count;
};
struct pattern_list {
	struct pattern *list;
	size_t count;
};
/* @rows: every destination of the log, NULL-terminated. */
void pattern_find(struct pattern_list *ret, void **rows);
bool pattern_has(const struct pattern_list *patterns, const struct history_destination *at);
void pattern_done(struct pattern_list *patterns);
