/* extra: "additional_permissions": what one call may touch besides. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "exec/orchestrator/orchestrator_request.h"
#include "policies/policies.h"

struct agent;
struct err;

/* Owns its texts; { 0 } is none. */
struct extra {
	struct orchestrator_access list[ORCHESTRATOR_ACCESSES_MAX];
	char *texts[ORCHESTRATOR_ACCESSES_MAX];
	size_t count;
};
/* Paths are below @cwd, or absolute. 0 or -EINVAL with @why; extra_done() in both cases. */
int extra_read(struct extra *extra, const json_t *object, const char *cwd, struct err *why);
void extra_done(struct extra *extra);
/* Copies what is in @from to @to; what there is no room for is left out. */
void extra_add(struct extra *to, const struct extra *from);
/* Could it be granted at all, to a command of @argv (NULL: not known yet): its destinations, and
 * its paths, where the gate keeps none to itself? Who cannot open them is not asked. 0, or -EACCES,
 * -EPERM or -EINVAL with @why. */
int extra_check(const struct extra *extra, const struct agent *agent, const char *const *argv,
		struct err *why);
