#include "tests/hostile/hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The host's Unix sockets that are there later than the sandbox, and the own ones, which must work.
 */

#define RACE_SECONDS 3
#define STACK        65536

static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };

static struct sockaddr_un named(const char *path)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };

	if (strlen(path) < sizeof(name.sun_path))
		memcpy(name.sun_path, path, strlen(path));
	return name;
}

static void send_all_ways(int fd, const struct sockaddr_un *name, const char *what)
{
	struct iovec part = { .iov_base = (void *)(uintptr_t) "x", .iov_len = 1 };
	struct mmsghdr message = { .msg_hdr = { .msg_name = (void *)(uintptr_t)name,
						.msg_namelen = sizeof(*name),
						.msg_iov = &part,
						.msg_iovlen = 1 } };

	hostile_try(what,
		    sendto(fd, "x", 1, MSG_NOSIGNAL, (const struct sockaddr *)name, sizeof(*name)));
	hostile_try(what, sendmsg(fd, &message.msg_hdr, MSG_NOSIGNAL));
	hostile_try(what,
		    sendmsg(fd, &message.msg_hdr, MSG_NOSIGNAL | MSG_DONTROUTE | MSG_CONFIRM));
	hostile_try(what, sendmmsg(fd, &message, 1, MSG_NOSIGNAL));
}

static void try_name(const char *path)
{
	struct sockaddr_un name = named(path);
	int pair[2];

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		int fd = socket(AF_UNIX, types[i] | SOCK_NONBLOCK, 0);

		hostile_try(path, connect(fd, (const struct sockaddr *)&name, sizeof(name)));
		hostile_try(path, connect(fd, (const struct sockaddr *)&name,
					  (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
						      strlen(path))));
		if (types[i] == SOCK_DGRAM)
			send_all_ways(fd, &name, path);
		close(fd);
	}
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0) {
		send_all_ways(pair[0], &name, "a pair's end");
		hostile_try("a pair's end",
			    connect(pair[1], (const struct sockaddr *)&name, sizeof(name)));
		close(pair[0]);
		close(pair[1]);
	}
}

static void wait_for(const char *path)
{
	for (int i = 0; i < 3000 && access(path, F_OK) < 0; i++)
		usleep(10000);
	if (access(path, F_OK) < 0)
		hostile_skip("%s did not come", path);
}

/* By every name that a path can have. */
static void try_all_names(const char *path)
{
	char other[200];
	const char *base = strrchr(path, '/') + 1;
	int cwd = open(".", O_RDONLY | O_DIRECTORY);

	try_name(path);
	(void)snprintf(other, sizeof(other), "/proc/self/root%s", path);
	try_name(other);
	(void)unlink("by-link");
	if (symlink(path, "by-link") == 0)
		try_name("by-link");
	(void)unlink("hard");
	if (link(path, "hard") == 0)
		try_name("hard");
	(void)snprintf(other, sizeof(other), "%.*s", (int)(base - path - 1), path);
	int folder = open(other, O_PATH | O_DIRECTORY);

	if (folder >= 0 && fchdir(folder) == 0) {
		try_name(base);
		(void)snprintf(other, sizeof(other), "/proc/self/cwd/%s", base);
		try_name(other);
		(void)snprintf(other, sizeof(other), "/proc/self/fd/%d/%s", folder, base);
		try_name(other);
		(void)snprintf(other, sizeof(other), "/proc/%d/cwd/%s", (int)getpid(), base);
		try_name(other);
	}
	int socket_itself = open(path, O_PATH);

	if (socket_itself >= 0) {
		(void)snprintf(other, sizeof(other), "/proc/self/fd/%d", socket_itself);
		try_name(other);
	}
	if (fchdir(cwd) < 0)
		abort();
	close(cwd);
	close(folder);
	close(socket_itself);
}

/* O1. @args: sockets of the host, which are there once "go" is. Says so by "ready". */
static void late(char **args)
{
	close(open("ready", O_CREAT | O_WRONLY, 0644));
	wait_for("go");
	for (; args[0] != NULL; args++)
		try_all_names(args[0]);
}

/* @args: a socket to have for others, until "done" is there. */
static void serve(char **args)
{
	struct sockaddr_un name = named(args[0]);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	(void)umask(0);
	if (bind(fd, (const struct sockaddr *)&name, sizeof(name)) < 0 || listen(fd, 5) < 0)
		hostile_escaped("cannot listen");
	close(open("serving", O_CREAT | O_WRONLY, 0644));
	for (int i = 0; i < 3000 && access("done", F_OK) < 0; i++) {
		if (accept(fd, NULL, NULL) >= 0)
			hostile_escaped("somebody of another sandbox came");
		usleep(10000);
	}
	hostile_held();
}

