#include "exec/init/serve.h"

#include "exec/init/init.h"
#include "exec/init/added.h"
#include "exec/init/kin.h"
#include "exec/init/memory.h"
#include "exec/init/sys.h"

#include <errno.h>
#include <linux/ptrace.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <sys/wait.h>

enum { POLL_SIGNALS, POLL_CONTROL, POLL_INNER, POLL_MOUNTS, POLL_FOLDERS, POLLS };

struct serve {
	struct init *init;
	struct pollfd polls[POLLS];
};

/* A process may make init its tracer (PTRACE_TRACEME). Every stop is then reported here, and would
 * end the sandbox early if it were taken for an exit. The process is detached, with the signal it
 * was about to get. A stop from which init cannot detach it is a job-control stop. */
static void on_stop(const struct init *init, long pid, int status)
{
	int signal = WSTOPSIG(status);
	/* The SIGTRAP after the first execve under TRACEME is for the tracer, not for the
	 * program. */
	int deliver = signal == SIGTRAP || (status >> 16) != 0 ? 0 : signal;
	struct wire_message message = { .type = WIRE_STOPPED, .value = signal };

	if (sys(ptrace, PTRACE_DETACH, pid, 0, deliver) == 0)
		return;
	if (pid == init->command)
		(void)init_send(&message, NULL, 0); /* if the gate is gone, poll() notices */
}

/* The kernel does not report that a file system is full, so it is checked once a second, and at the
 * end. */
static void look_at_fresh(struct init *init)
{
	for (char **mount = init->plan.lists[WIRE_MOUNTS]; *mount; mount++) {
		struct statfs fs;
		char what = (*mount)[0];

		if ((what == WIRE_FRESH || what == WIRE_FRESH_TMP) &&
		    sys(statfs, *mount + 1, &fs) == 0 && fs.f_blocks > 0 &&
		    (fs.f_bfree == 0 || fs.f_ffree == 0))
			init->is_full = true;
	}
}

static uint64_t microseconds(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000 + (uint64_t)time->tv_usec;
}

/* Adds up all processes that were waited for, and those that they had waited for: by now, all. */
static void note_usage(struct wire_message *message)
{
	struct rusage usage;

	if (sys(getrusage, RUSAGE_CHILDREN, &usage) < 0)
		return;
	message->user_us = microseconds(&usage.ru_utime);
	message->system_us = microseconds(&usage.ru_stime);
	message->rss_kib = (uint64_t)usage.ru_maxrss;
}

/* The end of the command ends all of its processes: they are killed before the end is reported, so
 * that nothing still runs after the report. A process becomes init's child when its parent has
 * ended, so if no child is left, no process is. */
static _Noreturn void end_all(const struct init *init, struct wire_message *message)
{
	int status;
	long pid = sys(wait4, -1, &status, WNOHANG | __WALL, NULL);

	if (init->plan.head->flags & WIRE_UNCONFINED) {
		kin_end();
		pid = -ECHILD;
	}
	while (pid >= 0 || pid == -EINTR) {
		(void)sys(kill, -1, SIGKILL);
		pid = sys(wait4, -1, &status, __WALL, NULL);
	}
	if (message) {
		message->is_full = init->is_full;
		note_usage(message);
		(void)init_send(message, NULL, 0);
	}
	sys_exit(message ? 0 : 1);
}

/* A process outside replaced a covered path, and the command may reach what is there now:
 * everything is killed, so that nothing it has read leaves the sandbox. */
static void check_covers(struct init *init)
{
	struct wire_message message = { .type = WIRE_UNCOVERED };
	const char *lost = watch_find_lost(&init->plan);

	if (!lost) {
		lost = watch_find_made(&init->watch, &init->plan);
		message.value = 1;
	}
	if (!lost)
		return;
	(void)sys(kill, -1, SIGKILL);
	for (size_t i = 0; i < sizeof(message.detail) - 1 && lost[i]; i++)
		message.detail[i] = lost[i];
	end_all(init, &message);
}

static void check_memory(const struct init *init, struct memory *memory)
{
	struct wire_message message = { .type = WIRE_MEMORY };

	if (!memory_is_over(memory, &init->plan.head->limits, init->plan.lists[WIRE_MOUNTS]))
		return;
	(void)sys(kill, -1, SIGKILL);
	end_all(init, &message);
}

