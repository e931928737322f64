/* paths: canonical absolute paths, and lists of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;
struct stat;

/* { 0 } is empty. Owns its strings; list is NULL-terminated once a path was added. */
struct paths {
	char **list;
	size_t count;
};

/* Borrows a list, which may be NULL; nothing may be added, and it is not paths_done(). */
struct paths paths_of(const char *const *list);
void paths_add(struct paths *paths, const char *path);
void paths_remove(struct paths *paths, const char *path); /* no effect if it is not there */
void paths_done(struct paths *paths);
bool paths_has(const struct paths *paths, const char *path);
/* Sorts: a directory comes before its contents. */
void paths_sort(struct paths *paths);

/* Is @path @directory itself or inside it? Both canonical. */
bool paths_is_within(const char *path, const char *directory);
/* The folder that contains @path, canonical; that of "/" is itself. Returned owned. */
char *paths_parent(const char *path);
/* The innermost entry of @paths that is @path or contains it; NULL: none. */
const char *paths_holder(const struct paths *paths, const char *path);

/* Is one of @paths inside of @directory, and not @directory itself? */
bool paths_is_around(const struct paths *paths, const char *directory);

/* Canonical form of @path (absolute), with every link followed, returned owned in *@ret. A link
 * that lies in one of @writable is refused (-ELOOP): the command could change its target. -ENOENT:
 * it does not exist (then *@ret is the path it has if its missing parts are created as
 * directories). */
int paths_resolve(const char *path, const struct paths *writable, char **ret, struct err *why);
/* The same for a path that another process will use: -EXDEV if it goes through a link of /proc,
 * -ENOTDIR if `..` follows a missing component. */
int paths_resolve_shared(const char *path, const struct paths *writable, char **ret,
			 struct err *why);
/* As paths_resolve() without @writable, with the path of every link that was followed added to
 * @links. */
int paths_resolve_links(const char *path, struct paths *links, char **ret);

/* As stat(2), or lstat(2) if it does not follow a link at the end. Returns 0 or an error.
 *
 * No function here asks an automount for a name that it does not list: that is missing. So paths
 * that a command may have chosen are looked up by them alone, also for a file that is opened. */
int paths_look(const char *path, bool follows, struct stat *ret);
