#include "cli/approve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "cli/cli.h"

/* Ours, and served by a process of ours. */
static int popup_connect(const char *path, struct err *why)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct ucred peer;
	socklen_t len = sizeof(peer);
	auto_close int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_errno(why, errno, "cannot make a socket");
	if (strlen(path) >= sizeof(address.sun_path))
		return err_set(why, -ENAMETOOLONG, "%s: too long for a socket", path);
	memcpy(address.sun_path, path, strlen(path) + 1);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return err_errno(why, errno, "cannot reach %s", path);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.uid != geteuid())
		return err_set(why, -EPERM, "%s is served by somebody else", path);
	return fd_take(&fd);
}

/* The gate asks on our terminal, and hangs up when it is done. What is typed there is read by the
 * gate alone. */
int approve_popup(int argc, char **argv)
{
	const int terminal = STDIN_FILENO;
	struct err why = { 0 };
	char byte = 0;

	if (argc != 2)
		return cli_usage_error("approve popup", CLI_ERROR, "which socket?");
	if (!isatty(terminal))
		return cli_fail(CLI_ERROR, "there is no terminal to ask on");
	auto_close int fd = popup_connect(argv[1], &why);
	if (fd < 0)
		return cli_fail(CLI_ERROR, "%s", why.text);
	(void)signal(SIGINT, SIG_IGN); /* until the gate has the keys */
	(void)signal(SIGQUIT, SIG_IGN);
	(void)signal(SIGTSTP, SIG_IGN);
	if (fd_send(fd, &byte, 1, &terminal, 1) < 0)
		return cli_fail(CLI_ERROR, "the gate does not take the terminal");
	while (recv(fd, &byte, 1, 0) < 0 && errno == EINTR)
		;
	return CLI_OK;
}
