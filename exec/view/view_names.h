/* view_names: finds other names of protected files. */
#pragma once

struct err;
struct plan;

/* Covers other names (hard links) of protected files, as far as they are found; names of hidden
 * files that are not found are reported in @plan's warnings. -EMLINK with @why: the command may
 * write a read-only file by a name that was not found. */
int view_names_cover(struct plan *plan, struct err *why);
