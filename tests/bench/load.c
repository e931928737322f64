/* Load for the benchmark of the data plane, one thread and one epoll for each role:
 *
 *   load serve ADDRESS BYTES          a web server whose answers have BYTES; prints its port
 *   load relay|splice ADDRESS PORT    copies bytes to ADDRESS:PORT, the least that a proxy does,
 * with recv and send, or within the kernel; prints its port on 127.0.0.1 load ask KIND PORT HOST
 * CONNECTIONS COUNT PID COUNT operations at 127.0.0.1:PORT, CONNECTIONS at once; prints rate,
 * median and 99th percentile in us, and the CPU time in us per operation of PID and all that it has
 * started. PORT may be ADDRESS:PORT: the server itself, without a proxy load idle PORT HOST
 * CONNECTIONS PID CONNECTIONS tunnels that do nothing; prints by how many bytes each PID and all
 * that it has started have grown
 *
 * KIND: kept (requests in absolute-form on kept connections), new (a connection for each), connect
 * (CONNECT and its answer), socks (the same by SOCKS5), ping (a byte each way in a tunnel), down,
 * up, both (a MiB in a tunnel; both: each connection has one more for the other direction). HOST
 * may have a port, and must have one for socks. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BUFFER       65536
#define EVENTS_MAX   256
#define HEAD_MAX     4096
#define DEADLINE_MS  60000 /* without any event */
#define CONNECTS_MAX 16384
#define MIB          1048576U

static int ring;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void watch(int fd, uint32_t events, void *arg)
{
	struct epoll_event event = { .events = events, .data.ptr = arg };

	if (epoll_ctl(ring, EPOLL_CTL_ADD, fd, &event) < 0)
		die("epoll_ctl");
}

static int tcp(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0)
		die("socket");
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static struct sockaddr_in place(const char *address, const char *port)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
	};

	if (inet_pton(AF_INET, address, &at.sin_addr) != 1)
		die(address);
	return at;
}

static int dial(const struct sockaddr_in *at)
{
	int fd = tcp();

	if (connect(fd, (const struct sockaddr *)at, sizeof(*at)) < 0 && errno != EINPROGRESS)
		die("connect");
	return fd;
}

static int listen_at(const char *address)
{
	struct sockaddr_in at = place(address, "0");
	socklen_t len = sizeof(at);
	int fd = tcp();

	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 4096) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &len) < 0)
		die("listen");
	printf("%d\n", ntohs(at.sin_port));
	(void)fflush(stdout);
	return fd;
}

static int wait_events(struct epoll_event *events, int limit_ms)
{
	int count = epoll_wait(ring, events, EVENTS_MAX, limit_ms);

	if (count < 0 && errno != EINTR)
		die("epoll_wait");
	return count;
}

/* One end of a connection of the server or the relay; @peer: the relay's other end. */
struct end {
	int fd;
	struct end *peer;
	char head[HEAD_MAX];
	size_t used;
	const char *left; /* of the answer that is being sent */
	size_t left_len;
	size_t expected; /* bytes of an upload that are to come */
	int pipe[2];     /* of the relay that splices */
};

static char *answer; /* the head and the body */
static size_t answer_len;
static char mib[MIB];
static bool is_spliced;

static struct end *end_new(int fd)
{
	struct end *end = calloc(1, sizeof(*end));

	if (!end)
		die("calloc");
	end->fd = fd;
	return end;
}

/* Sends what is left; the rest waits for room. */
static bool push(struct end *end)
{
	while (end->left_len > 0) {
		ssize_t sent = send(end->fd, end->left, end->left_len, MSG_NOSIGNAL);

		if (sent < 0)
			return errno == EAGAIN;
		end->left += sent;
		end->left_len -= (size_t)sent;
	}
	return true;
}

/* The rest of an upload, which a byte answers. */
static bool serve_upload(struct end *end)
{
	static char waste[MIB];

	while (end->expected > 0) {
		ssize_t got = recv(end->fd, waste, end->expected, 0);

		if (got <= 0)
			return got < 0 && errno == EAGAIN;
		end->expected -= (size_t)got;
	}
	return send(end->fd, ".", 1, MSG_NOSIGNAL) == 1;
}

