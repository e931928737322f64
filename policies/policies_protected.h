/* policies_protected: the paths that run code later: when a person opens a folder, starts a
 * shell or types `git status`. Pure: one table, no file access. docs/decisions/0035. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Where a line of the table applies. */
enum policy_protected_where {
	POLICY_PROTECTED_ANYWHERE, /* to paths that end with it, at any depth */
	POLICY_PROTECTED_HOME      /* to paths in a home directory */
};
struct policy_protected_line {
	const char *path; /* a relative path, or "*.SUFFIX": the end of a file's name */
	enum policy_protected_where where;
};
/* All lines of the table. */
const struct policy_protected_line *policy_protected_lines(size_t *ret_count);

/* Additions to the table. All lists are NULL-terminated and borrowed, and may be NULL. */
struct policy_protection {
	const char *const *homes; /* absolute, canonical */
	/* Directories that --write or a policy names. */
	const char *const *named;
	/* Lines of the policy. A path that begins with "/" is that path only, any other matches
	 * at any depth. */
	const char *const *protect;   /* `protect`: has precedence over @unprotect */
	const char *const *unprotect; /* `unprotect`: the table does not apply to it and its
				       * contents */
};
/* Is the absolute @path, without "." and "..", protected or inside a protected path? *@ret_line
 * (may be NULL): the line that protects it, borrowed. A git directory with a name other than
 * .git is not recognised. */
bool policy_protected_find(const struct policy_protection *protection, const char *path,
			   const char **ret_line);
/* The same, for @path only, without its parent folders. */
bool policy_protected_is(const struct policy_protection *protection, const char *path,
			 const char **ret_line);
/* Does an `unprotect` line apply to @path or to a folder that contains it? */
bool policy_protected_is_freed(const struct policy_protection *protection, const char *path);
/* The reason why the absolute @path must be named before it may be a writable working directory,
 * such as "it is a home directory"; NULL: it need not be named. */
const char *policy_protected_place(const struct policy_protection *protection, const char *path);
/* Is @name the first component of the path in @line, or one that its star stands for? */
bool policy_protected_line_begins(const char *line, const char *name);
/* Is @name so for some line that applies at any depth? */
bool policy_protected_begins(const struct policy_protection *protection, const char *name);

/* The names inside a git directory (".git", or a bare repository) that determine what git
 * executes, NULL-terminated; and the folders in it that contain further git directories. */
extern const char *const policy_protected_git[];
extern const char *const policy_protected_git_inner[];
