#include "gateway/approvers/programs/errand.h"

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

bool errand_is_running(const struct errand *errand)
{
	return errand->child.pid > 0;
}

static void errand_event_free(struct event **event)
{
	if (*event)
		event_free(*event);
	*event = NULL;
}

void errand_stop(struct errand *errand)
{
	errand_event_free(&errand->read_event);
	errand_event_free(&errand->write_event);
	errand_event_free(&errand->exit_event);
	fd_close(errand->pidfd);
	errand->pidfd = -1;
	loop_timer_stop(&errand->deadline);
	child_end(errand->loop, &errand->child);
	free(take(errand->input));
}

/* Last call: the owner may run it again in @done. */
static void errand_end(struct errand *errand)
{
	errand->said[errand->said_len] = '\0';
	errand_stop(errand);
	errand->done(errand->arg);
}

static void errand_late(void *arg)
{
	struct errand *errand = arg;

	errand->was_late = true;
	errand_end(errand);
}

static void errand_exited(evutil_socket_t fd, short what, void *arg)
{
	struct errand *errand = arg;
	siginfo_t info = { 0 };

	/* WNOWAIT: child_end() waits for the process. */
	if (waitid(P_PID, (id_t)errand->child.pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    info.si_pid == errand->child.pid && info.si_code == CLD_EXITED)
		errand->status = info.si_status;
	errand_end(errand);
}

/* It has closed its output: its exit status is part of the result, so wait for it. */
static void errand_await(struct errand *errand)
{
	struct event_base *base = event_get_base(errand->read_event);

	errand_event_free(&errand->read_event);
	errand->pidfd = (int)syscall(SYS_pidfd_open, errand->child.pid, 0);
	if (errand->pidfd < 0)
		return errand_end(errand); /* the status stays -1: a failure */
	errand->exit_event = event_new(base, errand->pidfd, EV_READ, errand_exited, errand);
	if (!errand->exit_event)
		abort(); /* out of memory, as in base/mem */
	if (event_add(errand->exit_event, NULL) < 0)
		errand_end(errand);
}

static void errand_readable(evutil_socket_t fd, short what, void *arg)
{
	struct errand *errand = arg;
	char bytes[256];
	ssize_t got = read(fd, bytes, sizeof(bytes));

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0)
		return errand->waits_for_exit ? errand_await(errand) : errand_end(errand);
	size_t room = sizeof(errand->said) - 1 - errand->said_len;
	size_t len = (size_t)got < room ? (size_t)got : room;

	memcpy(errand->said + errand->said_len, bytes, len);
	errand->said_len += len;
}

/* A program that does not read its input ends, which is noticed above, or is killed at its
 * timeout. */
static void errand_tell(struct errand *errand)
{
	size_t left = strlen(errand->input) - errand->told;

	while (left > 0) {
		ssize_t sent = send(errand->child.input, errand->input + errand->told, left,
				    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno == EAGAIN) {
			(void)event_add(errand->write_event, NULL);
			return;
		}
		if (sent < 0)
			break;
		errand->told += (size_t)sent;
		left -= (size_t)sent;
	}
	errand_event_free(&errand->write_event); /* free the event before its descriptor */
	child_close_input(&errand->child);
}

static void errand_writable(evutil_socket_t fd, short what, void *arg)
{
	errand_tell(arg);
}

int errand_run(struct errand *errand, struct loop *loop, const struct gateway_program *program,
	       const char *const *argv, const char *input, loop_fn done, void *arg)
{
	struct err why = { 0 };
	int r = child_start(program->path, argv, program->environment, &errand->child, &why);

	if (r < 0) {
		log_warn("%s", why.text);
		return r;
	}
	errand->loop = loop;
	errand->input = mem_strdup(input);
	errand->told = errand->said_len = 0;
	errand->was_late = false;
	errand->status = errand->pidfd = -1;
	errand->done = done;
	errand->arg = arg;
	errand->read_event = event_new(loop_base(loop), errand->child.output, EV_READ | EV_PERSIST,
				       errand_readable, errand);
	errand->write_event =
		event_new(loop_base(loop), errand->child.input, EV_WRITE, errand_writable, errand);
	if (!errand->read_event || !errand->write_event)
		abort(); /* out of memory, as in base/mem */
	if (event_add(errand->read_event, NULL) < 0) {
		errand_stop(errand);
		return -EIO;
	}
	loop_timer_start(loop, &errand->deadline,
			 errand->timeout_ms > 0 ? errand->timeout_ms : ERRAND_MS, errand_late,
			 errand);
	errand_tell(errand);
	return 0;
}