/* What is no HTTP begins with the letter of its kind: an echo, a MiB down, a MiB up. */
static bool serve_letter(struct end *end, size_t got)
{
	end->used = 0;
	if (end->head[0] == '!')
		return send(end->fd, end->head, got, MSG_NOSIGNAL) == (ssize_t)got;
	if (end->head[0] == 'u') {
		end->expected = MIB - got;
		return serve_upload(end);
	}
	end->left = mib;
	end->left_len = sizeof(mib);
	return push(end);
}

/* A request has come whole if its head ends; there is no body. */
static bool serve_end(struct end *end)
{
	ssize_t got;

	if (!push(end))
		return false;
	if (end->expected > 0)
		return serve_upload(end);
	got = recv(end->fd, end->head + end->used, sizeof(end->head) - end->used - 1, 0);
	if (got < 0)
		return errno == EAGAIN;
	if (got == 0)
		return false;
	end->used += (size_t)got;
	end->head[end->used] = '\0';
	if (strchr("!du", end->head[0]))
		return serve_letter(end, (size_t)got);
	if (!strstr(end->head, "\r\n\r\n"))
		return end->used < sizeof(end->head) - 1;
	bool is_last = strstr(end->head, "onnection: close") != NULL;

	end->used = 0;
	end->left = answer;
	end->left_len = answer_len;
	if (!push(end))
		return false;
	if (is_last)
		(void)shutdown(end->fd, SHUT_WR);
	return true;
}

static bool relay_end(struct end *end)
{
	static char bytes[BUFFER];
	ssize_t got = recv(end->fd, bytes, sizeof(bytes), 0);

	if (got < 0)
		return errno == EAGAIN;
	if (got == 0)
		return false;
	for (ssize_t sent = 0, n; sent < got; sent += n) {
		n = send(end->peer->fd, bytes + sent, (size_t)(got - sent), MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN)
			return false;
		n = n < 0 ? 0 : n;
	}
	return true;
}

/* Level-triggered: what does not fit is moved with the next event. */
static bool splice_end(struct end *end)
{
	const unsigned int how = SPLICE_F_MOVE | SPLICE_F_NONBLOCK;
	ssize_t got = splice(end->fd, NULL, end->pipe[1], NULL, MIB, how);

	if (got == 0)
		return false;
	if (got < 0 && errno != EAGAIN)
		return false;
	for (ssize_t sent; (sent = splice(end->pipe[0], NULL, end->peer->fd, NULL, MIB, how)) != 0;)
		if (sent < 0 && errno == EAGAIN) {
			int left = 0;

			if (ioctl(end->pipe[0], FIONREAD, &left) < 0 || left == 0)
				break;
		} else if (sent < 0) {
			return false;
		}
	return true;
}

/* The memory stays: the process ends soon. */
static void end_close(struct end *end)
{
	for (struct end *one = end; one; one = one == end ? end->peer : NULL) {
		(void)close(one->fd);
		one->fd = -1;
		for (int i = 0; is_spliced && i < 2; i++)
			(void)close(one->pipe[i]);
	}
}

static bool move(struct end *end)
{
	return !end->peer ? serve_end(end) : is_spliced ? splice_end(end) : relay_end(end);
}

static void open_pipe(struct end *end)
{
	if (is_spliced && pipe2(end->pipe, O_NONBLOCK | O_CLOEXEC) < 0)
		die("pipe2");
	if (is_spliced)
		(void)fcntl(end->pipe[0], F_SETPIPE_SZ, MIB);
}

