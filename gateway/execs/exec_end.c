#include "gateway/execs/exec_end.h"

#include <stdlib.h>

#include "base/mem.h"
#include "gateway/approvals/approval.h"
#include "gateway/execs/execs.h"
#include "gateway/audit/journal.h"
#include "gateway/link/link_server.h"
#include "gateway/link/rings.h"
#include "gateway/link/local.h"
#include "gateway/execs/lookups.h"
#include "gateway/decide/queue.h"
#include "gateway/decide/repeats.h"
#include "gateway/execs/socket_owner.h"
#include "policies/policies_gate.h"

/* Ends everything that is valid for it; its open requests still use the names of its programs. */
static void exec_strip(struct gateway *gw, struct gateway_exec *exec)
{
	lookups_exec_ended(gw, exec);
	policy_asker_free(exec->asker);
	for (size_t i = 0; exec->argv && exec->argv[i]; i++)
		free(exec->argv[i]);
	free(exec->argv);
	socket_owner_free(exec->who);
	execs_forget_ways(exec);
	traffic_free(exec->trips);
	grants_forget(&gw->grants, &exec->grants);
	free(exec->command);
}

static void exec_free(struct gateway_exec *exec)
{
	for (size_t i = 0; i < exec->program_count; i++)
		free(exec->programs[i]);
	free(exec->programs);
	free(exec);
}

void exec_end_forget(struct gateway *gw)
{
	struct gateway_exec *exec = LIST_FIRST(&gw->ended_execs);

	while (exec) {
		struct gateway_exec *next = LIST_NEXT(exec, ended_entry);

		if (!local_has_exec(gw, exec->node.number)) {
			LIST_REMOVE(exec, ended_entry);
			exec_free(exec);
		}
		exec = next;
	}
}

void gateway_exec_end(struct gateway *gw, uint64_t id, int exit_status)
{
	struct gateway_exec *exec = execs_find(gw, id);
	struct sink_record record = { .event = SINK_EXEC_END,
				      .exec = id,
				      .exit_status = exit_status };

	rings_hold(gw);
	link_server_close_way(gw, id);
	if (!exec)
		return;
	keys_remove(&gw->execs, &exec->node);
	lookups_exec_ended(gw, exec);
	approval_exec_ended(gw, exec);
	local_exec_ended(gw, exec);
	outcomes_end(&gw->outcomes, take(exec->outcome));
	exec_strip(gw, exec);
	LIST_INSERT_HEAD(&gw->ended_execs, exec, ended_entry);
	queue_schedule(gw);
	repeats_exec_ended(gw, id);
	journal_stamp(gw->journal, &record);
	(void)queue_write_down(gw, &record);
}

void exec_end_tell_aborted(struct gateway *gw)
{
	uint64_t ids[64];
	size_t count = 0;

	for (size_t i = 0; i < gw->execs.size && gw->has_aborted; i++) {
		struct key_node *node = gw->execs.buckets[i];

		for (; node && count < ARRAY_SIZE(ids); node = node->next) {
			struct gateway_exec *exec = container_of(node, struct gateway_exec, node);

			if (exec->is_aborted)
				ids[count++] = node->number;
			exec->is_aborted = false;
		}
	}
	gw->has_aborted = count == ARRAY_SIZE(ids);
	/* The owner may end execs, or free the gateway, in this call. */
	void (*on_abort)(uint64_t, void *) = gw->config.on_abort;
	void *arg = gw->config.arg;

	for (size_t i = 0; i < count && on_abort; i++)
		on_abort(ids[i], arg);
}

void exec_end_all(struct gateway *gw)
{
	struct gateway_exec *exec;
	struct key_node *node;

	while ((node = keys_pop(&gw->execs))) {
		exec = container_of(node, struct gateway_exec, node);
		exec_strip(gw, exec);
		exec_free(exec);
	}
	while ((exec = LIST_FIRST(&gw->ended_execs))) {
		LIST_REMOVE(exec, ended_entry);
		exec_free(exec);
	}
	keys_done(&gw->execs);
}
