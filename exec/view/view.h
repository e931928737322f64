/* view: decides which paths are fresh, writable, pinned, hidden and read-only: the part of the plan
 * that concerns files. */
#pragma once

struct err;
struct exec_plan_config;
struct plan;

/* Fills @plan's cwd and path lists. 0, or -errno with @why: the configuration contradicts itself,
 * or cannot be enforced. */
int view_plan(struct plan *plan, const struct exec_plan_config *config, struct err *why);

/* Only the part that says what is hidden and read-only, as things are now: without other names and
 * mounts of it. Creates nothing. Returns the same. */
int view_find(struct plan *plan, const struct exec_plan_config *config, struct err *why);

/* 0, or -EPERM with @why: the open file @fd, which messages call @what, is hidden or read-only in
 * @plan. */
int view_check_open_file(const struct plan *plan, int fd, const char *what, struct err *why);
