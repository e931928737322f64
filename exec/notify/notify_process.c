#include "exec/notify/notify_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/frame.h"
#include "base/loop.h"
#include "base/mem.h"
#include "exec/notify/evidence.h"
#include "exec/run/failure.h"
#include "exec/notify/inside.h"
#include "exec/notify/intercept.h"
#include "exec/run/listener.h"
#include "exec/notify/notify_frames.h"
#include "exec/notify/notify_shared.h"
#include "exec/notify/program.h"
#include "exec/notify/refused.h"
#include "exec/notify/wire_told.h"
#include "seccomp/seccomp_calls.h"

#define TURN_MAX 16 /* calls that are handled before answers get their turn */

struct notify_process {
	struct loop *loop;
	const struct notify_process_config *config;
	int socket, listener, told;
	struct event spoken, readable;
	struct inside inside;
	struct evidence evidence;
	struct intercept *intercept; /* NULL until the listener is received */
};

static struct failure *failure_of(const struct notify_process *process)
{
	return &process->config->shared->failure;
}

/* A reported denial, or a report of an unknown kind, is refused here as the filter would have done:
 * that it is reported to the gate does not allow it. */
static void on_denial(struct notify_process *process, const struct seccomp_notif *request,
		      const struct seccomp_call *call)
{
	const struct exec_evidence evidence = {
		.what = EXEC_REFUSED_CALL,
		.pid = (int)request->pid,
		.error = call->error,
		.call = call->name,
		.path = "",
	};

	failure_refused(failure_of(process), (pid_t)request->pid, "");
	evidence_tell(&process->evidence, &evidence);
	listener_refuse(process->listener, request->id, call->error);
}

static void tell(struct notify_process *process, const struct seccomp_notif *request,
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

		failure_refused(failure_of(process), (pid_t)request->pid, refused[i].path);
		evidence_tell(&process->evidence, &evidence);
	}
}

/* The call is inspected while the caller waits, and reported only if it still waits afterwards:
 * else the memory that was read may have been another process's. Memory that changes later makes
 * the evidence wrong, but no protection weaker. The report comes before the answer, so that the
 * gate gets it before the command's end. */
static void on_files(struct notify_process *process, const struct seccomp_notif *request,
		     const struct seccomp_call *call)
{
	struct refused refused[REFUSED_PATHS_MAX];
	size_t count =
		refused_calls_find(process->config->plan, &process->inside, request, call, refused);

	if (count > 0 && listener_is_waiting(process->listener, request->id))
		tell(process, request, call, refused, count);
	(void)listener_pass(
		process->listener,
		request->id); /* fails if the task is gone: then there is nothing to answer */
}

/* The wall has made the call itself, or refused it. */
static void on_address(struct notify_process *process, const struct wire_told *told,
		       const struct seccomp_call *call)
{
	struct refused refused[REFUSED_PATHS_MAX];
	size_t count = 1;

	refused[0] = (struct refused){ .what = EXEC_REFUSED_SOCKET, .error = told->error };
	memcpy(refused[0].path, told->path, sizeof(refused[0].path));
	if (told->path[0] == '\0')
		count = refused_calls_find(process->config->plan, &process->inside, &told->request,
					   call, refused);
	if (!listener_is_waiting(process->listener, told->request.id))
		return;
	tell(process, &told->request, call, refused, count);
	listener_refuse(process->listener, told->request.id, told->error);
}

/* An exit is never refused. It is inspected while the task waits; its pid was looked up before. */
static void on_end(struct notify_process *process, const struct wire_told *told, pid_t inner)
{
	const struct seccomp_notif *request = &told->request;

	if (listener_is_waiting(process->listener, request->id))
		failure_ended(failure_of(process), (pid_t)request->pid, inner,
			      (int)(uint32_t)request->data.args[0]);
	(void)listener_pass(process->listener,
			    request->id); /* fails if it was killed: then it has ended */
}

/* A task that has no pid any more is gone, or cannot be inspected. */
static void dismiss(const struct notify_process *process, const struct wire_told *told)
{
	const struct seccomp_notif *request = &told->request;
	uint64_t args[6];
	struct seccomp_call call;

	memcpy(args, request->data.args, sizeof(args));
	seccomp_look_up(request->data.nr, args, &call);
	if (call.told == SECCOMP_TOLD_END)
		(void)listener_pass(process->listener, request->id); /* fails if it has ended */
	else
		listener_refuse(process->listener, request->id, EACCES);
}

/* As the filter would have done. It is no evidence: the command has not asked for it. */
static void answer_probe(const struct notify_process *process, const struct wire_told *told)
{
	bool is_program;
	int error = notify_frames_error(told, &is_program);

	if (error != 0)
		listener_refuse(process->listener, told->request.id, error);
	else
		(void)listener_pass(process->listener, told->request.id); /* fails if it is gone */
}

static void serve(struct notify_process *process, const struct wire_told *told, pid_t inner)
{
	const struct seccomp_notif *request = &told->request;
	struct seccomp_call call;
	uint64_t args[6];
	int r;

	if (told->is_probe)
		return answer_probe(process, told);
	memcpy(args, request->data.args, sizeof(args));
	seccomp_look_up(request->data.nr, args, &call);
	if (call.told == SECCOMP_TOLD_END)
		return on_end(process, told, inner);
	r = inside_enter(&process->inside, (pid_t)request->pid, process->listener, request->id);
	if (told->error != 0 && call.told == SECCOMP_TOLD_ADDRESS && r == 0)
		on_address(process, told, &call);
	else if (told->error != 0)
		listener_refuse(process->listener, request->id, told->error);
	else if (call.told == SECCOMP_TOLD_DENIAL || call.told == SECCOMP_TOLD_ADDRESS)
		on_denial(process, request, &call);
	else if (call.told == SECCOMP_TOLD_PROGRAM && r == 0 && process->intercept)
		intercept_ask(process->intercept, process->listener, request);
	else if (call.told == SECCOMP_TOLD_PROGRAM)
		listener_refuse(process->listener, request->id, EACCES);
	else if (r == 0)
		on_files(process, request, &call);
	else
		(void)listener_pass(process->listener,
				    request->id); /* the task is gone, or there is no evidence */
}

