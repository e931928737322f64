#include "exec/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "exec/evidence.h"
#include "exec/inside.h"
#include "exec/intercept.h"
#include "exec/listener.h"
#include "exec/plan.h"
#include "exec/refused.h"
#include "exec/wire.h"
#include "exec/wire_told.h"
#include "seccomp/seccomp_calls.h"

#define TURN_MAX 64 /* calls served before others get their turn */

struct notify {
	struct loop *loop;
	struct plan *plan;
	exec_program_fn on_program;
	void *arg;
	int listener, told;
	struct event readable;
	struct inside inside;
	struct evidence evidence;
	struct intercept *intercept; /* once the listener is there */
};

uint32_t notify_wishes(const struct exec_plan_config *config)
{
	uint32_t wishes = 0;

	if (config->on_refused && !config->tells_programs)
		wishes |= WIRE_TELL_REFUSED | (config->tells_reads ? WIRE_TELL_READS : 0);
	if (config->on_program)
		wishes |= WIRE_TELL_PROGRAMS;
	return wishes;
}

struct notify *notify_new(struct loop *loop, struct plan *plan,
			  const struct exec_plan_config *config, void *arg)
{
	struct notify *notify = mem_new(sizeof(*notify));

	notify->loop = loop;
	notify->plan = plan;
	notify->on_program = config->on_program;
	notify->arg = arg;
	notify->listener = -1;
	notify->told = -1;
	notify->inside.root = -1;
	notify->evidence.fn = config->on_refused;
	notify->evidence.arg = arg;
	return notify;
}

/* Whatever is told of a denial, and whatever is told of that nobody knows, is refused here as the
 * filter would have: that the gate looks at it allows nothing. */
static void on_denial(struct notify *notify, const struct seccomp_notif *request,
		      const struct seccomp_call *call)
{
	const struct exec_evidence evidence = {
		.what = EXEC_REFUSED_CALL,
		.pid = (int)request->pid,
		.error = call->error,
		.call = call->name,
		.path = "",
	};

	listener_refuse(notify->listener, request->id, call->error);
	evidence_tell(&notify->evidence, &evidence);
}

static void tell(struct notify *notify, const struct seccomp_notif *request,
		 const struct seccomp_call *call, const struct refused *refused, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct exec_evidence evidence = {
			.what = refused[i].what,
			.pid = (int)request->pid,
			.error = refused[i].error,
			.call = call->name,
			.path = refused[i].path,
		};

		evidence_tell(&notify->evidence, &evidence);
	}
}

/* Looked at while the caller waits, told only if it still did afterwards: else its memory may have
 * been somebody else's. Memory that changes later makes evidence wrong, never a wall weaker. */
static void on_files(struct notify *notify, const struct seccomp_notif *request,
		     const struct seccomp_call *call)
{
	struct refused refused[REFUSED_PATHS_MAX];
	size_t count = refused_calls_find(notify->plan, &notify->inside, request, call, refused);

	if (listener_pass(notify->listener, request->id) == 0)
		tell(notify, request, call, refused, count);
}

/* The wall has made the call, or refused to. */
static void on_address(struct notify *notify, const struct wire_told *told,
		       const struct seccomp_call *call)
{
	struct refused refused[REFUSED_PATHS_MAX];
	size_t count = 1;

	refused[0] = (struct refused){ .what = EXEC_REFUSED_SOCKET, .error = told->error };
	memcpy(refused[0].path, told->path, sizeof(refused[0].path));
	if (told->path[0] == '\0')
		count = refused_calls_find(notify->plan, &notify->inside, &told->request, call,
					   refused);
	if (!listener_is_waiting(notify->listener, told->request.id))
		return;
	listener_refuse(notify->listener, told->request.id, told->error);
	tell(notify, &told->request, call, refused, count);
}

/* What is opened first is kept for all: so it has to be of a task that was still there, or another
 * process may have had its number. */
static int enter(struct notify *notify, const struct seccomp_notif *request)
{
	bool is_first = notify->inside.root < 0;
	int r = inside_enter(&notify->inside, (pid_t)request->pid);

	if (r == 0 && is_first && !listener_is_waiting(notify->listener, request->id)) {
		inside_leave(&notify->inside);
		r = -ESRCH;
	}
	return r;
}

