/* cgroup: a control group for one sandbox, if one can be created: below our own group, or below the
 * nearest ancestor that this user may write to and that delegates its controllers. If there is
 * none, nothing fails, and only the other limits apply. docs/decisions/0036. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "exec/exec_limits.h"

struct cgroup;

/* Applies all of @limits that it supports; returned owned. NULL: no group can be created. Removes
 * the groups that dead gates have left there. */
struct cgroup *cgroup_new(const struct exec_limits *limits);
int cgroup_fd(const struct cgroup *cgroup);            /* its directory, borrowed; -1 for NULL */
bool cgroup_holds_memory(const struct cgroup *cgroup); /* false for NULL */
/* BIT(enum policy_limit) of the limits that a process in it has reached. */
unsigned int cgroup_reached(const struct cgroup *cgroup);
/* Kills all processes in it, and removes it. NULL is fine. */
void cgroup_free(struct cgroup *cgroup);

uint64_t cgroup_share(unsigned int percent); /* of the machine's memory, in bytes */

/* The same with other paths, for tests. @mount: of the file system; @own: the group of this
 * process, below it, "/a/b". */
struct cgroup *cgroup_new_at(const char *mount, const char *own, const struct exec_limits *limits);
