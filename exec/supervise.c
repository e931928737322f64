#include "exec/supervise.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/refusal.h"

#define SET_UP_MS                                                                                  \
	10000 /* from clone to the command's process; mounts of a slow disk or a full machine      \
		 included */
#define REAP_MS    5000 /* a killed sandbox that still holds a device call is left to the kernel */
#define NO_SANDBOX 125

struct supervise {
	struct loop *loop;
	int pidfd, control;
	char *program;
	bool is_alone, waits_for_ready, waits_for_pty, has_gone, has_started, has_ended, is_reaped;
	uint64_t early_signals; /* bit N-1: signal N came before the command was let go */
	bool has_result;        /* @result is decided; what comes later does not change it */
	struct exec_result result;
	struct event ended, readable;
	struct loop_timer deadline;
	const struct supervise_events *events;
	void *arg;
};

static void decide(struct supervise *s, enum exec_end end, int status, const char *why)
{
	if (s->has_result)
		return;
	s->has_result = true;
	s->result.end = end;
	s->result.status = status;
	(void)snprintf(s->result.why, sizeof(s->result.why), "%.*s", (int)sizeof(s->result.why) - 1,
		       why);
}

static void kill_all(struct supervise *s)
{
	/* Gone already is fine: then the descriptor is readable. The kernel kills the whole pid
	 * namespace with its init. Where there is none, init ends what descends from it when it
	 * sees us gone. */
	if (s->is_alone)
		(void)shutdown(s->control, SHUT_RDWR);
	else if (s->pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, s->pidfd, SIGKILL, NULL, 0);
}

static void fail(struct supervise *s, const char *why)
{
	decide(s, EXEC_NOT_STARTED, NO_SANDBOX, why);
	kill_all(s);
}

static int send_message(struct supervise *s, enum wire_type type, int32_t value)
{
	const struct wire_message message = { .type = type, .value = value };

	return fd_send(s->control, &message, sizeof(message), NULL, 0);
}

static void on_exec_other(struct supervise *s)
{
	auto_free char *program = text_visible_dup(s->program);
	struct err why = { 0 };

	(void)err_set(
		&why, 0,
		"%.200s: is another file than the one that was decided on; it was not executed",
		program);
	decide(s, EXEC_NOT_STARTED, 126, why.text);
}

static void on_exec_failed(struct supervise *s, int error)
{
	auto_free char *program = text_visible_dup(s->program);
	bool is_missing = error == ENOENT || error == ENOTDIR;
	struct err why = { 0 };

	if (error == ENOEXEC)
		(void)err_set(
			&why, 0,
			"%.200s: not a program, and no script with a #! line; give its interpreter",
			program);
	else if (is_missing)
		(void)err_set(&why, 0, "%.200s: not found", program);
	else
		(void)err_errno(&why, error > 0 ? error : EPROTO, "%.200s: cannot be executed",
				program);
	decide(s, EXEC_NOT_STARTED, is_missing ? 127 : 126, why.text);
}

static void maybe_go(struct supervise *s)
{
	if (s->waits_for_ready || s->waits_for_pty)
		return;
	/* It has died: then its end is told, and what it said of it may still be unread. */
	if (send_message(s, WIRE_GO, 0) < 0)
		return;
	s->has_gone = true;
	for (int i = 0; i < 64; i++)
		if (s->early_signals & (1ULL << i))
			supervise_signal(s, i + 1);
}

static void on_ready(struct supervise *s, int *fds, size_t count)
{
	if (!s->waits_for_ready || count != EXEC_EGRESS_FDS) {
		for (size_t i = 0; i < count; i++)
			fd_close(fds[i]);
		fail(s, "the sandbox's first process broke its protocol");
		return;
	}
	s->waits_for_ready = false;
	if (s->events->on_ready(fds, s->arg) != 0)
		fail(s, "the gate could not open the way out, so the command was not started");
	else
		maybe_go(s);
}

