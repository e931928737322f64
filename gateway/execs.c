#include "gateway/execs.h"

#include <assert.h>

#include "base/mem.h"
#include "gateway/approval.h"
#include "gateway/journal.h"
#include "gateway/redact.h"
#include "gateway/turn.h"

struct gateway_exec *execs_find(const struct gateway *gw, uint64_t id)
{
	struct key_node *node = id ? keys_find(&gw->execs, id, NULL) : NULL;

	return node ? container_of(node, struct gateway_exec, node) : NULL;
}

void execs_begin(struct gateway *gw, uint64_t id, const char *command)
{
	assert(id != 0 && !execs_find(gw, id));
	struct gateway_exec *exec = mem_new(sizeof(*exec));

	exec->command = redact_command(command);
	LIST_INIT(&exec->parties);
	LIST_INIT(&exec->grants);
	keys_add(&gw->execs, &exec->node, id, NULL);
	journal_note_exec(gw->journal, id, exec->command);
}

static void execs_free(struct gateway *gw, struct gateway_exec *exec)
{
	grants_forget(&gw->grants, &exec->grants);
	free(exec->command);
	free(exec);
}

void execs_end(struct gateway *gw, uint64_t id, int exit_status)
{
	struct gateway_exec *exec = execs_find(gw, id);
	struct sink_record record = { .event = SINK_EXEC_END,
				      .exec = id,
				      .exit_status = exit_status };

	if (!exec)
		return;
	keys_remove(&gw->execs, &exec->node);
	approval_exec_ended(gw, exec);
	execs_free(gw, exec);
	journal_stamp(gw->journal, &record);
	(void)journal_write(gw->journal, &record); /* a failure is kept, and seen at the commit */
	if (journal_commit(gw->journal) < 0)
		turn_schedule(gw); /* denies who waits */
}

void execs_tell_aborted(struct gateway *gw)
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
	/* The owner may end execs, or free the gateway, from here. */
	void (*on_abort)(uint64_t, void *) = gw->config.on_abort;
	void *arg = gw->config.arg;

	for (size_t i = 0; i < count && on_abort; i++)
		on_abort(ids[i], arg);
}

void execs_free_all(struct gateway *gw)
{
	struct key_node *node;

	while ((node = keys_pop(&gw->execs)))
		execs_free(gw, container_of(node, struct gateway_exec, node));
	keys_done(&gw->execs);
}
