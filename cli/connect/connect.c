/* `sallyport connect HOST PORT`: connects stdin and stdout with a destination, through the gate of
 * the sandbox that it runs in, as a ProxyCommand of ssh_config(5) does, where connections
 * cannot be captured. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "exec/exec_egress.h"

#define HEAD_MAX  8192
#define HOST_MAX  255
#define BODY_MAX  4096
#define PIECE_MAX 65536

/* The gate's answer to CONNECT: its head, and what came after it. */
struct answer {
	char bytes[HEAD_MAX + 1];
	size_t len, head; /* of all, of the head with its empty line */
};

static int reach_gate(void)
{
	const struct sockaddr_in gate = { .sin_family = AF_INET,
					  .sin_port = htons(EXEC_HTTP_PORT),
					  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (const struct sockaddr *)&gate, sizeof(gate)) < 0) {
		fd_close(fd);
		return -1;
	}
	return fd;
}

/* The gate answers when the question is answered, or when its time is over; if the gate dies, the
 * kernel closes the connection. */
static int read_answer(int gate, struct answer *answer)
{
	while (answer->len < HEAD_MAX) {
		ssize_t n = read(gate, answer->bytes + answer->len, HEAD_MAX - answer->len);
		const char *end;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
		answer->len += (size_t)n;
		answer->bytes[answer->len] = '\0';
		end = strstr(answer->bytes, "\r\n\r\n");
		if (end) {
			answer->head = (size_t)(end - answer->bytes) + strlen("\r\n\r\n");
			return 0;
		}
	}
	return -EMSGSIZE;
}

/* The body of a refusal says why, as text for people; its first line names us. */
static int tell_refusal(int gate, struct answer *answer)
{
	char body[BODY_MAX + 1];
	size_t len = answer->len - answer->head;

	if (len > BODY_MAX)
		len = BODY_MAX;
	memcpy(body, answer->bytes + answer->head, len);
	while (len < BODY_MAX) {
		ssize_t n = read(gate, body + len, BODY_MAX - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	body[len] = '\0';
	for (char *line = body, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		auto_free char *text = text_visible_dup(line);

		if (text[0])
			(void)fprintf(stderr, "%s\n", text);
	}
	return CLI_DENIED;
}

static void copy(int from, int to)
{
	static char piece[PIECE_MAX];
	ssize_t n;

	do {
		n = read(from, piece, sizeof(piece));
		if (n > 0 && fd_write_all(to, piece, (size_t)n) < 0)
			return;
	} while (n > 0 || (n < 0 && errno == EINTR));
}

/* One process for each direction, so that neither waits for the other. The connection ends when the
 * destination has closed it; the end of stdin only closes our direction. */
static int relay(int gate, const struct answer *answer)
{
	pid_t parent = getpid(), sender = fork();

	if (sender < 0)
		return cli_fail(CLI_ERROR, "connect: cannot start a process: %s", strerror(errno));
	if (sender == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && getppid() == parent)
			copy(STDIN_FILENO, gate);
		(void)shutdown(gate, SHUT_WR);
		_exit(0);
	}
	if (fd_write_all(STDOUT_FILENO, answer->bytes + answer->head, answer->len - answer->head) ==
	    0)
		copy(gate, STDOUT_FILENO);
	(void)kill(sender, SIGKILL);
	while (waitpid(sender, NULL, 0) < 0 && errno == EINTR)
		;
	return CLI_OK;
}

static bool is_host(const char *host)
{
	size_t len = strlen(host);

	if (len == 0 || len > HOST_MAX)
		return false;
	for (const char *at = host; *at; at++)
		if ((unsigned char)*at <= ' ' || *at == 0x7f || strchr("/?#@[]\\", *at))
			return false;
	return true;
}

int cli_connect(const struct options *options)
{
	const char *host = options->operands[0], *port = options->operands[1];
	uint64_t number = 0;

	auto_free char *wrong = text_visible_dup(is_host(host) ? port : host);

	if (!is_host(host))
		return options_wrong(CLI_CONNECT, "`%s` is not a host", wrong);
	if (text_to_u64(port, strlen(port), UINT16_MAX, &number) < 0 || number == 0)
		return options_wrong(CLI_CONNECT, "`%s` is not a port: use 1 to 65535", wrong);
	const char *open = strchr(host, ':') ? "[" : "", *close = open[0] ? "]" : "";
	auto_free char *request = mem_printf("CONNECT %s%s%s:%" PRIu64
					     " HTTP/1.1\r\nHost: %s%s%s:%" PRIu64 "\r\n\r\n",
					     open, host, close, number, open, host, close, number);
	struct answer answer = { .len = 0 };
	auto_close int gate = reach_gate();

	(void)signal(SIGPIPE, SIG_IGN);
	if (gate < 0)
		return cli_fail(CLI_ERROR,
				"connect: no gate at 127.0.0.1:%d: %s; use it in a command that "
				"`sallyport run` has started",
				EXEC_HTTP_PORT, strerror(errno));
	int r = fd_write_all(gate, request, strlen(request));

	if (r == 0)
		r = read_answer(gate, &answer);
	if (r < 0)
		return cli_fail(CLI_ERROR, "connect: the gate closed the connection: %s",
				strerror(-r));
	if (strncmp(answer.bytes, "HTTP/1.1 200 ", strlen("HTTP/1.1 200 ")) != 0)
		return tell_refusal(gate, &answer);
	return relay(gate, &answer);
}
