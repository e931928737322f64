/* view_named: protects the files that git's configuration names. */
#pragma once

struct plan;
struct policy_protection;

/* A command can write configurations without end. Of all together, so many paths are looked up, and
 * KiB read; from there on nothing is protected, so the caller has to check plan->named. */
#define VIEW_NAMED_MAX 65536

/* Makes them read-only if the command may write them. @directory: a folder of git's own with a
 * configuration; the user's and the machine's are read as well. @tree: from which git looks up
 * programs and hooks. */
void view_named_protect(struct plan *plan, const struct policy_protection *protection,
			const char *directory, const char *tree);
