#include "exec/sandbox/plan.h"

#include <stdlib.h>

#include "base/mem.h"
#include "exec/run/wire.h"

enum env_kind plan_env_kind(const struct plan *plan)
{
	return plan->flags & WIRE_UNCONFINED     ? ENV_UNCONFINED
	       : plan->flags & WIRE_HOST_NETWORK ? ENV_HOST_NETWORK
						 : ENV_GATE;
}

void plan_free(struct plan *plan)
{
	if (!plan)
		return;
	mem_free_list(plan->argv);
	mem_free_list(plan->env);
	mem_free_list(plan->files);
	free(plan->cwd);
	paths_done(&plan->fresh);
	paths_done(&plan->writable);
	paths_done(&plan->readable);
	paths_done(&plan->pins);
	paths_done(&plan->hidden);
	paths_done(&plan->read_only);
	paths_done(&plan->sockets);
	paths_done(&plan->covered);
	paths_done(&plan->folders);
	paths_done(&plan->missing);
	paths_done(&plan->absent);
	paths_done(&plan->instead);
	paths_done(&plan->caches);
	paths_done(&plan->cached);
	paths_done(&plan->open_sockets);
	paths_done(&plan->granted);
	paths_done(&plan->links);
	paths_done(&plan->baits);
	paths_done(&plan->warnings);
	paths_done(&plan->git_links);
	free(plan->program);
	free(plan->tmpdir);
	free(plan);
}
