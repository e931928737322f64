/* view_repository: finds the repository that a command works in. */
#pragma once

struct plan;
struct policy_protection;

/* Lets the command write to the repository that its working directory belongs to, if that is the
 * user's own. Call it before view_protect(), which protects parts of it. @protection NULL: does
 * nothing. */
void view_repository(struct plan *plan, const struct policy_protection *protection);
/* The path in the first line of a file of git's, after @before, canonical; returned owned, or NULL.
 */
char *view_repository_path(const char *directory, const char *name, const char *before);
