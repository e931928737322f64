/* command_line: `command` and `program` lines, before they become struct command_rules. */
#pragma once

#include "policies/engine/policy_impl.h"

/* A `command` or `program` line: checked when it is read, made a rule when all is read and its
 * layer is known. */
struct command_line {
	uint32_t source, number, line, line_len; /* in the text of the source */
	uint32_t rule;  /* as command_verdict.number; 0: it does not count */
	uint8_t action; /* enum command_action */
	bool is_program, is_unconfined;
};

/* Makes the rules of all `command` and `program` lines that count. */
void command_line_finish(struct policy *policy);
/* How many of a source's lines do not count. */
size_t command_line_count_ignored(const struct policy *policy, uint32_t source);
void command_line_check(struct policy *policy, const struct expectation *expect);
