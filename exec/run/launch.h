/* launch: clones sallyport-init, with its plan, into new namespaces. */
#pragma once

#include <stdbool.h>

struct cgroup;
struct err;
struct exec_plan_config;
struct plan;

struct launch {
	int pidfd;             /* readable when all of the sandbox is gone */
	int control;           /* messages of wire.h; the caller may make it non-blocking */
	struct cgroup *cgroup; /* NULL: no control group */
	bool has_egress;       /* it will send the descriptors that exec_process_start() promises */
	bool is_alone; /* only init knows which processes belong to it: ask it to end, do not kill
			  it */
};

/* Uses a control group if there is one; else every process gets the limit that is meant for all of
 * them together. Borrows @plan and @config; what is in @ret is returned owned. Call it from the
 * process's only thread: init dies with the thread that created it. -errno with text that says what
 * was refused and what to do. */
int launch_plan(struct plan *plan, const struct exec_plan_config *config, struct launch *ret,
		struct err *why);