static void bury(struct init *init)
{
	struct wire_message message = { .type = WIRE_STATUS };
	int status;
	long pid;

	while ((pid = sys(wait4, -1, &status, WNOHANG | WUNTRACED | __WALL, NULL)) > 0) {
		if (WIFSTOPPED(status)) {
			on_stop(init, pid, status);
		} else if (pid == init->command) {
			message.value = status;
			look_at_fresh(init);
			end_all(init, &message);
		} else {
			added_ended(init, pid, status);
		}
	}
}

static void on_control(struct init *init)
{
	struct wire_message message;
	int fds[INIT_FDS_MAX], count = 0;
	long n = init_receive(&message, fds, &count);

	if (n == -EAGAIN || n == -EINTR)
		return;
	if (n == 0 && message.type == WIRE_INTO && added_start(init, &message, fds, count) == 0)
		return;
	if (n < 0 || message.type != WIRE_SIGNAL || count != 0)
		end_all(init, NULL); /* the gate is gone, or it broke the protocol */
	long command = added_command(init, message.into);

	if (message.value > 0 && message.value <= 64 && command > 0)
		(void)sys(kill, -command, message.value);
}

/* A UDP socket at a port of this loopback that the kernel chooses. */
static long open_udp(void)
{
	const struct sockaddr_in name = { .sin_family = AF_INET,
					  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	long fd = sys(socket, AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	long r = fd < 0 ? fd : sys(bind, fd, &name, sizeof(name));

	if (r < 0 && fd >= 0)
		(void)sys(close, fd);
	return r < 0 ? r : fd;
}

static long open_socket(uint8_t request)
{
	switch (request) {
	case 4:
	case 6:
		return sys(socket, request == 4 ? AF_INET : AF_INET6,
			   SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	case WIRE_INNER_UDP:
		return open_udp();
	default:
		return -EINVAL;
	}
}

/* One that stays open here, so that a worker that comes later gets it, too. -1: there is none;
 * NULL: the request is for a new one. */
static const int *kept_socket(const struct init *init, uint8_t request)
{
	switch (request) {
	case WIRE_INNER_CAPTURED:
		return &init->datagrams.listener;
	case WIRE_INNER_RAW4:
		return &init->datagrams.raw4;
	case WIRE_INNER_RAW6:
		return &init->datagrams.raw6;
	default:
		return request & WIRE_INNER_RENEW ? &init->door : NULL;
	}
}

/* Sends one new socket of this namespace, or the listener in it. The proxy worker asks for it, and
 * it parses untrusted bytes: it gets sockets that can reach only the command's own servers, and
 * nothing else. */
static void answer(const struct init *init, uint8_t request)
{
	bool is_renewal = request & WIRE_INNER_RENEW;
	const int *kept = kept_socket(init, request);
	long fd = kept ? *kept : open_socket(request);
	uint8_t byte = fd >= 0 || is_renewal ? request : 0;
	struct iovec part = { .iov_base = &byte, .iov_len = 1 };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd >= 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		*(int *)(void *)CMSG_DATA(&control.head) = (int)fd;
	}
	(void)sys(sendmsg, init->inner, &message, MSG_NOSIGNAL | MSG_DONTWAIT); /* see on_inner() */
	if (fd >= 0 && !kept)
		(void)sys(close, fd);
}

/* A request is read only if its answer can be sent: so a worker that does not read its answers
 * delays itself, and not init. */
static void on_inner(struct serve *serve)
{
	struct pollfd *entry = &serve->polls[POLL_INNER];
	uint8_t byte = 0;

	if (entry->revents & (POLLHUP | POLLERR)) {
		entry->fd = -1;
		return;
	}
	if (entry->events == POLLIN) {
		struct pollfd room = { .fd = entry->fd, .events = POLLOUT };
		struct timespec now = { 0 };

		if (sys(ppoll, &room, 1, &now, NULL, SYS_SIGSET_BYTES) != 1 ||
		    !(room.revents & POLLOUT)) {
			entry->events = POLLOUT;
			return;
		}
	}
	entry->events = POLLIN;
	long n = sys(recvfrom, entry->fd, &byte, 1, MSG_DONTWAIT, NULL, NULL);

	if (n == 1)
		answer(serve->init, byte);
	else if (n == 0)
		entry->fd = -1;
}

static int close_between(int first, int last)
{
	return first <= last ? (int)sys(close_range, first, last, 0) : 0;
}

/* Closes all descriptors that the loop does not need: else init would hold the command's pipes
 * open, and their readers would not see the end. The pty stays open, so that its master sees the
 * end when all processes are gone, and not whenever no process has it open. */
static int close_rest(struct init *init, int *signals)
{
	struct datagrams *datagrams = &init->datagrams;
	int *const kept[] = { &init->inner,         &init->door,      signals,         &init->pty,
			      &datagrams->listener, &datagrams->raw4, &datagrams->raw6 };
	int next = WIRE_CONTROL_FD + 1;
	int r = close_between(0, WIRE_CONTROL_FD - 1);

	/* Copies them far above the descriptors in use, each higher than the one before; then
	 * closes everything in between. */
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]) && r == 0; i++) {
		if (*kept[i] >= 0)
			r = *kept[i] = (int)sys(fcntl, *kept[i], F_DUPFD_CLOEXEC, INIT_SAFE_FD);
		r = r < 0 ? r : 0;
	}
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]) && r == 0; i++)
		if (*kept[i] >= 0) {
			r = close_between(next, *kept[i] - 1);
			next = *kept[i] + 1;
		}
	if (r == 0)
		r = close_between(next, WATCH_FD - 1); /* copies of a watch do not work */
	return r < 0 ? r : (int)sys(close_range, init->watch.end, ~0U, 0);
}

