#include "cli/approve/approve.h"

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
#include "cli/options.h"

/* The process that listens must run as our user. */
static int popup_connect(const char *path, struct err *why)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct ucred peer;
	socklen_t len = sizeof(peer);
	auto_close int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_errno(why, errno, "cannot make a socket");
	if (strlen(path) >= sizeof(address.sun_path))
		return err_set(why, -ENAMETOOLONG, "%s is too long for the path of a socket", path);
	memcpy(address.sun_path, path, strlen(path) + 1);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return err_errno(why, errno, "cannot reach %s", path);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.uid != geteuid())
		return err_set(why, -EPERM, "another user serves %s", path);
	return fd_take(&fd);
}

/* The gate asks on our terminal, and closes the connection when it is done. Only the gate reads
 * what is typed there. */
int cli_approve_popup(const struct options *options)
{
	const int terminal = STDIN_FILENO;
	struct err why = { 0 };
	char byte = 0;

	if (!isatty(terminal))
		return cli_fail(CLI_ERROR, "there is no terminal to ask on");
	auto_close int fd = popup_connect(options->operands[0], &why);
	if (fd < 0)
		return cli_fail(CLI_ERROR, "%s", why.text);
	(void)signal(SIGINT, SIG_IGN); /* until the gate handles the keys */
	(void)signal(SIGQUIT, SIG_IGN);
	(void)signal(SIGTSTP, SIG_IGN);
	if (fd_send(fd, &byte, 1, &terminal, 1) < 0)
		return cli_fail(CLI_ERROR, "the gate did not take the terminal");
	while (recv(fd, &byte, 1, 0) < 0 && errno == EINTR)
		;
	return CLI_OK;
}
