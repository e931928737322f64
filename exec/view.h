/* view: which paths are fresh, writable, pinned, hidden and read-only: the part of the plan that is
 * about files. */
#pragma once

struct err;
struct exec_plan_config;
struct exec_sandbox;
struct plan;
struct policy_protection;

/* Fills @plan's cwd and path lists. 0, or -errno with @why: what was asked contradicts itself or
 * would leave a hole. */
int view_plan(struct plan *plan, const struct exec_plan_config *config, struct err *why);

/* Its parts. NULL, or why @path (canonical) cannot be writable. */
const char *view_unfit(const struct plan *plan, const char *path);
/* What is protected at @path must not be moved. */
void view_pin_parents(struct plan *plan, const char *path);
/* Keeps what runs code later read-only where @plan lets the command write. @protection: NULL:
 * nothing is done. 0, or -errno with @why. */
int view_protect(struct plan *plan, const struct policy_protection *protection, struct err *why);
/* 0, or -EPERM with @why: the working directory is a home or belongs to the system, and nobody has
 * named it. */
int view_protect_place(const struct plan *plan, const struct policy_protection *protection,
		       struct err *why);
/* Lets the command write to the repository that its working directory belongs to, where that is the
 * user's own. Before view_protect(), which keeps parts of it. NULL: does nothing. */
void view_repository(struct plan *plan, const struct policy_protection *protection);
/* As view_protect(), of @path alone; not there, or named as writable itself: no effect. */
void view_protect_path(struct plan *plan, const char *path);
/* Covers other names, hard links, of what is protected, as far as they are found; what is left of
 * hidden files is among @plan's warnings. -EMLINK with @why: a read-only file may be written by a
 * name that was not found. */
int view_names_cover(struct plan *plan, struct err *why);
/* Covers what is protected also where it is mounted once more. 0 or -errno with @why. */
int view_aliases_cover(struct plan *plan, struct err *why);
/* Volumes in writable directories that are mounted nowhere else are writable, too. The same. */
int view_aliases_add_volumes(struct plan *plan, const struct exec_plan_config *config,
			     struct err *why);
/* As view_plan(), by what @sandbox says; @plan's cwd is there. */
int view_entries(struct plan *plan, const struct exec_sandbox *sandbox, struct err *why);

/* Is @path, seen from outside, something that @plan hides or keeps read-only? */
int view_check_open_file(const struct plan *plan, int fd, const char *what, struct err *why);