/* Bytes that remain wake us again, after the cause has been checked. */
static void drain(const struct pollfd *entry)
{
	uint8_t drained[4096];

	if (entry->revents)
		(void)sys(read, entry->fd, drained, sizeof(drained));
}

_Noreturn void serve_run(struct init *init)
{
	/* SIGCHLD: a child has ended; SIGIO: a folder with covers has changed. */
	const uint64_t told = 1ULL << (SIGCHLD - 1) | 1ULL << (SIGIO - 1);
	int signals = (int)sys(signalfd4, -1, &told, SYS_SIGSET_BYTES, O_NONBLOCK | O_CLOEXEC);

	if (signals < 0 || close_rest(init, &signals) < 0 || added_reserve() < 0)
		end_all(init, NULL); /* no descriptor is free: the gate notices the end */
	watch_hurry(&init->watch);

	struct memory memory;

	memory_begin(&memory, &init->plan.head->limits);

	struct serve serve = {
		.init = init,
		.polls = { [POLL_SIGNALS] = { .fd = signals, .events = POLLIN },
			   [POLL_CONTROL] = { .fd = WIRE_CONTROL_FD, .events = POLLIN },
			   [POLL_INNER] = { .fd = init->inner, .events = POLLIN },
			   [POLL_MOUNTS] = { .fd = init->watch.mounts, .events = POLLPRI },
			   [POLL_FOLDERS] = { .fd = init->watch.inotify, .events = POLLIN } },
	};

	for (;;) {
		int64_t wait_ms = memory_wait_ms(&memory, 1000);
		struct timespec wait = { .tv_sec = wait_ms / 1000,
					 .tv_nsec = wait_ms % 1000 * 1000000 };
		bool is_timed = !init->is_full || memory.proc >= 0;
		long n = sys(ppoll, serve.polls, POLLS, is_timed ? &wait : NULL, NULL,
			     SYS_SIGSET_BYTES);

		if (n < 0 && n != -EINTR)
			end_all(init, NULL);
		if (n == 0)
			look_at_fresh(init);
		check_memory(init, &memory);
		drain(&serve.polls[POLL_FOLDERS]);
		drain(&serve.polls[POLL_SIGNALS]);
		if (serve.polls[POLL_SIGNALS].revents | serve.polls[POLL_MOUNTS].revents |
		    serve.polls[POLL_FOLDERS].revents)
			check_covers(init);
		serve.polls[POLL_FOLDERS].fd =
			init->watch.inotify; /* it may have been opened just now */
		if (serve.polls[POLL_SIGNALS].revents)
			bury(init);
		if (serve.polls[POLL_CONTROL].revents)
			on_control(init);
		if (serve.polls[POLL_INNER].revents)
			on_inner(&serve);
	}
}
