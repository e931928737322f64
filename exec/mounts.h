/* mounts: the plan's paths as one order of mounts. */
#pragma once

#include <stdbool.h>

struct err;
struct plan;

/* The access that @plan's view gives to the host's @path (canonical), as enum exec_access. */
int mounts_access(const struct plan *plan, const char *path);

/* Is something shown inside of @path? */
bool mounts_has_way(const struct plan *plan, const char *path);

/* 0, or -E2BIG with @why: init does not take so many. */
int mounts_check(const struct plan *plan, struct err *why);
/* WIRE_MOUNTS: one string a mount, outer before inner, each path once. Returned owned. */
char **mounts_list(const struct plan *plan);
