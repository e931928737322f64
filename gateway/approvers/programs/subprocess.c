#include "gateway/approvers/programs/subprocess.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"

bool subprocess_is_running(const struct subprocess *subprocess)
{
	return subprocess->child.pid > 0;
}

static void subprocess_event_free(struct event **event)
{
	if (*event)
		event_free(*event);
	*event = NULL;
}

void subprocess_stop(struct subprocess *subprocess)
{
	subprocess_event_free(&subprocess->read_event);
	subprocess_event_free(&subprocess->write_event);
	subprocess_event_free(&subprocess->exit_event);
	fd_close(subprocess->pidfd);
	subprocess->pidfd = -1;
	loop_timer_stop(&subprocess->deadline);
	child_end(subprocess->loop, &subprocess->child);
	free(take(subprocess->input));
}

/* Last call: the owner may run it again in @done. */
static void subprocess_end(struct subprocess *subprocess)
{
	subprocess->said[subprocess->said_len] = '\0';
	subprocess_stop(subprocess);
	subprocess->done(subprocess->arg);
}

static void subprocess_late(void *arg)
{
	struct subprocess *subprocess = arg;

	subprocess->was_late = true;
	subprocess_end(subprocess);
}

static void subprocess_exited(evutil_socket_t fd, short what, void *arg)
{
	struct subprocess *subprocess = arg;
	siginfo_t info = { 0 };

	/* WNOWAIT: child_end() waits for the process. */
	if (waitid(P_PID, (id_t)subprocess->child.pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    info.si_pid == subprocess->child.pid && info.si_code == CLD_EXITED)
		subprocess->status = info.si_status;
	subprocess_end(subprocess);
}

/* It has closed its output: its exit status is part of the result, so wait for it. */
static void subprocess_await(struct subprocess *subprocess)
{
	struct event_base *base = event_get_base(subprocess->read_event);

	subprocess_event_free(&subprocess->read_event);
	subprocess->pidfd = (int)syscall(SYS_pidfd_open, subprocess->child.pid, 0);
	if (subprocess->pidfd < 0)
		return subprocess_end(subprocess); /* the status stays -1: a failure */
	subprocess->exit_event =
		event_new(base, subprocess->pidfd, EV_READ, subprocess_exited, subprocess);
	if (!subprocess->exit_event)
		abort(); /* out of memory, as in base/mem */
	if (event_add(subprocess->exit_event, NULL) < 0)
		subprocess_end(subprocess);
}

static void subprocess_readable(evutil_socket_t fd, short what, void *arg)
{
	struct subprocess *subprocess = arg;
	char bytes[256];
	ssize_t got = read(fd, bytes, sizeof(bytes));

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0)
		return subprocess->waits_for_exit ? subprocess_await(subprocess)
						  : subprocess_end(subprocess);
	size_t room = sizeof(subprocess->said) - 1 - subprocess->said_len;
	size_t len = (size_t)got < room ? (size_t)got : room;

	memcpy(subprocess->said + subprocess->said_len, bytes, len);
	subprocess->said_len += len;
}

/* A program that does not read its input ends, which is noticed above, or is killed at its
 * timeout. */
static void subprocess_tell(struct subprocess *subprocess)
{
	size_t left = strlen(subprocess->input) - subprocess->told;

	while (left > 0) {
		ssize_t sent = send(subprocess->child.input, subprocess->input + subprocess->told,
				    left, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno == EAGAIN) {
			(void)event_add(subprocess->write_event, NULL);
			return;
		}
		if (sent < 0)
			break;
		subprocess->told += (size_t)sent;
		left -= (size_t)sent;
	}
	subprocess_event_free(&subprocess->write_event); /* free the event before its descriptor */
	child_close_input(&subprocess->child);
}

static void subprocess_writable(evutil_socket_t fd, short what, void *arg)
{
	subprocess_tell(arg);
}

int subprocess_run(struct subprocess *subprocess, struct loop *loop,
		   const struct gateway_program *program, const char *const *argv,
		   const char *input, loop_fn done, void *arg)
{
	struct err why = { 0 };
	int r = child_start(program->path, argv, program->environment, &subprocess->child, &why);

	if (r < 0) {
		log_warn("%s", why.text);
		return r;
	}
	subprocess->loop = loop;
	subprocess->input = mem_strdup(input);
	subprocess->told = subprocess->said_len = 0;
	subprocess->was_late = false;
	subprocess->status = subprocess->pidfd = -1;
	subprocess->done = done;
	subprocess->arg = arg;
	subprocess->read_event = event_new(loop_base(loop), subprocess->child.output,
					   EV_READ | EV_PERSIST, subprocess_readable, subprocess);
	subprocess->write_event = event_new(loop_base(loop), subprocess->child.input, EV_WRITE,
					    subprocess_writable, subprocess);
	if (!subprocess->read_event || !subprocess->write_event)
		abort(); /* out of memory, as in base/mem */
	if (event_add(subprocess->read_event, NULL) < 0) {
		subprocess_stop(subprocess);
		return -EIO;
	}
	loop_timer_start(loop, &subprocess->deadline,
			 subprocess->timeout_ms > 0 ? subprocess->timeout_ms : SUBPROCESS_MS,
			 subprocess_late, subprocess);
	subprocess_tell(subprocess);
	return 0;
}
