/* path: opens directories and files by canonical path, and creates mounts from them. No symbolic
 * link is ever followed: a plan's paths have none, so a link has been put there since. All return
 * 0, a descriptor, or -errno. */
#pragma once

#include <stdint.h>

/* An O_PATH descriptor of what is at @path now, including all mounts made so far. */
int path_open(const char *path);
/* 1, 0, or -errno. */
int path_is_directory(int at);
/* Is @path the place of a mount? 1, 0, or -errno. */
int path_is_mount(const char *path);
/* mkdir -p, 0755. */
int path_make(const char *path);
int path_make_parent(const char *path); /* of the directory that contains @path */
/* A clone of the tree at @at, not mounted yet. */
int path_clone(int at);
/* Changes every mount of the detached tree @tree. @add and @clear: MOUNT_ATTR_*. */
int path_set(int tree, uint64_t add, uint64_t clear);
int path_set_top(int tree, uint64_t add, uint64_t clear); /* only its topmost mount */
/* Mounts the detached @tree onto what @at names. */
int path_attach(int tree, int at);
