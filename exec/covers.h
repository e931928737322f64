/* covers: which of the plan's mounts have to stay, and where names on the way to them are. */
#pragma once

struct err;
struct plan;

/* Fills @plan's covered and folders, by its other lists. 0, or -errno with @why: a folder in which
 * others could be put in their place cannot be watched. */
int covers_plan(struct plan *plan, struct err *why);
