/* A web server for benchmarks: GET /bytes/N answers N bytes, kept alive unless the client says
 * close; one thread for each connection, no more than the measurement needs. Prints its port. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD_MAX  16384
#define BLOCK_MAX (1 << 18)

static int send_all(int fd, const char *bytes, size_t len, int flags)
{
	while (len > 0) {
		ssize_t sent = send(fd, bytes, len, flags);

		if (sent <= 0)
			return -1;
		bytes += sent;
		len -= (size_t)sent;
	}
	return 0;
}

/* Reads one head into @head; its length, or 0 when the client is gone. */
static size_t read_head(int fd, char head[HEAD_MAX + 1])
{
	size_t used = 0;

	while (used < HEAD_MAX) {
		ssize_t got = recv(fd, head + used, HEAD_MAX - used, 0);

		if (got <= 0)
			return 0;
		used += (size_t)got;
		head[used] = '\0';
		if (strstr(head, "\r\n\r\n"))
			return used;
	}
	return 0;
}

static int answer(int fd, const char *head)
{
	static const char block[BLOCK_MAX];
	const char *path = strstr(head, "/bytes/");
	uint64_t left = path ? strtoull(path + 7, NULL, 10) : 0;
	char text[128];
	int len = snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\nContent-Length: %llu\r\n\r\n",
			   (unsigned long long)left);

	if (send_all(fd, text, (size_t)len, left > 0 ? MSG_MORE : 0) < 0)
		return -1;
	for (; left > 0; left -= left < BLOCK_MAX ? left : BLOCK_MAX)
		if (send_all(fd, block, left < BLOCK_MAX ? left : BLOCK_MAX, 0) < 0)
			return -1;
	return strcasestr(head, "\r\nConnection: close") ? -1 : 0;
}

static void *serve(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char *head = malloc(HEAD_MAX + 1);

	while (head && read_head(fd, head) > 0 && answer(fd, head) == 0)
		;
	free(head);
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t size = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	signal(SIGPIPE, SIG_IGN);
	if (argc != 2 || inet_pton(AF_INET, argv[1], &at.sin_addr) != 1)
		return 2;
	if (bind(listener, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(listener, 1024) < 0 ||
	    getsockname(listener, (struct sockaddr *)&at, &size) < 0) {
		perror("server");
		return 1;
	}
	printf("%d\n", ntohs(at.sin_port));
	fflush(stdout);
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		pthread_t thread;

		if (fd < 0)
			continue;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
		if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd) != 0)
			close(fd);
		else
			pthread_detach(thread);
	}
}
