#include "gateway/execs.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/mem.h"
#include "gateway/approval.h"
#include "gateway/journal.h"
#include "gateway/local.h"
#include "gateway/lookups.h"
#include "gateway/redact.h"
#include "gateway/repeats.h"
#include "gateway/turn.h"
#include "gateway/who.h"
#include "policies/policies_tools.h"

/* Listeners and the channel to pid 1, which go to the worker; what comes behind stays here. */
#define EXECS_WAY_FDS      3
#define EXECS_PROGRAMS_MAX 1024 /* different ones, of one exec */

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
	exec->outcome = outcomes_begin(&gw->outcomes, id);
	keys_add(&gw->execs, &exec->node, id, NULL);
	journal_note_exec(gw->journal, id, exec->command);
}

void execs_set_argv(struct gateway *gw, uint64_t id, const char *const *argv)
{
	struct gateway_exec *exec = execs_find(gw, id);

	if (!exec || exec->argv)
		return;
	exec->argv = mem_copy_list(argv);
	exec->asker = policy_asker_new((const char *const *)exec->argv);
}

static uint16_t execs_port_of(int fd)
{
	struct sockaddr_in name = { 0 };
	socklen_t len = sizeof(name);

	if (getsockname(fd, (struct sockaddr *)&name, &len) < 0 || name.sin_family != AF_INET)
		return 0;
	return ntohs(name.sin_port);
}

size_t execs_watch(struct gateway *gw, uint64_t id, const int *fds, size_t count)
{
	struct gateway_exec *exec = execs_find(gw, id);
	struct ucred init = { 0 };
	socklen_t len = sizeof(init);

	if (count <= EXECS_WAY_FDS)
		return count;
	/* The channel was made by pid 1 of the sandbox, and the kernel says who that is here. */
	if (!exec || exec->who || count > EXECS_WAY_FDS + 1 ||
	    getsockopt(fds[EXECS_WAY_FDS - 1], SOL_SOCKET, SO_PEERCRED, &init, &len) < 0 ||
	    init.pid <= 0) {
		for (size_t i = EXECS_WAY_FDS; i < count; i++)
			fd_close(fds[i]);
		return EXECS_WAY_FDS;
	}
	exec->ports[0] = execs_port_of(fds[0]);
	exec->ports[1] = execs_port_of(fds[1]);
	exec->who = who_new(init.pid, fds[EXECS_WAY_FDS]);
	return EXECS_WAY_FDS;
}

/* One copy of each path: a crowd is of few programs. Past the limit a program is not known. */
const char *execs_intern(struct gateway_exec *exec, const char *program)
{
	for (size_t i = 0; i < exec->program_count; i++) {
		if (strcmp(exec->programs[i], program) == 0)
			return exec->programs[i];
	}
	if (program[0] == '\0' || exec->program_count == EXECS_PROGRAMS_MAX)
		return NULL;
	exec->programs = mem_grow(exec->programs, exec->program_count + 1, sizeof(*exec->programs));
	exec->programs[exec->program_count] = mem_strdup(program);
	return exec->programs[exec->program_count++];
}

bool execs_look_up(struct waiter *waiter)
{
	const struct gateway *gw = waiter->gw;

	return (gw->grants.wants_program || gw->wants_program) && lookups_start(waiter);
}

void execs_ask_who(struct waiter *waiter)
{
	struct gateway *gw = waiter->gw;
	struct gateway_exec *exec = execs_find(gw, waiter->facts.exec);

	waiter->facts.asker = NULL;
	if (!exec || !exec->asker)
		return;
	policy_asker_set_program(exec->asker, waiter->program);
	waiter->facts.asker = exec->asker;
}

/* Nothing of it counts any more; its requests have its programs' names until they are over. */
static void execs_strip(struct gateway *gw, struct gateway_exec *exec)
{
	lookups_exec_ended(gw, exec);
	policy_asker_free(exec->asker);
	for (size_t i = 0; exec->argv && exec->argv[i]; i++)
		free(exec->argv[i]);
	free(exec->argv);
	who_free(exec->who);
	grants_forget(&gw->grants, &exec->grants);
	free(exec->command);
}

static void execs_free(struct gateway_exec *exec)
{
	for (size_t i = 0; i < exec->program_count; i++)
		free(exec->programs[i]);
	free(exec->programs);
	free(exec);
}

void execs_forget_ended(struct gateway *gw)
{
	struct gateway_exec *exec = LIST_FIRST(&gw->ended_execs);

	while (exec) {
		struct gateway_exec *next = LIST_NEXT(exec, ended_entry);

		if (!local_has_exec(gw, exec->node.number)) {
			LIST_REMOVE(exec, ended_entry);
			execs_free(exec);
		}
		exec = next;
	}
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
	lookups_exec_ended(gw, exec);
	approval_exec_ended(gw, exec);
	local_exec_ended(gw, exec);
	outcomes_end(&gw->outcomes, take(exec->outcome));
	execs_strip(gw, exec);
	LIST_INSERT_HEAD(&gw->ended_execs, exec, ended_entry);
	turn_schedule(gw);
	repeats_exec_ended(gw, id);
	journal_stamp(gw->journal, &record);
	(void)turn_write_down(gw, &record);
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
	struct gateway_exec *exec;
	struct key_node *node;

	while ((node = keys_pop(&gw->execs))) {
		exec = container_of(node, struct gateway_exec, node);
		execs_strip(gw, exec);
		execs_free(exec);
	}
	while ((exec = LIST_FIRST(&gw->ended_execs))) {
		LIST_REMOVE(exec, ended_entry);
		execs_free(exec);
	}
	keys_done(&gw->execs);
}
