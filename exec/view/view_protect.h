/* view_protect: finds files that run code outside of the sandbox later, and keeps them
 * unchanged. */
#pragma once

struct err;
struct plan;
struct policy_protection;

/* Makes files that run code later read-only if @plan lets the command write them. @protection NULL:
 * does nothing. 0, or -errno with @why. */
int view_protect(struct plan *plan, const struct policy_protection *protection, struct err *why);
/* 0, or -EPERM with @why: the working directory is a home or belongs to the system, and was not
 * named explicitly. */
int view_protect_place(const struct plan *plan, const struct policy_protection *protection,
		       struct err *why);
