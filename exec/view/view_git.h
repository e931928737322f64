/* view_git: protects the files from which git executes something because a repository names
 * them. */
#pragma once

struct plan;
struct policy_protection;

/* Makes the files in @directory, a folder of git's own, that decide this read-only; and the files
 * that its configuration names, if the command may write them. */
void view_git_protect(struct plan *plan, const struct policy_protection *protection,
		      const char *directory);
/* Makes the links in @directory, a folder of git's own, read-only, and adds them to the git_links
 * of
 * @plan: git writes to where they lead, such as a start-up file in place of a log. At most *@left
 * entries are read. */
void view_git_keep_links(struct plan *plan, const struct policy_protection *protection,
			 const char *directory, unsigned int *left);
/* @link is a file or symbolic link .git, which leads from a work tree to its repository elsewhere:
 * makes it and the files in the work tree that the repository's configuration names read-only. */
void view_git_protect_link(struct plan *plan, const struct policy_protection *protection,
			   const char *link);