static void work(int listener, const struct sockaddr_in *target)
{
	struct epoll_event events[EVENTS_MAX];

	watch(listener, EPOLLIN, NULL);
	for (;;) {
		int count = wait_events(events, -1);

		for (int i = 0; i < count; i++) {
			struct end *end = events[i].data.ptr;

			if (end && end->fd >= 0 && !move(end))
				end_close(end);
			int fd = end ? -1
				     : accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

			if (fd < 0)
				continue;
			int one = 1;

			(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
			end = end_new(fd);
			if (target) {
				end->peer = end_new(dial(target));
				end->peer->peer = end;
				open_pipe(end);
				open_pipe(end->peer);
				watch(end->peer->fd, EPOLLIN, end->peer);
			}
			/* The server sends on when there is room again. */
			watch(fd, target ? EPOLLIN : EPOLLIN | EPOLLOUT | EPOLLET, end);
		}
	}
}

/* The client. */
enum kind { KEPT, NEW, CONNECT, SOCKS, PING, DOWN, UP, BOTH };

struct asker {
	int fd;
	bool is_dialling;
	bool is_open; /* ping and streams: the tunnel; socks: the method is agreed */
	bool is_up;   /* of `both` */
	bool is_last; /* of `idle`: it has done its operation */
	size_t unsent;
	char head[HEAD_MAX];
	size_t used, total; /* of the answer; 0: its head has not come whole */
	uint64_t begun_ns;
};

static const char *const kinds[] = {
	"kept", "new", "connect", "socks", "ping", "down", "up", "both"
};
static enum kind kind;
static bool is_direct; /* there is no proxy */
static bool is_idle;
static struct sockaddr_in proxy;
static char request[512], tunnel[256];
static uint8_t by_socks[300];
static size_t by_socks_len;
static uint32_t *took_us;
static size_t wanted, begun, done;

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void say_bytes(const struct asker *asker, const void *bytes, size_t len)
{
	if (send(asker->fd, bytes, len, MSG_NOSIGNAL) != (ssize_t)len)
		die("send");
}

static void say(const struct asker *asker, const char *text)
{
	say_bytes(asker, text, strlen(text));
}

/* RFC 1928: a request by name. */
static void make_socks(const char *host)
{
	const char *colon = strrchr(host, ':');
	size_t len = colon ? (size_t)(colon - host) : 0;
	unsigned long port = colon ? strtoul(colon + 1, NULL, 10) : 0;

	if (len == 0 || len > 255)
		return;
	memcpy(by_socks, "\x05\x01\x00\x03", 4);
	by_socks[4] = (uint8_t)len;
	memcpy(by_socks + 5, host, len);
	by_socks[5 + len] = (uint8_t)(port >> 8);
	by_socks[6 + len] = (uint8_t)port;
	by_socks_len = 7 + len;
}

static bool is_tunnelled(void)
{
	return kind >= PING;
}

/* Sends what there is room for. */
static void upload(struct asker *asker)
{
	while (asker->unsent > 0) {
		ssize_t sent = send(asker->fd, mib, asker->unsent, MSG_NOSIGNAL);

		if (sent < 0 && errno != EAGAIN)
			die("send");
		if (sent < 0)
			return;
		asker->unsent -= (size_t)sent;
	}
}

/* In a tunnel. */
static void begin_inside(struct asker *asker)
{
	if (kind == PING)
		return say(asker, "!");
	if (kind == UP || asker->is_up) {
		asker->total = 1;
		asker->unsent = MIB; /* each begins with the letter */
		return upload(asker);
	}
	asker->total = MIB;
	say(asker, "d");
}

/* Begins an operation, on a new connection if there is none; nothing if all have begun. */
static void begin(struct asker *asker)
{
	if (asker->is_last || (begun == wanted && (!is_tunnelled() || asker->is_open)))
		return;
	if (asker->is_open || !is_tunnelled())
		begun++;
	asker->used = asker->total = 0;
	asker->begun_ns = now_ns();
	if (asker->fd < 0) {
		asker->fd = dial(&proxy);
		asker->is_dialling = true;
		watch(asker->fd, EPOLLIN | EPOLLOUT | EPOLLET, asker);
	} else if (is_tunnelled()) {
		begin_inside(asker);
	} else {
		say(asker, request);
	}
}

static void finish(struct asker *asker)
{
	took_us[done++] = (uint32_t)((now_ns() - asker->begun_ns) / 1000);
	if (kind == NEW || kind == CONNECT || kind == SOCKS) {
		(void)close(asker->fd);
		asker->fd = -1;
		asker->is_open = false;
	}
	asker->is_last = is_idle;
	begin(asker);
}

/* The same for SOCKS5, of which two answers come. */
static size_t measure_socks(struct asker *asker)
{
	const uint8_t *said = (const uint8_t *)asker->head;

	if (asker->used >= 2 && !asker->is_open) {
		asker->is_open = true;
		say_bytes(asker, by_socks, by_socks_len);
	}
	if (asker->used < 7)
		return 0;
	if (said[3] != 0)
		die("SOCKS5");
	return 2 + (said[5] == 1 ? 10U : said[5] == 4 ? 22U : 7U + said[6]);
}

/* The length of the whole answer, once its head has come. */
static size_t measure(const struct asker *asker)
{
	const char *end = strstr(asker->head, "\r\n\r\n");
	const char *length = strcasestr(asker->head, "content-length:");

	if (!end)
		return 0;
	if (!strstr(asker->head, " 200 "))
		die(asker->head);
	return (size_t)(end + 4 - asker->head) + (length ? strtoul(length + 15, NULL, 10) : 0);
}

/* Takes what has come; true: the answer is whole. */
static bool take(struct asker *asker)
{
	static char waste[BUFFER];
	bool is_head = asker->total == 0;
	ssize_t got = recv(asker->fd, is_head ? asker->head + asker->used : waste,
			   is_head ? sizeof(asker->head) - asker->used - 1 : sizeof(waste), 0);

	if (got == 0)
		errno = ECONNRESET;
	if (got == 0 || (got < 0 && errno != EAGAIN))
		die("recv");
	if (got < 0)
		return false;
	asker->used += (size_t)got;
	if (kind == PING && asker->is_open)
		return true;
	if (is_head) {
		asker->head[asker->used] = '\0';
		asker->total = kind == SOCKS ? measure_socks(asker) : measure(asker);
	}
	return asker->total > 0 && asker->used >= asker->total ? true : take(asker);
}

static void on_event(struct asker *asker, uint32_t events)
{
	/* An event may come late, for bytes that were taken before it: it has no EPOLLIN. */
	bool is_connected = asker->is_dialling;

	asker->is_dialling = false;
	if (is_connected && kind == SOCKS) {
		say_bytes(asker, "\x05\x01\x00", 3);
	} else if (is_connected && is_tunnelled() && is_direct) {
		asker->is_open = true;
		begin(asker);
	} else if (is_connected) {
		say(asker, kind == CONNECT || is_tunnelled() ? tunnel : request);
	} else {
		upload(asker);
		if ((events & EPOLLIN) == 0 || !take(asker))
			return;
		if (!is_tunnelled() || asker->is_open)
			return finish(asker);
		asker->is_open = true;
		begin(asker);
	}
}

/* A file of /proc; "": the process has ended. */
static void look(const char *pid, const char *name, char *ret, size_t size)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, ret, size - 1);

	ret[got > 0 ? got : 0] = '\0';
	if (fd >= 0)
		(void)close(fd);
}

