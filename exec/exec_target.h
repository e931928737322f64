/* exec_target: what a file written from outside a sandbox, as a patch is, would change: something
 * that the sandbox lets its commands write, something else, or something that nobody who is
 * confined may change. Judged by where the path leads now, and by what is there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;
struct exec_sandbox;
struct exec_target_view;
struct policy_protection;

/* In the order of their strength: of several places the lowest counts. */
enum exec_target {
	EXEC_TARGET_REFUSED, /* denied, the gate's, protected, no file, or it cannot be told */
	EXEC_TARGET_OUTSIDE, /* not for the sandbox's commands to write */
	EXEC_TARGET_INSIDE
};

/* Looks at the sandbox's paths as they are now, with what its view protects of them. Returned
 * owned; NULL with @why: what the policy protects is not there, or @cwd. @protection is borrowed.
 */
struct exec_target_view *exec_target_view_new(const struct exec_sandbox *sandbox, const char *cwd,
					      const struct policy_protection *protection,
					      struct err *why);
/* Of what is kept alone. The same. */
struct exec_target_view *exec_target_view_new_empty(void);
/* Nobody may change @paths, NULL-terminated, may be NULL, or what is in them. */
void exec_target_view_keep(struct exec_target_view *view, const char *const *paths);
void exec_target_view_free(struct exec_target_view *view);

/* Is @path (absolute) among what is kept, or within it, links followed? With @why; also where it
 * cannot be told. */
bool exec_target_is_kept(const struct exec_target_view *view, const char *path, struct err *why);

/* Of @path (absolute). Appends to *@ret_places, an owned list that may be NULL, the file itself
 * and, where it is a symbolic link, what it leads to; nothing where it cannot be told. Says in @why
 * what keeps it from being INSIDE. */
enum exec_target exec_target_judge(const struct exec_target_view *view, const char *path,
				   char ***ret_places, struct err *why);