static void serve(struct notify *notify, const struct wire_told *told)
{
	const struct seccomp_notif *request = &told->request;
	struct seccomp_call call;
	uint64_t args[6];
	int r = enter(notify, request);

	memcpy(args, request->data.args, sizeof(args));
	seccomp_look_up(request->data.nr, args, &call);
	if (told->error != 0 && call.told == SECCOMP_TOLD_ADDRESS && r == 0)
		on_address(notify, told, &call);
	else if (told->error != 0)
		listener_refuse(notify->listener, request->id, told->error);
	else if (call.told == SECCOMP_TOLD_DENIAL || call.told == SECCOMP_TOLD_ADDRESS)
		on_denial(notify, request, &call);
	else if (call.told == SECCOMP_TOLD_PROGRAM && r == 0 && notify->intercept)
		intercept_ask(notify->intercept, notify->listener, request);
	else if (call.told == SECCOMP_TOLD_PROGRAM)
		listener_refuse(notify->listener, request->id, EACCES);
	else if (r == 0)
		on_files(notify, request, &call);
	else
		(void)listener_pass(notify->listener, request->id); /* gone, or without evidence */
}

/* The number out here of whom the wall calls @inner: @pidfd is its, or its process's. */
static int task_of(int pidfd, pid_t inner, pid_t *ret)
{
	char path[64], text[512];

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	text[n < 0 ? 0 : n] = '\0';
	const char *at = strstr(text, "\nPid:\t");
	pid_t pid = at ? (pid_t)strtol(at + 6, NULL, 10) : -1;

	if (pid <= 0)
		return -ESRCH;
	*ret = inside_number(pid, "\nNSpid:") == inner ? pid : inside_thread(pid, inner);
	return *ret < 0 ? -ESRCH : 0;
}

/* 1: there is one; 0: not now; -errno: none will come. */
static int read_told(int from, struct wire_told *ret)
{
	size_t head = offsetof(struct wire_told, path), count = 0;
	int fds[FD_PASS_MAX];
	ssize_t n = fd_recv(from, ret, sizeof(*ret), fds, &count);
	auto_close int pidfd = count > 0 ? fds[0] : -1;
	pid_t task = -1;

	for (size_t i = 1; i < count; i++)
		fd_close(fds[i]);
	if (n < 0)
		return n == -EAGAIN || n == -EINTR ? 0 : (int)n;
	if ((size_t)n <= head || ((const char *)ret)[n - 1] != '\0' || count != 1)
		return -EPROTO;
	/* Who is gone needs no answer, and has none. */
	ret->request.pid = task_of(pidfd, (pid_t)ret->request.pid, &task) < 0 ? 0 : (uint32_t)task;
	return 1;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct notify *notify = arg;
	struct wire_told told;

	for (int i = 0; i < TURN_MAX; i++) {
		int r = read_told(notify->told, &told);

		if (r < 0)
			event_del(&notify->readable); /* nobody is left */
		if (r <= 0)
			return;
		if (told.request.pid != 0)
			serve(notify, &told);
		else
			listener_refuse(notify->listener, told.request.id, EACCES);
	}
}

/* Here, and not earlier: by now the gate has forked what must not inherit a signal handler. */
void notify_start(struct notify *notify, int listener, int told)
{
	const struct intercept_config config = {
		.loop = notify->loop,
		.plan = notify->plan,
		.inside = &notify->inside,
		.evidence = &notify->evidence,
		.fn = notify->on_program,
		.arg = notify->arg,
	};

	notify->listener = listener;
	notify->told = told;
	(void)fd_set_nonblocking(told, true); /* fails on no socket */
	if (notify->on_program)
		notify->intercept = intercept_new(&config);
	event_assign(&notify->readable, loop_base(notify->loop), told, EV_READ | EV_PERSIST,
		     on_readable, notify);
	event_add(&notify->readable, NULL);
}

int notify_answer(struct notify *notify, uint64_t id, bool is_allowed)
{
	return notify->intercept ? intercept_answer(notify->intercept, id, is_allowed) : -ENOENT;
}

uint64_t notify_count(const struct notify *notify)
{
	return notify->evidence.count;
}

void notify_free(struct notify *notify)
{
	if (!notify)
		return;
	if (notify->listener >= 0)
		event_del(&notify->readable);
	intercept_free(notify->intercept);
	fd_close(notify->listener);
	fd_close(notify->told);
	inside_leave(&notify->inside);
	evidence_done(&notify->evidence);
	plan_free(notify->plan);
	free(notify);
}