static void on_pty(struct supervise *s, int *fds, size_t count)
{
	if (!s->waits_for_pty || count != 1) {
		for (size_t i = 0; i < count; i++)
			fd_close(fds[i]);
		fail(s, "the sandbox's first process broke its protocol");
		return;
	}
	s->waits_for_pty = false;
	s->events->on_pty(fds[0], s->arg);
	maybe_go(s);
}

/* The command's program may now have to wait for a judgement, as long as that takes. */
static void on_listener(struct supervise *s, int *fds, size_t count)
{
	if (!s->has_gone || count != 2 || s->events->on_listener(fds[0], fds[1], s->arg) != 0) {
		for (size_t i = 0; i < count; i++)
			fd_close(fds[i]);
		fail(s, "the sandbox's first process broke its protocol");
		return;
	}
	loop_timer_stop(&s->deadline);
}

static void finish(void *arg)
{
	struct supervise *s = arg;

	event_del(&s->readable);
	loop_timer_stop(&s->deadline);
	s->events->on_end(&s->result, s->arg);
}

static void on_status(struct supervise *s, const struct wire_message *message)
{
	int status = message->value;

	if (WIFSIGNALED(status))
		decide(s, EXEC_SIGNALLED, WTERMSIG(status), "");
	else
		decide(s, EXEC_EXITED, WEXITSTATUS(status), "");
	s->result.usage = (struct exec_usage){
		.user_us = (int64_t)message->user_us,
		.system_us = (int64_t)message->system_us,
		.max_rss_bytes = message->rss_kib * 1024,
	};
	/* All others are dead by now, and init is about to be: no need to wait while the kernel
	 * takes its namespaces down. */
	if (!s->has_ended)
		loop_defer(s->loop, &s->deadline, finish, s);
	s->has_ended = true;
}

static void on_failed(struct supervise *s, const struct wire_message *message)
{
	struct err why = { 0 };

	(void)refusal_of_step(&why, message);
	decide(s, EXEC_NOT_STARTED, NO_SANDBOX, why.text);
}

static void on_uncovered(struct supervise *s, const struct wire_message *message)
{
	auto_free char *path = text_visible_dup(message->detail);
	struct err why = { 0 };

	(void)err_set(&why, 0,
		      "%.300s, which is protected from the command, or a directory it is in, was "
		      "replaced, renamed or removed outside the sandbox: the command was killed; "
		      "run it again",
		      path);
	decide(s, EXEC_KILLED, SIGKILL, why.text);
}

static void on_message(struct supervise *s, struct wire_message *message, int *fds, size_t count)
{
	message->detail[sizeof(message->detail) - 1] = '\0';
	if (message->type == WIRE_READY) {
		on_ready(s, fds, count);
		return;
	}
	if (message->type == WIRE_PTY) {
		on_pty(s, fds, count);
		return;
	}
	if (message->type == WIRE_LISTENER) {
		on_listener(s, fds, count);
		return;
	}
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
	switch (message->type) {
	case WIRE_STARTED:
		s->has_started = true;
		loop_timer_stop(&s->deadline);
		break;
	case WIRE_FAILED:
		on_failed(s, message);
		break;
	case WIRE_EXEC_FAILED:
		on_exec_failed(s, message->value);
		break;
	case WIRE_EXEC_OTHER:
		on_exec_other(s);
		break;
	case WIRE_STATUS:
		on_status(s, message);
		break;
	case WIRE_UNCOVERED:
		on_uncovered(s, message);
		break;
	case WIRE_STOPPED:
		s->events->on_stopped(s->arg);
		break;
	case WIRE_TIME:
		log_debug("exec: step %u after %d us", message->step, message->value);
		break;
	default:
		fail(s, "the sandbox's first process broke its protocol");
	}
}

