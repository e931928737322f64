/* caches: the folders of the gate's own that a plan mounts over the caches of the command's tools.
 */
#pragma once

struct exec_plan_config;
struct plan;

/* Adds those of @config that fit to a plan that has all of its paths. */
void caches_plan(struct plan *plan, const struct exec_plan_config *config);
/* Adds their variables to the environment of the plan. */
void caches_env(struct plan *plan, const struct exec_plan_config *config);
