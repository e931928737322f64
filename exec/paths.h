/* paths: canonical absolute paths, and lists of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;

/* { 0 } is empty. Owns its strings; list is NULL-terminated once something was added. */
struct paths {
	char **list;
	size_t count;
};

void paths_add(struct paths *paths, const char *path);
void paths_remove(struct paths *paths, const char *path); /* not there: no effect */
void paths_done(struct paths *paths);
bool paths_has(const struct paths *paths, const char *path);
/* Sorts: a directory comes before what it holds. */
void paths_sort(struct paths *paths);

/* Is @path @directory itself or inside it? Both canonical. */
bool paths_is_within(const char *path, const char *directory);
/* The entry of @paths that is or holds @path; the innermost of several; NULL: none. */
const char *paths_holder(const struct paths *paths, const char *path);

/* Is one of @paths inside of @directory, and not it? */
bool paths_is_around(const struct paths *paths, const char *directory);

/* Canonical form of @path (absolute), every link followed, returned owned in *@ret. A link that
 * itself lies in one of
 * @writable is refused (-ELOOP): the command could point it elsewhere. -ENOENT: not there (then
 * *@ret is what it would be when its missing parts are made as directories). */
int paths_resolve(const char *path, const struct paths *writable, char **ret, struct err *why);
/* The same without @writable for what another process is to do there: -EXDEV where a link of /proc
 * is on the way, -ENOTDIR where `..` leaves what is not there. */
int paths_resolve_shared(const char *path, char **ret, struct err *why);
