/* covers: which of the plan's mounts must stay, and which folders contain the names on their
 * paths. */
#pragma once

struct err;
struct plan;

/* Fills @plan's covered and folders from its other lists. 0, or -errno with @why: a folder in which
 * they could be replaced cannot be watched. */
int covers_plan(struct plan *plan, struct err *why);