/* What a racer changes while a call waits: memory that both have, the descriptor, the file. */
static struct happy_eyeballs {
	struct sockaddr_un own, theirs;
	struct sockaddr_un name; /* as one of them, or of another family */
	struct sockaddr_in inet;
	int fd, unix_fd, inet_fd;
	int what;
	volatile bool ends;
} * race;

enum { FLIP_PATH, FLIP_FAMILY, FLIP_FD, FLIP_LINK, FLIPS };

static int flip(void *arg)
{
	(void)arg;
	for (unsigned int i = 0; !race->ends; i++) {
		bool is_odd = i % 2 != 0;

		switch (race->what) {
		case FLIP_PATH:
			race->name = is_odd ? race->theirs : race->own;
			break;
		case FLIP_FAMILY:
			race->name = race->theirs;
			if (is_odd)
				memcpy(&race->name, &race->inet, sizeof(race->inet));
			break;
		case FLIP_FD:
			(void)dup2(is_odd ? race->unix_fd : race->inet_fd, race->fd);
			break;
		default:
			(void)unlink("flipped");
			if (symlink(is_odd ? race->theirs.sun_path : race->own.sun_path,
				    "flipped") < 0)
				continue; /* not removed: the turn is lost */
			break;
		}
	}
	return 0;
}

static bool is_theirs(int fd)
{
	struct sockaddr_un peer = { 0 };
	socklen_t len = sizeof(peer);

	return getpeername(fd, (struct sockaddr *)&peer, &len) == 0 && peer.sun_family == AF_UNIX &&
	       strcmp(peer.sun_path, race->theirs.sun_path) == 0;
}

static void try_once(int type)
{
	struct iovec part = { .iov_base = (void *)(uintptr_t) "x", .iov_len = 1 };
	struct msghdr message = { .msg_name = &race->name,
				  .msg_namelen = sizeof(race->name),
				  .msg_iov = &part,
				  .msg_iovlen = 1 };
	int fd = socket(AF_UNIX, type | SOCK_NONBLOCK, 0);

	race->unix_fd = fd;
	if (race->what == FLIP_FD) {
		/* A datagram kind that may send to nobody of the host, whichever it is. */
		(void)connect(race->fd, (struct sockaddr *)&race->name, sizeof(race->name));
	} else {
		(void)connect(fd, (struct sockaddr *)&race->name, sizeof(race->name));
		if (type == SOCK_DGRAM) {
			(void)sendmsg(fd, &message, MSG_NOSIGNAL);
			(void)sendto(fd, "x", 1, MSG_NOSIGNAL, (struct sockaddr *)&race->name,
				     sizeof(race->name));
		}
	}
	if (is_theirs(fd))
		hostile_escaped("a socket of the host was reached, by way %d", race->what);
	hostile_held();
	close(fd);
}

static int listen_at(const char *path, int type)
{
	struct sockaddr_un name = named(path);
	int fd = socket(AF_UNIX, type | SOCK_NONBLOCK, 0);

	(void)unlink(path);
	if (bind(fd, (const struct sockaddr *)&name, sizeof(name)) < 0 ||
	    (type != SOCK_DGRAM && listen(fd, 64) < 0))
		hostile_escaped("cannot bind %s", path);
	return fd;
}

static void run_race(int type, const char *theirs)
{
	static char stack[STACK];
	int own = listen_at("own", type);

	race->own = named("own");
	race->theirs = named(theirs);
	race->inet = (struct sockaddr_in){ .sin_family = AF_INET,
					   .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
					   .sin_port = htons(9) };
	for (race->what = 0; race->what < FLIPS; race->what++) {
		time_t until = time(NULL) + RACE_SECONDS;

		race->ends = false;
		race->name = race->what == FLIP_LINK ? named("flipped") : race->theirs;
		race->inet_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		race->fd = fcntl(race->inet_fd, F_DUPFD, 100);
		race->unix_fd = race->inet_fd;
		int pid = clone(flip, stack + STACK, CLONE_VM | CLONE_FILES | SIGCHLD, NULL);

		if (pid < 0)
			hostile_escaped("cannot race");
		while (time(NULL) < until) {
			try_once(type);
			while (accept(own, NULL, NULL) >= 0)
				; /* ends with the case */
			close_range(race->fd + 1, ~0U, 0);
		}
		race->ends = true;
		(void)waitpid(pid, NULL, 0);
		close(race->inet_fd);
		close(race->fd);
	}
	close(own);
}

