/* width: the extent of an answer, in the language of the policy. The text is made first, and the
 * grant is what the policy engine reads in it, so that what is shown, stored and granted cannot
 * differ. */
#pragma once

#include <stdbool.h>

#include "gateway/approvers/approver_impl.h"

/* Is it more or other than the question's own destination: other hosts, other ports, or one program
 * only? */
bool width_is_wide(const struct approver_width *width);
/* Is it anything other than exactly the question's destination for the whole scope? */
bool width_is_any(const struct approver_width *width);

/* Writes "tcp://example.org:22 for 1h". @program: of the question, visible; "": not known. -EINVAL:
 * there is no such answer; -ENOTSUP: this version does not support it. Both with words. */
int width_text(const struct policy_destination *dst, const char *program,
	       const struct approver_width *width, char out[APPROVER_KEY_MAX], struct err *why);
/* A policy that consists of `answer ACTION TEXT`, given at @since_s, and asks about everything
 * else. Its answer must cover @dst when @program asks. Returned owned, or NULL with @why. */
struct policy *width_policy(const struct policy_destination *dst, const char *program,
			    enum policy_action action, const char *text, int64_t since_s,
			    struct err *why);
bool width_covers(const struct policy *policy, const struct policy_facts *facts);
/* "2026-11-20T20:13:07Z" */
#define WIDTH_DATE_MAX 32
const char *width_date(int64_t since_s, bool has_seconds, char out[WIDTH_DATE_MAX]);
