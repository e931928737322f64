/* path: directories and files by canonical path, and mounts made from them. No symbolic link is
 * followed anywhere: a plan's paths have none, so one that turns up was put there since. All return
 * 0, a descriptor, or -errno. */
#pragma once

#include <stdint.h>

/* O_PATH descriptor of what is at @path now, through all mounts made so far. */
int path_open(const char *path);
/* 1, 0, or -errno. */
int path_is_directory(int at);
/* mkdir -p, 0755. */
int path_make(const char *path);
int path_make_parent(const char *path); /* of what holds @path */
/* A copy of the tree at @at, mounted nowhere yet. */
int path_clone(int at);
/* Changes every mount of the detached tree @tree. @add and @clear: MOUNT_ATTR_*. */
int path_set(int tree, uint64_t add, uint64_t clear);
int path_set_top(int tree, uint64_t add, uint64_t clear); /* its uppermost mount only */
/* Mounts the detached @tree onto what @at names. */
int path_attach(int tree, int at);
