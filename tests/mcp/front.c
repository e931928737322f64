/* `sallyport mcp` with another agent: the program that listens on a socket, so that a test sees the
 * messages of both sides. usage: mcp-front SOCKET [--approval MODE] */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/agent_mcp.h"
#include "base/err.h"
#include "base/loop.h"

#define LOOK_MS 20

struct waiting {
	struct loop *loop;
	int fd;
	struct loop_timer timer;
};

static int connect_to(const char *path)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	return fd >= 0 && connect(fd, (struct sockaddr *)&name, sizeof(name)) == 0 ? fd : -1;
}

/* Its ends are closed when all is said: that is the end of this program. */
static void look(void *arg)
{
	struct waiting *waiting = arg;
	struct pollfd end = { .fd = waiting->fd };

	if (poll(&end, 1, 0) > 0) /* hung up, or closed */
		loop_stop(waiting->loop);
	else
		loop_timer_start(waiting->loop, &waiting->timer, LOOK_MS, look, waiting);
}

static char *check_root(const char *path, struct err *why, const void *arg)
{
	char *real = realpath(path, NULL);

	if (!real)
		(void)err_errno(why, errno, "%s", path);
	return real;
}

int main(int argc, char **argv)
{
	const int ends[] = { STDIN_FILENO, STDOUT_FILENO, argc > 1 ? connect_to(argv[1]) : -1 };
	struct err why = { .text = "no socket" };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (fcntl(ends[i], F_SETFL, O_NONBLOCK) < 0) /* O_RDWR and its like stay */
			return 2;
	}
	struct loop *loop = loop_new();
	char *cwd = getcwd(NULL, 0);
	const struct mcp_config config = {
		.loop = loop,
		.in = ends[0],
		.out = ends[1],
		.agent = ends[2],
		.version = "1",
		.cwd = cwd,
		.check_root = check_root,
		.approval = argc > 3 && strcmp(argv[2], "--approval") == 0 ? argv[3] : NULL,
	};
	struct mcp *mcp = mcp_new(&config, &why);

	if (!mcp) {
		(void)fprintf(stderr, "mcp-front: %s\n", why.text);
		return 1;
	}
	struct waiting waiting = { .loop = loop, .fd = ends[2] };

	look(&waiting);
	int r = loop_run(loop);

	mcp_free(mcp);
	loop_free(loop);
	free(cwd);
	return r < 0;
}
