/* mounts: the plan's paths as one ordered list of mounts. */
#pragma once

#include <stdbool.h>

struct err;
struct plan;

/* The access that @plan's view gives to the host's @path (canonical), as enum exec_access. */
int mounts_access(const struct plan *plan, const char *path);

/* Is something inside of @path attached? */
bool mounts_has_way(const struct plan *plan, const char *path);

/* 0, or -E2BIG with @why: more than init accepts. */
int mounts_check(const struct plan *plan, struct err *why);
/* WIRE_MOUNTS: one string per mount, outer before inner, each path once. Returned owned. */
char **mounts_list(const struct plan *plan);
