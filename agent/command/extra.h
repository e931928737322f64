/* extra: "additional_permissions": what one task may access beyond its sandbox. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "exec/orchestrator/orchestrator_request.h"
#include "policies/policies.h"

struct agent;
struct err;

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
/* Could the permissions be granted to a command of @argv (NULL: not known yet): its destinations,
 * and its paths, of which the gate must hide none? What cannot be granted is not asked. 0, or
 * -EACCES, -EPERM or -EINVAL with @why. */
int extra_check(const struct extra *extra, const struct agent *agent, const char *const *argv,
		struct err *why);
/* A destination in the gateway's spelling: returned owned. */
char *extra_destination(const struct orchestrator_access *access);
