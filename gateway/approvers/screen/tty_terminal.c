#include "gateway/approvers/screen/tty_terminal.h"

#include <errno.h>
#include <event2/buffer.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/process/claim.h"
#include "gateway/approvers/tty/tty_self.h"

/* For a shared descriptor, which has to stay blocking: the number of bytes that a ready terminal
 * accepts without blocking. */
#define TERMINAL_SHARED_BYTES 128

#define TERMINAL_WIDTH_FLOOR   8
#define TERMINAL_WIDTH_MOST    160
#define TERMINAL_WIDTH_ASSUMED 80
#define TERMINAL_ROWS_ASSUMED  24

int tty_terminal_open(struct approver *self, int fd, struct err *why)
{
	if (!isatty(fd))
		return err_set(why, -ENOTTY, "there is no terminal to ask on");
	self->fd = claim_open(fd);
	self->is_own_fd = self->fd >= 0;
	if (!self->is_own_fd)
		self->fd = fd; /* another user's terminal, after su(1) */
	return 0;
}

void tty_terminal_close(struct approver *self)
{
	keeper_end(&self->keeper);
	if (self->is_own_fd)
		fd_close(self->fd);
	self->fd = -1;
}

bool tty_terminal_is_hung_up(const struct approver *self)
{
	struct pollfd watched = { .fd = self->fd };

	return poll(&watched, 1, 0) < 0 || (watched.revents & (POLLHUP | POLLERR | POLLNVAL));
}

bool tty_terminal_is_elsewhere(const struct approver *self)
{
	pid_t front = tcgetpgrp(self->fd); /* -1: not our controlling terminal, so it has no jobs */

	return front >= 0 && front != getpgrp();
}

/* The lock on a shared descriptor would be shared with the other gate. */
bool tty_terminal_claim(const struct approver *self)
{
	return self->is_in_window || !self->is_own_fd || claim_take(self->fd);
}

void tty_terminal_yield(const struct approver *self)
{
	if (!self->is_in_window && self->is_own_fd)
		claim_end(self->fd);
}

void tty_terminal_size(struct approver *self)
{
	struct winsize size = { 0 };
	unsigned int width;

	(void)ioctl(self->fd, TIOCGWINSZ, &size); /* zero: not known */
	width = size.ws_col == 0 ? TERMINAL_WIDTH_ASSUMED : size.ws_col;
	self->look.is_narrow = width < TTY_WIDTH_LEAST;
	if (width < TERMINAL_WIDTH_FLOOR)
		width = TERMINAL_WIDTH_FLOOR;
	self->look.width = width > TERMINAL_WIDTH_MOST ? TERMINAL_WIDTH_MOST : width;
	self->look.rows = size.ws_row == 0 ? TERMINAL_ROWS_ASSUMED : size.ws_row;
}

/* From a background job, tcsetattr() would stop the process; with SIGTTOU blocked it works. */
static int terminal_set(int fd, const struct termios *wanted)
{
	sigset_t stop, before;
	int r;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTTOU);
	sigprocmask(SIG_BLOCK, &stop, &before);
	r = tcsetattr(fd, TCSANOW, wanted) < 0 ? -errno : 0;
	(void)tcflush(fd, TCIFLUSH); /* only a closed terminal fails */
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r;
}

/* A terminal that is raw already is relayed by another program, which restores it; a window closes
 * when we end. */
static void terminal_keep(struct approver *self)
{
	if (!(self->saved.c_lflag & ICANON) || self->is_in_window)
		return;
	if (self->keeper.socket < 0 && keeper_start(&self->keeper, self->fd) < 0)
		return; /* ask all the same; if we were killed, it would stay raw */
	keeper_owe(&self->keeper, &self->saved, "\x1b[?2004l\r\n");
}

int tty_terminal_seize(struct approver *self)
{
	struct termios raw;

	if (tcgetattr(self->fd, &self->saved) < 0)
		return -errno;
	raw = self->saved;
	raw.c_iflag &= ~(tcflag_t)(ICRNL | INLCR | IGNCR | ISTRIP | IXON | PARMRK);
	raw.c_oflag &= ~(tcflag_t)OPOST;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ECHONL | IEXTEN);
	if (!self->source->status) /* else Ctrl-C and Ctrl-Z are ours, as in any program */
		raw.c_lflag &= ~(tcflag_t)ISIG;
	raw.c_cc[VMIN] = 0; /* a read never waits, even without O_NONBLOCK */
	raw.c_cc[VTIME] = 0;
	terminal_keep(self);
	return terminal_set(self->fd, &raw);
}

void tty_terminal_restore(struct approver *self)
{
	keeper_owe(&self->keeper, NULL, NULL);
	(void)terminal_set(self->fd, &self->saved); /* fails only if the terminal is closed */
}

int tty_terminal_flush(struct approver *self)
{
	while (evbuffer_get_length(self->out) > 0) {
		struct evbuffer_iovec chunk;
		ssize_t sent;

		if (evbuffer_peek(self->out, -1, NULL, &chunk, 1) < 1)
			return -EIO;
		if (!self->is_own_fd) {
			struct pollfd watched = { .fd = self->fd, .events = POLLOUT };

			if (poll(&watched, 1, 0) < 1)
				return -EAGAIN;
			if (chunk.iov_len > TERMINAL_SHARED_BYTES)
				chunk.iov_len = TERMINAL_SHARED_BYTES;
		}
		sent = write(self->fd, chunk.iov_base, chunk.iov_len);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent == 0 || (sent < 0 && errno == EAGAIN))
			return -EAGAIN;
		if (sent < 0)
			return -EIO;
		evbuffer_drain(self->out, (size_t)sent);
	}
	return 0;
}

ssize_t tty_terminal_read(struct approver *self, void *bytes, size_t size)
{
	ssize_t got = read(self->fd, bytes, size);

	if (got > 0)
		return got;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return got < 0 || tty_terminal_is_hung_up(self) ? -EIO : 0;
}

void tty_terminal_watch(struct approver *self)
{
	struct event_base *base = loop_base(self->loop);

	self->read_event = event_new(base, self->fd, EV_READ | EV_PERSIST, self->on_readable, self);
	self->write_event = event_new(base, self->fd, EV_WRITE, self->on_writable, self);
	if (!self->read_event || !self->write_event)
		abort(); /* out of memory, as in base/mem */
}

void tty_terminal_unwatch(struct approver *self)
{
	if (self->read_event)
		event_free(self->read_event);
	if (self->write_event)
		event_free(self->write_event);
	self->read_event = self->write_event = NULL;
}