/* The CPU time of a process, with its threads, its children, and those that have ended. */
static uint64_t cpu_ns(const char *pid)
{
	uint64_t tick_ns = 1000000000U / (uint64_t)sysconf(_SC_CLK_TCK), sum = 0;
	char text[4096], name[64];

	look(pid, "stat", text, sizeof(text));
	char *at = strrchr(text, ')');

	for (int field = 3; at && field <= 17; field++) {
		at = strchr(at + 1, ' ');
		if (at && field >= 14)
			sum += strtoull(at, NULL, 10) * tick_ns;
	}
	(void)snprintf(name, sizeof(name), "task/%s/children", pid);
	look(pid, name, text, sizeof(text));
	for (char *next = text; (at = strsep(&next, " "));)
		sum += at[0] ? cpu_ns(at) : 0;
	return sum;
}

/* The memory that only they have, and their share of the rest. */
static uint64_t memory(const char *pid)
{
	char text[4096], name[64];

	look(pid, "smaps_rollup", text, sizeof(text));
	const char *at = strstr(text, "\nPss:");
	uint64_t sum = at ? strtoull(at + 5, NULL, 10) * 1024 : 0;

	(void)snprintf(name, sizeof(name), "task/%s/children", pid);
	look(pid, name, text, sizeof(text));
	for (char *next = text, *child; (child = strsep(&next, " "));)
		sum += child[0] ? memory(child) : 0;
	return sum;
}

