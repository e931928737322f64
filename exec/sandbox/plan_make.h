/* plan_make: turns a configuration into a plan: all decisions, before anything is done. */
#pragma once

struct err;
struct exec_plan_config;
struct plan;

/* Returned owned; NULL with @why and *@ret_errno (negative): it cannot be done safely. Reads the
 * descriptors that become 0–2, and the file system; creates nothing except missing hook folders of
 * repositories. */
struct plan *plan_make(const struct exec_plan_config *config, int *ret_errno, struct err *why);
/* May these three descriptors (NULL: our own 0–2) become those of a command? Adds what they are to
 * @plan's flags. 0, or -errno with @why. */
int plan_make_check_stdio(struct plan *plan, const int *stdio, struct err *why);
