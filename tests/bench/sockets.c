/* The cost of a call that can name a socket: run it outside, and in a sandbox.
 * usage: bench-sockets [MORE-SOCKETS], in an empty folder */
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 5000

static double took[ROUNDS];
static char bytes[65536];

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	const double *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

static void show(const char *what)
{
	qsort(took, ROUNDS, sizeof(took[0]), compare);
	printf("%-32s median %6.2f us, 90 of 100 %6.2f\n", what, took[ROUNDS / 2],
	       took[ROUNDS * 9 / 10]);
}

static int server(int type, void *name, socklen_t *len)
{
	int fd = socket(((struct sockaddr *)name)->sa_family, type, 0);

	if (bind(fd, name, *len) < 0 || (type == SOCK_STREAM && listen(fd, 128) < 0) ||
	    getsockname(fd, name, len) < 0) {
		perror("bench-sockets");
		exit(1);
	}
	return fd;
}

static void connects(const char *what, void *name, socklen_t len)
{
	int listener = server(SOCK_STREAM, name, &len);

	for (int i = 0; i < ROUNDS; i++) {
		int fd = socket(((struct sockaddr *)name)->sa_family, SOCK_STREAM, 0);
		double start = now_us();

		if (connect(fd, name, len) < 0)
			perror(what);
		took[i] = now_us() - start;
		close(accept(listener, NULL, NULL));
		close(fd);
	}
	show(what);
	close(listener);
}

static void sends(const char *what, void *name, socklen_t len)
{
	int receiver = server(SOCK_DGRAM, name, &len);
	int fd = socket(((struct sockaddr *)name)->sa_family, SOCK_DGRAM, 0);

	for (int i = 0; i < ROUNDS; i++) {
		double start = now_us();

		if (sendto(fd, bytes, 64, 0, name, len) != 64)
			perror(what);
		took[i] = now_us() - start;
		(void)!read(receiver, bytes, sizeof(bytes));
	}
	show(what);
	close(receiver);
	close(fd);
}

static void messages(const char *what, size_t size, int is_message)
{
	struct iovec part = { .iov_base = bytes, .iov_len = size };
	const struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		exit(1);
	for (int i = 0; i < ROUNDS; i++) {
		double start = now_us();
		ssize_t n =
			is_message ? sendmsg(pair[0], &message, 0) : send(pair[0], bytes, size, 0);

		took[i] = now_us() - start;
		for (ssize_t left = n; left > 0;)
			left -= read(pair[1], bytes, sizeof(bytes));
	}
	show(what);
	close(pair[0]);
	close(pair[1]);
}

int main(int argc, char **argv)
{
	struct sockaddr_un path = { .sun_family = AF_UNIX, .sun_path = "bench-stream" };
	struct sockaddr_un datagram = { .sun_family = AF_UNIX, .sun_path = "bench-datagram" };
	struct sockaddr_un abstract = { .sun_family = AF_UNIX, .sun_path = "\0bench" };
	struct sockaddr_in tcp = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in udp = tcp;

	for (long i = 0; i < (argc > 1 ? strtol(argv[1], NULL, 10) : 0); i++) {
		struct sockaddr_un more = { .sun_family = AF_UNIX };
		socklen_t len = sizeof(more);

		(void)snprintf(more.sun_path, sizeof(more.sun_path), "more-%ld", i);
		(void)server(SOCK_STREAM, &more, &len);
	}
	connects("connect, Unix, by path", &path, sizeof(path));
	connects("connect, Unix, abstract", &abstract, offsetof(struct sockaddr_un, sun_path) + 6);
	connects("connect, TCP", &tcp, sizeof(tcp));
	sends("sendto, Unix datagram, by path", &datagram, sizeof(datagram));
	sends("sendto, UDP", &udp, sizeof(udp));
	messages("sendmsg, 64 bytes", 64, 1);
	messages("sendmsg, 64 KiB", 65536, 1);
	messages("send, 64 bytes", 64, 0);
	return 0;
}
