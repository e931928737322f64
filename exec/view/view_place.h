/* view_place: checks and protects a single path in a view. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct plan;
struct policy_protection;

/* NULL, or why @path (canonical) cannot be writable. */
const char *view_place_unfit(const struct plan *plan, const char *path);
/* Keeps the protected @path from being moved. */
void view_place_pin(struct plan *plan, const char *path);
/* Makes @path, which runs code later, read-only if @plan lets the command write it. No effect if it
 * does not exist, or is listed as writable itself. */
void view_place_keep(struct plan *plan, const char *path);
/* Makes the link @link itself read-only, not what it leads to. */
void view_place_keep_link(struct plan *plan, const char *link);
/* As view_place_keep(), for what links in @folder, and in its folders, lead to:
 * .git/hooks/pre-commit is often a link to a file of the project. What the policy frees stays
 * writable. */
void view_place_keep_led(struct plan *plan, const struct policy_protection *protection,
			 const char *folder);
/* @path, canonical, is to be hidden and does not exist: the command may not create it, and if
 * another process does, everything is killed. */
void view_place_hide_absent(struct plan *plan, const char *path);
/* Does a search of the writable directories begin at number @index? Else the search of another one,
 * which stays on its file system, reaches it. */
bool view_place_begins(const struct plan *plan, size_t index);