static int compare(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

static void aim(const char *port, const char *host)
{
	const char *colon = strchr(port, ':');
	char address[64];

	is_direct = colon != NULL;
	(void)snprintf(address, sizeof(address), "%.*s", colon ? (int)(colon - port) : 9,
		       colon ? port : "127.0.0.1");
	proxy = place(address, colon ? colon + 1 : port);
	(void)snprintf(request, sizeof(request),
		       "GET http://%s/x HTTP/1.1\r\nHost: %s\r\n%sUser-Agent: load\r\n\r\n", host,
		       host, kind == NEW ? "Connection: close\r\n" : "");
	(void)snprintf(tunnel, sizeof(tunnel), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", host,
		       host);
	make_socks(host);
	memset(mib, 'u', sizeof(mib));
}

/* Until @count operations are done. */
static void perform(struct asker *askers, size_t count)
{
	struct epoll_event events[EVENTS_MAX];

	for (size_t i = 0; i < count; i++) {
		askers[i].fd = -1;
		askers[i].is_up = kind == BOTH && i % 2 == 1;
		begin(&askers[i]);
	}
	while (done < wanted) {
		int ready = wait_events(events, DEADLINE_MS);

		if (ready == 0) {
			errno = ETIMEDOUT;
			die("wait");
		}
		for (int i = 0; i < ready; i++)
			on_event(events[i].data.ptr, events[i].events);
	}
}

static void ask(char **argv, const char *pid)
{
	size_t count = strtoul(argv[3], NULL, 10);

	wanted = strtoul(argv[4], NULL, 10);
	took_us = calloc(wanted, sizeof(*took_us));
	for (kind = KEPT; kind <= BOTH && strcmp(kinds[kind], argv[0]) != 0; kind++)
		;
	count *= kind == BOTH ? 2 : 1;
	struct asker *askers = calloc(count, sizeof(*askers));

	if (kind > BOTH || count == 0 || count > CONNECTS_MAX || wanted == 0 || !askers || !took_us)
		die("arguments");
	aim(argv[1], argv[2]);
	uint64_t cpu = cpu_ns(pid), start = now_ns();

	perform(askers, count);
	double seconds = (double)(now_ns() - start) / 1e9;

	cpu = cpu_ns(pid) - cpu;
	qsort(took_us, done, sizeof(*took_us), compare);
	printf("%.0f %u %u %.1f\n", (double)done / seconds, took_us[done / 2],
	       took_us[done * 99 / 100], (double)cpu / 1000 / (double)done);
}

/* Each tunnel echoes one byte, and then nothing. */
static void idle(char **argv)
{
	wanted = strtoul(argv[2], NULL, 10);
	struct asker *askers = calloc(wanted, sizeof(*askers));

	took_us = calloc(wanted, sizeof(*took_us));
	kind = PING;
	is_idle = true;
	if (wanted == 0 || wanted > CONNECTS_MAX || !askers || !took_us)
		die("arguments");
	aim(argv[0], argv[1]);
	uint64_t before = memory(argv[3]);

	perform(askers, wanted);
	(void)sleep(2); /* for buffers to be given back */
	printf("%.0f\n", ((double)memory(argv[3]) - (double)before) / (double)wanted);
}

int main(int argc, char **argv)
{
	ring = epoll_create1(EPOLL_CLOEXEC);
	if (ring < 0)
		die("epoll_create1");
	if (argc == 4 && strcmp(argv[1], "serve") == 0) {
		size_t bytes = strtoul(argv[3], NULL, 10);

		answer = calloc(1, bytes + 128);
		if (!answer)
			die("calloc");
		int head = snprintf(answer, 128, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n",
				    bytes);

		answer_len = (size_t)head + bytes;
		work(listen_at(argv[2]), NULL);
	} else if (argc == 4 && (strcmp(argv[1], "relay") == 0 || strcmp(argv[1], "splice") == 0)) {
		struct sockaddr_in target = place(argv[2], argv[3]);

		is_spliced = strcmp(argv[1], "splice") == 0;
		work(listen_at("127.0.0.1"), &target);
	} else if (argc == 8 && strcmp(argv[1], "ask") == 0) {
		ask(argv + 2, argv[7]);
		return 0;
	} else if (argc == 6 && strcmp(argv[1], "idle") == 0) {
		idle(argv + 2);
		return 0;
	}
	(void)fprintf(stderr, "usage: see the head of load.c\n");
	return 2;
}