/* All that is there. False: nothing will come any more. */
static bool read_messages(struct supervise *s)
{
	for (;;) {
		struct wire_message message;
		int fds[FD_PASS_MAX];
		size_t count = 0;
		ssize_t n = fd_recv(s->control, &message, sizeof(message), fds, &count);

		if (n == -EAGAIN)
			return true;
		if (n == -EMSGSIZE)
			fail(s, "no descriptors were left for the way out: see ulimit -n");
		if (n != (ssize_t)sizeof(message)) {
			for (size_t i = 0; i < count; i++)
				fd_close(fds[i]);
			return false;
		}
		on_message(s, &message, fds, count);
	}
}

static void on_control_readable(evutil_socket_t fd, short what, void *arg)
{
	struct supervise *s = arg;

	if (!read_messages(s))
		event_del(&s->readable); /* the end follows on the pidfd */
}

/* ECHILD: SIGCHLD is ignored, so the kernel did it. */
static void reap(struct supervise *s)
{
	siginfo_t ended = { 0 };

	(void)waitid(P_PIDFD, (id_t)s->pidfd, &ended, WEXITED | WNOHANG);
	s->is_reaped = true;
}

static void on_init_ended(evutil_socket_t fd, short what, void *arg)
{
	struct supervise *s = arg;

	reap(s);
	if (s->has_ended) {
		s->events->on_gone(s->arg);
		return;
	}
	(void)read_messages(s); /* what init said last */
	if (!s->has_started)
		decide(s, EXEC_NOT_STARTED, NO_SANDBOX, "the sandbox's first process died early");
	decide(s, EXEC_KILLED, SIGKILL, "the sandbox was killed from outside");
	s->has_ended = true;
	finish(s);
}

static void on_deadline(void *arg)
{
	fail(arg, "the sandbox was not set up in time");
}

struct supervise *supervise_new(struct loop *loop, const struct launch *launch, const char *program,
				bool has_pty, const struct supervise_events *events, void *arg)
{
	struct supervise *s = mem_new(sizeof(*s));

	s->loop = loop;
	s->pidfd = launch->pidfd;
	s->control = launch->control;
	s->program = mem_strdup(program);
	s->is_alone = launch->is_alone;
	s->waits_for_ready = launch->has_egress;
	s->waits_for_pty = has_pty;
	s->events = events;
	s->arg = arg;
	(void)fd_set_nonblocking(s->control, true); /* fails on no socket */
	event_assign(&s->ended, loop_base(loop), s->pidfd, EV_READ, on_init_ended, s);
	event_add(&s->ended, NULL);
	event_assign(&s->readable, loop_base(loop), s->control, EV_READ | EV_PERSIST,
		     on_control_readable, s);
	event_add(&s->readable, NULL);
	loop_timer_start(loop, &s->deadline, SET_UP_MS, on_deadline, s);
	maybe_go(s); /* at once where nothing is waited for: init reads it when it is ready */
	return s;
}

void supervise_free(struct supervise *s)
{
	if (!s)
		return;
	event_del(&s->ended);
	event_del(&s->readable);
	loop_timer_stop(&s->deadline);
	if (!s->is_reaped) {
		struct pollfd dead = { .fd = s->pidfd, .events = POLLIN };

		kill_all(s);
		while (poll(&dead, 1, REAP_MS) < 0 && errno == EINTR)
			;
		reap(s);
	}
	fd_close(s->pidfd);
	fd_close(s->control);
	free(s->program);
	free(s);
}

bool supervise_is_gone(const struct supervise *s)
{
	return s->is_reaped;
}

void supervise_kill(struct supervise *s, int status, const char *why)
{
	decide(s, status ? EXEC_NOT_STARTED : EXEC_KILLED, status ? status : SIGKILL, why);
	kill_all(s);
}

void supervise_signal(struct supervise *s, int signal)
{
	if (signal < 1 || signal > 64)
		return;
	/* A full queue means init has not read dozens of earlier ones; a closed one, that it is
	 * gone. */
	if (s->has_gone)
		(void)send_message(s, WIRE_SIGNAL, signal);
	else
		s->early_signals |= 1ULL << (signal - 1);
}
