/* exec_target: classifies a file that is written from outside a sandbox, for example by a patch:
 * the sandbox lets its commands write it, or does not, or no confined process may change it.
 * Decided by the place the path leads to now, and by the file that is there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;
struct exec_sandbox;
struct exec_target_view;
struct policy_protection;

/* From the weakest to the strongest: of several places the weakest counts. */
enum exec_target {
	EXEC_TARGET_REFUSED, /* denied, the gate's own, protected, not a file, or unknown */
	EXEC_TARGET_OUTSIDE, /* the sandbox's commands may not write it */
	EXEC_TARGET_INSIDE
};

/* Reads the sandbox's paths as they are now, and what its view protects in them. Returned owned;
 * NULL with @why: @cwd, or something that the policy protects, does not exist. @protection is
 * borrowed, and @theirs: see exec_plan_config. */
struct exec_target_view *exec_target_view_new(const struct exec_sandbox *sandbox, const char *cwd,
					      const struct policy_protection *protection,
					      char **theirs, struct err *why);
/* The same, but with nothing except what exec_target_view_keep() adds. */
struct exec_target_view *exec_target_view_new_empty(void);
/* No process may change @paths (NULL-terminated, may be NULL) or anything inside them. */
void exec_target_view_keep(struct exec_target_view *view, const char *const *paths);
void exec_target_view_free(struct exec_target_view *view);

/* Is @path (absolute) one of the kept paths, or inside one, after following links? Sets @why. Also
 * true if this cannot be determined. */
bool exec_target_is_kept(const struct exec_target_view *view, const char *path, struct err *why);

/* Judges @path (absolute). Appends to *@ret_places (an owned list that may be NULL) the file itself
 * and, if it is a symbolic link, its target; nothing if they cannot be determined. @why says why it
 * is not INSIDE. */
enum exec_target exec_target_judge(const struct exec_target_view *view, const char *path,
				   char ***ret_places, struct err *why);
