#include "gateway/execs/execs.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/mem.h"
#include "gateway/audit/journal.h"
#include "gateway/audit/redact.h"
#include "gateway/execs/socket_owner.h"
#include "policies/policies_tools.h"

/* The listeners and the channel to pid 1 are sent to the worker; further descriptors stay here. */
#define EXECS_WAY_FDS      5
#define EXECS_PROGRAMS_MAX 1024 /* different programs of one exec */

struct exec_ways {
	int fds[FD_PASS_MAX];
	size_t count;
};

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

void gateway_exec_set_argv(struct gateway *gw, uint64_t id, const char *const *argv)
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
	/* Pid 1 of the sandbox made the channel, so the kernel tells its pid as seen from here. */
	if (!exec || exec->who || count > EXECS_WAY_FDS + 1 ||
	    getsockopt(fds[EXECS_WAY_FDS - 1], SOL_SOCKET, SO_PEERCRED, &init, &len) < 0 ||
	    init.pid <= 0) {
		for (size_t i = EXECS_WAY_FDS; i < count; i++)
			fd_close(fds[i]);
		return EXECS_WAY_FDS;
	}
	exec->ports[0] = execs_port_of(fds[0]);
	exec->ports[1] = execs_port_of(fds[1]);
	exec->who = socket_owner_new(init.pid, fds[EXECS_WAY_FDS]);
	return EXECS_WAY_FDS;
}

/* The copies are the same open sockets, so what waits in their queues is not lost with a worker. */
static int execs_copy(const int *fds, size_t count, int *ret)
{
	for (size_t i = 0; i < count; i++) {
		ret[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
		if (ret[i] >= 0)
			continue;
		int r = -errno;

		while (i > 0)
			fd_close(ret[--i]);
		return r;
	}
	return 0;
}

int execs_keep_ways(struct gateway *gw, uint64_t id, const int *fds, size_t count)
{
	struct gateway_exec *exec = execs_find(gw, id);

	if (!exec || exec->ways)
		return 0;
	struct exec_ways *ways = mem_new(sizeof(*ways));
	int r = execs_copy(fds, count, ways->fds);

	if (r < 0) {
		free(ways);
		return r;
	}
	ways->count = count;
	exec->ways = ways;
	return 0;
}

int execs_kept_ways(const struct gateway_exec *exec, int *ret_fds, size_t *ret_count)
{
	*ret_count = exec->ways ? exec->ways->count : 0;
	return exec->ways ? execs_copy(exec->ways->fds, exec->ways->count, ret_fds) : 0;
}

void execs_forget_ways(struct gateway_exec *exec)
{
	for (size_t i = 0; exec->ways && i < exec->ways->count; i++)
		fd_close(exec->ways->fds[i]);
	free(take(exec->ways));
}

/* One copy of each path, because many requests come from few programs. Beyond the limit, a program
 * counts as not known. */
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
