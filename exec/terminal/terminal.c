#include "exec/terminal/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/process/claim.h"
#include "exec/run/wire.h"

#define ROOM_MS 100

static int open_again(uint32_t flags)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (!(flags & ((uint32_t)WIRE_TERMINAL_0 << fd)))
			continue;
		int again = claim_open(fd);

		if (again >= 0)
			return again;
	}
	/* After su(1) the device belongs to another user, but /dev/tty still opens it for us. */
	return open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
}

int terminal_init(struct terminal *terminal, uint32_t flags, struct err *why)
{
	*terminal = (struct terminal){ .fd = open_again(flags), .keeper = { .socket = -1 } };
	if (terminal->fd < 0)
		return err_errno(why, errno, "cannot open the terminal");
	terminal_save(terminal);
	return 0;
}

void terminal_done(struct terminal *terminal)
{
	if (terminal->is_raw)
		terminal_set_raw(terminal, false);
	keeper_end(&terminal->keeper);
	fd_close(terminal->fd);
	terminal->fd = -1;
}

bool terminal_is_ours(const struct terminal *terminal)
{
	return tcgetpgrp(terminal->fd) == getpgrp();
}

void terminal_set_raw(struct terminal *terminal, bool is_raw)
{
	struct termios modes = terminal->saved;
	sigset_t block, before;

	if (!terminal->has_saved || !terminal_is_ours(terminal))
		return;
	if (is_raw)
		cfmakeraw(&modes);
	/* If we are in the background by now, SIGTTOU must not stop us. */
	(void)sigemptyset(&block);
	(void)sigaddset(&block, SIGTTOU);
	(void)sigprocmask(SIG_BLOCK, &block, &before);
	if (tcsetattr(terminal->fd, TCSANOW, &modes) == 0) {
		terminal->is_raw = is_raw;
		keeper_owe(&terminal->keeper, is_raw ? &terminal->saved : NULL, NULL);
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
}

void terminal_keep(struct terminal *terminal, const char *text)
{
	if (!terminal->is_raw)
		return;
	/* If there is no keeper, the terminal stays raw when we are killed. */
	if (terminal->keeper.socket < 0 && keeper_start(&terminal->keeper, terminal->fd) < 0)
		return;
	keeper_owe(&terminal->keeper, &terminal->saved, text);
}

void terminal_save(struct terminal *terminal)
{
	terminal->has_saved = tcgetattr(terminal->fd, &terminal->saved) == 0;
}

void terminal_copy_size(const struct terminal *terminal, int master, int shrink)
{
	struct winsize size;

	if (master < 0 || ioctl(terminal->fd, TIOCGWINSZ, &size) < 0)
		return;
	if (size.ws_row > shrink)
		size.ws_row = (unsigned short)(size.ws_row - shrink);
	(void)ioctl(master, TIOCSWINSZ, &size); /* a wrong size is only a cosmetic problem */
}

bool terminal_has_room(const struct terminal *terminal)
{
	struct pollfd room = { .fd = terminal->fd, .events = POLLOUT };

	return poll(&room, 1, ROOM_MS) > 0;
}

void terminal_write(const struct terminal *terminal, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(terminal->fd, text, len);

		if (n > 0) {
			text += n;
			len -= (size_t)n;
		} else if (n == 0 || (errno != EINTR && errno != EAGAIN) ||
			   (errno == EAGAIN && !terminal_has_room(terminal))) {
			return;
		}
	}
}
