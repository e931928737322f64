/* view_git: what git executes because a repository says so. */
#pragma once

struct plan;
struct policy_protection;

/* Keeps what decides this in @directory, a folder of git's own, read-only; and what its
 * configuration names where the command may write. */
void view_git_protect(struct plan *plan, const struct policy_protection *protection,
		      const char *directory);
