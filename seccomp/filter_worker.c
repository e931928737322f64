#include "seccomp/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

/* The proxy worker's filter: an event loop over TCP sockets, a resolver and malloc need these calls
 * and no others. A worker that an attacker controls can neither open a file, start a program or a
 * thread, make memory executable, listen, nor touch another process. All other calls fail with
 * EPERM. */

#define ALLOW(call, reason)                                                                        \
	{                                                                                          \
		.name = #call, .why = (reason)                                                     \
	}
#define ALLOW_IF(call, reason, ...)                                                                \
	{                                                                                          \
		.name = #call, .args = { __VA_ARGS__ }, .why = (reason)                            \
	}

static const char loop[] = "the event loop";
static const char bytes[] = "the bytes between client and upstream";
static const char calls[] = "accepting and dialling";
static const char memory[] = "malloc";
static const char ending[] = "exiting, also by abort()";

static const struct filter_rule rules[] = {
	ALLOW(epoll_wait, loop),
	ALLOW(epoll_pwait, loop),
	ALLOW(epoll_pwait2, loop),
	ALLOW(epoll_ctl, loop),
	ALLOW(epoll_create1, loop),
	ALLOW(eventfd2, loop),
	ALLOW(timerfd_create, loop),
	ALLOW(timerfd_settime, loop),
	ALLOW(poll, loop),
	ALLOW(ppoll, loop),
	ALLOW(clock_gettime, loop),
	ALLOW(clock_getres, loop),
	ALLOW(gettimeofday, loop),
	ALLOW(time, loop),
	ALLOW(restart_syscall, loop),

	ALLOW(read, bytes),
	ALLOW(readv, bytes),
	ALLOW(write, bytes),
	ALLOW(writev, bytes),
	ALLOW(recvfrom, bytes),
	ALLOW(recvmsg, bytes),
	ALLOW(recvmmsg, bytes),
	ALLOW(sendto, bytes),
	ALLOW(sendmsg, bytes),
	ALLOW(sendmmsg, bytes),
	ALLOW(close, bytes),
	ALLOW(shutdown, bytes),
	ALLOW_IF(ioctl, bytes, FILTER_ARG(1, FILTER_IN, FIONREAD, FIONBIO)),
	ALLOW_IF(fcntl, bytes,
		 FILTER_ARG(1, FILTER_IN, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GET_SEALS)),
	ALLOW(lseek, "reads the size of a changed policy image"),
	ALLOW(fstat, "stdio looks at a descriptor before its first write"),

	ALLOW(accept4, calls),
	ALLOW(connect, calls),
	ALLOW_IF(socket, calls, FILTER_ARG(0, FILTER_IN, AF_INET, AF_INET6),
		 FILTER_ARG(1, FILTER_IN, SOCK_STREAM, SOCK_STREAM | SOCK_CLOEXEC,
			    SOCK_STREAM | SOCK_NONBLOCK, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			    SOCK_DGRAM, SOCK_DGRAM | SOCK_CLOEXEC, SOCK_DGRAM | SOCK_NONBLOCK,
			    SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK)),
	ALLOW_IF(socketpair, "bytes that are encrypted for an upstream proxy",
		 FILTER_ARG(0, FILTER_IN, AF_UNIX),
		 FILTER_ARG(1, FILTER_IN, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK)),
	ALLOW(getsockopt, calls),
	ALLOW(setsockopt, calls),
	ALLOW(getsockname, calls),
	ALLOW(getpeername, calls),

	ALLOW(brk, memory),
	ALLOW(munmap, memory),
	ALLOW(mremap, memory),
	ALLOW(madvise, memory),
	ALLOW_IF(mmap, memory, FILTER_ARG(2, FILTER_LACKS, PROT_EXEC)),
	ALLOW_IF(mprotect, memory, FILTER_ARG(2, FILTER_LACKS, PROT_EXEC)),
	ALLOW(futex, "malloc and stdio locks (never contended)"),
	ALLOW(getrandom, "query numbers, hash seeds"),
	ALLOW(sysinfo, "qsort() asks for the size of the memory"),

	ALLOW(rt_sigaction, ending),
	ALLOW(rt_sigprocmask, ending),
	ALLOW(rt_sigreturn, ending),
	ALLOW(getpid, ending),
	ALLOW(gettid, ending),
	ALLOW_IF(tgkill, ending, FILTER_ARG(2, FILTER_IN, SIGABRT)),
	ALLOW(exit, ending),
	ALLOW(exit_group, ending),

	{ .name = "sched_yield",
	  .why = "the spin lock of the sanitizer's allocator",
	  .sanitize_only = 1 },
	{ .name = "sigaltstack",
	  .why = "the sanitizer restores the alternate stack at exit",
	  .sanitize_only = 1 },
	{ .name = "prctl",
	  .args = { FILTER_ARG(0, FILTER_IN, PR_GET_DUMPABLE) },
	  .why = "the leak checker asks whether it can run (proxy/confine.c)",
	  .sanitize_only = 1 },
};

const struct filter filter_worker = {
	.name = "worker",
	.default_error = EPERM,
	.rules = rules,
	.count = sizeof(rules) / sizeof(rules[0]),
};
