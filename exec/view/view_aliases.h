/* view_aliases: handles directories that are mounted in more than one place. */
#pragma once

struct err;
struct exec_plan_config;
struct plan;

/* Covers protected paths also where they are mounted a second time. 0 or -errno with @why. */
int view_aliases_cover(struct plan *plan, struct err *why);
/* Makes volumes in writable directories writable if they are mounted nowhere else. 0 or -errno with
 * @why. */
int view_aliases_add_volumes(struct plan *plan, const struct exec_plan_config *config,
			     struct err *why);