/* The pid in our namespace of the task that the wall calls @inner: @pidfd refers to it, or to its
 * process. */
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

static void look_at(struct notify_process *process, struct wire_told *told, int pidfd)
{
	pid_t task = -1, inner = (pid_t)told->request.pid;

	/* A task that is gone needs no answer, and gets none. */
	if (task_of(pidfd, inner, &task) < 0) {
		dismiss(process, told);
		return;
	}
	told->request.pid = (uint32_t)task;
	serve(process, told, inner);
}

static void on_told(evutil_socket_t fd, short what, void *arg)
{
	struct notify_process *process = arg;
	struct wire_told told;

	for (int i = 0; i < TURN_MAX; i++) {
		auto_close int pidfd = -1;
		int r = notify_frames_read_told(process->told, &told, &pidfd);

		if (r < 0)
			event_del(&process->readable); /* no task inside is left */
		if (r <= 0)
			return;
		bool is_program;

		notify_shared_begin(process->config->shared, told.request.id,
				    notify_frames_error(&told, &is_program));
		look_at(process, &told, pidfd);
		notify_shared_end(process->config->shared);
	}
}

/* If the gate is busy, this blocks, and the command waits as well. */
static void send_frame(struct notify_process *process, const struct frame *frame)
{
	if (frame_link_send_on(process->socket, frame, NULL, 0) < 0)
		loop_stop(process->loop); /* the gate is gone */
}

static void on_refused(const struct exec_evidence *evidence, void *arg)
{
	struct frame frame;

	notify_frames_put_evidence(&frame, evidence);
	send_frame(arg, &frame);
}

static void send_words(struct notify_process *process, const char *words, size_t len)
{
	struct frame frame;

	for (size_t at = 0; at < len; at += NOTIFY_WORDS_PART) {
		size_t part = len - at < NOTIFY_WORDS_PART ? len - at : NOTIFY_WORDS_PART;

		frame_begin(&frame, NOTIFY_WORDS);
		frame_put_bytes(&frame, words + at, (uint32_t)part);
		send_frame(process, &frame);
	}
}

static void on_program(uint64_t id, uint32_t slot, uint64_t request, const struct program *program,
		       void *arg)
{
	const struct notify_program asked = {
		.id = id,
		.request = request,
		.slot = slot,
		.program = { .path = program->path,
			     .device = program->device,
			     .inode = program->inode,
			     .interpreter = program->by.path ? &program->by : NULL },
		.cwd = program->cwd,
		.argc = (uint32_t)program->argc,
	};
	struct frame frame;

	send_words(arg, program->words, program->words_len);
	notify_frames_put_program(&frame, &asked);
	send_frame(arg, &frame);
}

static int start(struct notify_process *process, const int *fds)
{
	const struct intercept_config config = {
		.loop = process->loop,
		.plan = process->config->plan,
		.inside = &process->inside,
		.evidence = &process->evidence,
		.failure = failure_of(process),
		.shared = process->config->shared,
		.fn = on_program,
		.arg = process,
	};
	int r = fd_set_nonblocking(fds[1], true);

	process->listener = fds[0];
	process->told = fds[1];
	if (process->config->judges_programs)
		process->intercept = intercept_new(&config);
	event_assign(&process->readable, loop_base(process->loop), process->told,
		     EV_READ | EV_PERSIST, on_told, process);
	event_add(&process->readable, NULL);
	return r;
}

/* Reads a frame from the gate. */
static void on_spoken(evutil_socket_t fd, short what, void *arg)
{
	struct notify_process *process = arg;
	int fds[FD_PASS_MAX];
	size_t count = 0;
	struct frame frame;
	int r = frame_link_receive_on(fd, &frame, fds, &count);

	if (r == 0 && frame.type == NOTIFY_START && count == 2 && process->listener < 0) {
		r = start(process, fds);
	} else if (r == 0 && frame.type == NOTIFY_ANSWER && count == 0 && process->intercept) {
		uint64_t id = frame_get_u64(&frame);

		intercept_answer(process->intercept, id, frame_get_u8(&frame) != 0);
	} else {
		r = -EPIPE;
	}
	if (r < 0)
		loop_stop(process->loop);
}

/* The kernel kills what it traces when it ends. */
int notify_process_run(int socket, void *arg)
{
	struct notify_process *process = mem_new(sizeof(*process));

	process->config = arg;
	process->socket = socket;
	process->listener = process->told = process->inside.root = -1;
	process->loop = loop_new();
	process->evidence = (struct evidence){ .total = &process->config->shared->refused };
	if (process->config->tells_refused)
		process->evidence.fn = on_refused;
	process->evidence.arg = process;
	event_assign(&process->spoken, loop_base(process->loop), socket, EV_READ | EV_PERSIST,
		     on_spoken, process);
	event_add(&process->spoken, NULL);
	return loop_run(process->loop) < 0;
}
