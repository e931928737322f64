/* extra: "additional_permissions": what one task may access beyond its sandbox. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "exec/orchestrator/orchestrator_request.h"
#include "policies/policies.h"

struct err;
struct gateway;

/* Owns its texts; { 0 } is empty. */
struct extra {
	struct orchestrator_access list[ORCHESTRATOR_ACCESSES_MAX];
	char *texts[ORCHESTRATOR_ACCESSES_MAX];
	size_t count;
};
/* Paths are absolute or relative to @cwd. 0 or -EINVAL with @why; call extra_done() in both cases.
 */
int extra_read(struct extra *extra, const json_t *object, const char *cwd, struct err *why);
void extra_done(struct extra *extra);
/* Copies the entries of @from to @to; entries beyond the limit are left out. */
void extra_add(struct extra *to, const struct extra *from);
/* Adds a destination, unless there is no room for it. */
void extra_put(struct extra *extra, const struct orchestrator_access *access);
/* Could the destinations be granted to a command of @argv (NULL: not known yet)? What cannot be
 * granted is not asked. @gw may be NULL. 0, or -EACCES, -EPERM or -EINVAL with @why. For the paths
 * see extra_look.h. */
int extra_check(const struct extra *extra, struct gateway *gw, const char *const *argv,
		struct err *why);
/* Replaces the path of entry @at. */
void extra_set_path(struct extra *extra, size_t at, const char *path);
/* A destination in the gateway's spelling: returned owned. */
char *extra_destination(const struct orchestrator_access *access);
