/* view_entries: the view that a sandbox describes. */
#pragma once

struct err;
struct exec_plan_config;
struct plan;

/* Opens the sockets of @list (NULL: none) to the command: visible, not covered, granted. One that
 * does not exist is added to @plan's missing. 0, or -errno with @why: it is hidden, or not a
 * socket. */
int view_entries_open_sockets(struct plan *plan, const char *const *list, const char *const *theirs,
			      struct err *why);
/* As view_plan(), from @config's sandbox; @plan's cwd must be set. */
int view_entries(struct plan *plan, const struct exec_plan_config *config, struct err *why);
