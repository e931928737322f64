/* policies_protected: which paths run code later: when a person opens a folder, starts a shell or
 * types `git status`. One table; pure: it looks at no file. docs/decisions/0035. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Where a line of the table counts. */
enum policy_protected_where {
	POLICY_PROTECTED_ANYWHERE, /* at any depth: a path that ends with it */
	POLICY_PROTECTED_HOME      /* in a home directory */
};
struct policy_protected_line {
	const char *path; /* "without/a/slash/in/front" */
	enum policy_protected_where where;
};
/* All of them. */
const struct policy_protected_line *policy_protected_lines(size_t *ret_count);

/* What counts besides; all lists are NULL-terminated and borrowed, and may be NULL. */
struct policy_protection {
	const char *const *homes; /* absolute, canonical */
	/* Directories that somebody has named as writable. */
	const char *const *named;
	/* Of the policy. One that begins with "/" is that place, any other is at any depth. */
	const char *const *protect;   /* always holds */
	const char *const *unprotect; /* frees what the table says of it and of all in it */
};
/* Is the absolute @path, without "." and "..", protected or inside something that is? *@ret_line
 * (may be NULL) is the line that says so, borrowed. What lies in a folder that git uses as its own
 * without being called .git is not known by name. */
bool policy_protected_find(const struct policy_protection *protection, const char *path,
			   const char **ret_line);
/* The same of @path alone, whatever it lies in. */
bool policy_protected_is(const struct policy_protection *protection, const char *path,
			 const char **ret_line);
/* Has a line freed @path, or a folder around it? */
bool policy_protected_is_freed(const struct policy_protection *protection, const char *path);
/* Why nobody works in the absolute @path without having named it: "it is your home directory".
 * NULL: it is a place like any other. */
const char *policy_protected_place(const struct policy_protection *protection, const char *path);
/* Could a line name something that begins with the component @name, at any depth? */
bool policy_protected_begins(const struct policy_protection *protection, const char *name);

/* What of a folder of git's own (".git", or a bare repository) decides what git executes, with a
 * NULL behind the last; and the folders in it that hold others of that kind. */
extern const char *const policy_protected_git[];
extern const char *const policy_protected_git_inner[];