/* K10. @args: a stream and a datagram socket of the host, which are there once "go" is. */
static void racing(char **args)
{
	race = mmap(NULL, sizeof(*race), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	close(open("ready", O_CREAT | O_WRONLY, 0644));
	wait_for("go");
	run_race(SOCK_STREAM, args[0]);
	run_race(SOCK_DGRAM, args[1]);
}

static void must_work(const char *what, bool works)
{
	if (!works)
		hostile_escaped("%s does not work: %s", what, strerror(errno));
	hostile_held();
}

static void connects(int type, const char *bound, const char *by)
{
	struct sockaddr_un name = named(by);
	int server = listen_at(bound, type), client = socket(AF_UNIX, type, 0);
	struct iovec part = { .iov_base = (void *)(uintptr_t) "words", .iov_len = 5 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	char text[16];

	must_work(by, connect(client, (struct sockaddr *)&name, sizeof(name)) == 0);
	int end = type == SOCK_DGRAM ? server : accept(server, NULL, NULL);

	must_work(by, end >= 0 && sendmsg(client, &message, 0) == 5);
	must_work(by, recv(end, text, sizeof(text), 0) == 5);
	if (type == SOCK_DGRAM) {
		message.msg_name = &name;
		message.msg_namelen = sizeof(name);
		must_work(by, sendmsg(client, &message, 0) == 5);
		must_work(by, recv(end, text, sizeof(text), 0) == 5);
		must_work(by, sendto(client, "other", 5, 0, (struct sockaddr *)&name,
				     sizeof(name)) == 5);
		must_work(by, recv(end, text, sizeof(text), 0) == 5);
	}
	close(end);
	close(server);
	close(client);
	errno = 0;
	client = socket(AF_UNIX, type, 0);
	must_work("what nobody has any more",
		  connect(client, (struct sockaddr *)&name, sizeof(name)) < 0 &&
			  errno == ECONNREFUSED);
	close(client);
}

static void passes_descriptors(void)
{
	int pair[2], ends[2], got = -1;
	struct iovec part = { .iov_base = (void *)(uintptr_t) "x", .iov_len = 1 };
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, text[8];
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	must_work("a pair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pipe(ends) == 0);
	*head = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
				  .cmsg_type = SCM_RIGHTS,
				  .cmsg_len = CMSG_LEN(sizeof(int)) };
	memcpy(CMSG_DATA(head), &ends[0], sizeof(int));
	must_work("sending a descriptor", sendmsg(pair[0], &message, 0) == 1);
	part.iov_base = text;
	must_work("receiving one", recvmsg(pair[1], &message, 0) == 1);
	memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
	must_work("its pipe", write(ends[1], "through", 7) == 7 && read(got, text, 7) == 7);
	/* An invalid number passes nothing, least of all the wall's own. */
	part.iov_base = (void *)(uintptr_t) "x";
	for (int fd = 200; fd < 260; fd++) {
		memcpy(CMSG_DATA(head), &fd, sizeof(int));
		must_work("an invalid descriptor",
			  sendmsg(pair[0], &message, 0) < 0 && errno == EBADF);
	}
}

/* Control data that ends inside a header: nothing that the wall adds may continue it. */
static void unfinished_control(void)
{
	int pair[2], on = 1;
	struct iovec part = { .iov_base = (void *)(uintptr_t) "x", .iov_len = 1 };
	struct ucred who = { 0 };

	must_work("a pair",
		  socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0 &&
			  setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0);
	for (size_t more = 0; more < sizeof(struct cmsghdr); more++) {
		_Alignas(16) char control[256];
		char text;
		struct cmsghdr head = { .cmsg_level = SOL_SOCKET,
					.cmsg_type = SCM_RIGHTS,
					.cmsg_len = CMSG_LEN(0) };
		struct iovec room = { .iov_base = &text, .iov_len = 1 };
		struct msghdr message = { .msg_iov = &part,
					  .msg_iovlen = 1,
					  .msg_control = control,
					  .msg_controllen = sizeof(head) + more };
		struct msghdr got = { .msg_iov = &room, .msg_iovlen = 1, .msg_control = control };

		memset(control, 1, sizeof(control));
		memcpy(control, &head, sizeof(head));
		head.cmsg_len = CMSG_LEN(sizeof(int)) + 16;
		memcpy(control + sizeof(head), &head, more);
		must_work("unfinished control data", sendmsg(pair[0], &message, 0) == 1);
		got.msg_controllen = sizeof(control);
		must_work("receiving it", recvmsg(pair[1], &got, 0) == 1);
		struct cmsghdr *first = CMSG_FIRSTHDR(&got);

		must_work("its sender", first && first->cmsg_type == SCM_CREDENTIALS &&
						!CMSG_NXTHDR(&got, first));
		memcpy(&who, CMSG_DATA(first), sizeof(who));
		must_work("the right sender", who.pid == getpid() && who.uid == getuid());
	}
	close(pair[0]);
	close(pair[1]);
}

static void on_alarm(int signal)
{
	(void)signal;
}

/* A call that waits for room in a listener's queue does not delay other calls, and a signal
 * interrupts it. */
static void waits_alone(void)
{
	const struct itimerval soon = { .it_value = { .tv_usec = 100000 } };
	const struct timeval limit = { .tv_usec = 100000 };
	struct sockaddr_un name = named("full");
	struct sigaction action = { .sa_handler = on_alarm };
	int status = -1, server = socket(AF_UNIX, SOCK_STREAM, 0);
	int clients[4];

	(void)unlink("full");
	for (size_t i = 0; i < 4; i++)
		clients[i] = socket(AF_UNIX, SOCK_STREAM | (i == 1 ? SOCK_NONBLOCK : 0), 0);
	must_work("a listener", bind(server, (struct sockaddr *)&name, sizeof(name)) == 0 &&
					listen(server, 0) == 0);
	must_work("the first", connect(clients[0], (struct sockaddr *)&name, sizeof(name)) == 0);
	must_work("one that does not wait",
		  connect(clients[1], (struct sockaddr *)&name, sizeof(name)) < 0 &&
			  errno == EAGAIN);
	must_work("a limit",
		  setsockopt(clients[2], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0 &&
			  connect(clients[2], (struct sockaddr *)&name, sizeof(name)) < 0 &&
			  errno == EAGAIN);
	(void)sigaction(SIGALRM, &action, NULL);
	(void)setitimer(ITIMER_REAL, &soon, NULL);
	must_work("a signal", connect(clients[3], (struct sockaddr *)&name, sizeof(name)) < 0 &&
				      errno == EINTR);
	int pid = fork();

	if (pid == 0)
		_exit(connect(clients[3], (struct sockaddr *)&name, sizeof(name)) == 0 ? 0 : 1);
	connects(SOCK_STREAM, "another", "another");
	must_work("room", accept(server, NULL, NULL) >= 0);
	must_work("who waited", waitpid(pid, &status, 0) == pid && status == 0);
}

/* More than the buffer holds, to a reader that reads later. */
static void sends_much(void)
{
	static char bytes[1 << 20];
	struct iovec parts[3] = { { bytes, sizeof(bytes) },
				  { bytes, sizeof(bytes) },
				  { bytes, sizeof(bytes) } };
	const struct msghdr message = { .msg_iov = parts, .msg_iovlen = 3 };
	int pair[2];
	size_t left = 3 * sizeof(bytes);

	must_work("a pair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	int pid = fork();

	if (pid == 0)
		_exit(sendmsg(pair[0], &message, 0) == (ssize_t)(3 * sizeof(bytes)) ? 0 : 1);
	while (left > 0) {
		ssize_t n = recv(pair[1], bytes, sizeof(bytes), 0);

		must_work("reading much", n > 0);
		left -= (size_t)n;
	}
	int status = -1;

	must_work("sending much", waitpid(pid, &status, 0) == pid && status == 0);
	/* To nobody: the signal comes, as it would from the kernel. */
	close(pair[1]);
	pid = fork();
	if (pid == 0) {
		(void)sendmsg(pair[0], &message, 0);
		_exit(0);
	}
	must_work("SIGPIPE", waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
				     WTERMSIG(status) == SIGPIPE);
	must_work("EPIPE", sendmsg(pair[0], &message, MSG_NOSIGNAL) < 0 && errno == EPIPE);
}

#define OWN_MANY 100 /* more than are remembered */

/* Many at once, each twice; and one that only another process holds. */
static void many_own(void)
{
	static int servers[OWN_MANY];
	char path[64];

	for (int round = 0; round < 2; round++)
		for (int i = 0; i < OWN_MANY; i++) {
			struct sockaddr_un name;
			int client = socket(AF_UNIX, SOCK_STREAM, 0);

			(void)snprintf(path, sizeof(path), "/tmp/many-%d", i);
			name = named(path);
			if (round == 0)
				servers[i] = listen_at(path, SOCK_STREAM);
			must_work(path,
				  connect(client, (struct sockaddr *)&name, sizeof(name)) == 0);
			close(client);
		}
	/* Known, and then another one has the name. */
	for (int i = 0; i < OWN_MANY; i++) {
		(void)snprintf(path, sizeof(path), "/tmp/many-%d", i);
		close(servers[i]);
		if (i % 10 == 0)
			connects(SOCK_STREAM, path, path);
	}
	int ready[2], pid;

	must_work("a pipe", pipe(ready) == 0);
	pid = fork();
	if (pid == 0) {
		int server = listen_at("/tmp/held", SOCK_STREAM);

		struct pollfd come = { .fd = server, .events = POLLIN };

		_exit(write(ready[1], "x", 1) == 1 && poll(&come, 1, 60000) == 1 ? 0 : 1);
	}
	struct sockaddr_un name = named("/tmp/held");
	int client = socket(AF_UNIX, SOCK_STREAM, 0), status = -1;

	must_work("who holds it", read(ready[0], path, 1) == 1);
	must_work("what another holds",
		  connect(client, (struct sockaddr *)&name, sizeof(name)) == 0);
	must_work("its end", waitpid(pid, &status, 0) == pid && status == 0);
	close(client);
	close(ready[0]);
	close(ready[1]);
}

static void own(char **args)
{
	char path[64];
	int here = open(".", O_RDONLY | O_DIRECTORY);

	(void)args;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/by-fd", here);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		connects(types[i], "relative", "relative");
		connects(types[i], "by-fd", path);
		connects(types[i], "/tmp/own", "/tmp/own");
		(void)unlink("turned");
		must_work("a link", symlink("/tmp/own", "turned") == 0);
		connects(types[i], "/tmp/own", "turned");
	}
	many_own();
	passes_descriptors();
	unfinished_control();
	waits_alone();
	sends_much();
}

#define FLIGHT_MAX   600 /* the user's other programs may have 1024 */
#define FLIGHT_PAIRS 32
#define FLIGHT_EACH  253

/* As many descriptors as go into messages that nobody reads; returns how many that are. */
static unsigned int put_in_flight(int null)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(FLIGHT_EACH * sizeof(int))];
	} control = { 0 };
	struct iovec part = { .iov_base = (void *)(uintptr_t) "x", .iov_len = 1 };
	struct mmsghdr message = { .msg_hdr = { .msg_iov = &part, .msg_iovlen = 1 } };
	unsigned int count = 0;

	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	for (int i = 0; i < FLIGHT_PAIRS; i++) {
		int pair[2], each = i % 2 == 0 ? FLIGHT_EACH : 1;

		must_work("a pair", socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
		control.head.cmsg_len = CMSG_LEN((size_t)each * sizeof(int));
		message.msg_hdr.msg_control = control.bytes;
		message.msg_hdr.msg_controllen = CMSG_SPACE((size_t)each * sizeof(int));
		for (int n = 0; n < each; n++)
			((int *)(void *)CMSG_DATA(&control.head))[n] = null;
		for (int n = 0; n < 40; n++) {
			ssize_t sent = n % 2 == 0 ? sendmsg(pair[0], &message.msg_hdr, 0)
						  : sendmmsg(pair[0], &message, 1, 0);

			count += sent > 0 ? (unsigned int)each : 0;
		}
	}
	return count;
}

/* Counted for the user, of whom other programs then cannot pass any. What is there stays until
 * stdin ends. */
static void in_flight(char **args)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct rlimit most;
	unsigned int count;
	char byte;

	(void)args;
	must_work("a limit", getrlimit(RLIMIT_NOFILE, &most) == 0);
	most.rlim_cur = most.rlim_max;
	must_work("the highest limit", setrlimit(RLIMIT_NOFILE, &most) == 0);
	count = put_in_flight(null);
	if (count > FLIGHT_MAX)
		hostile_escaped("%u descriptors are in flight", count);
	must_work("some in flight", count > 0);
	hostile_held();
	(void)printf("%u in flight\n", count);
	(void)fflush(stdout);
	if (read(STDIN_FILENO, &byte, 1) < 0)
		abort();
}

const struct hostile_case hostile_unix[] = {
	{ "unix-late", late }, { "unix-serve", serve },    { "unix-race", racing },
	{ "unix-own", own },   { "in-flight", in_flight }, { NULL, NULL },
};
