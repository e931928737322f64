#include "gateway/approvers/screen/tty_window.h"

#include "base/err.h"
#include "base/fd.h"
#include "gateway/approvers/tty/tty_popup.h"
#include "gateway/approvers/tty/tty_self.h"
#include "gateway/approvers/screen/tty_terminal.h"

/* Exchanges the terminal in use and the one behind the window. */
static void window_swap(struct approver *self)
{
	int fd = self->fd;
	bool is_own_fd = self->is_own_fd;

	tty_terminal_unwatch(self);
	self->fd = self->behind_fd;
	self->is_own_fd = self->is_behind_own;
	self->behind_fd = fd;
	self->is_behind_own = is_own_fd;
	self->is_in_window = !self->is_in_window;
	if (self->fd >= 0)
		tty_terminal_watch(self);
}

bool tty_window_open(struct approver *self)
{
	if (!self->popup || self->has_no_window || !self->look.has_escapes)
		return false;
	if (!self->is_window_awaited)
		self->is_window_awaited = tty_popup_open(self->popup);
	return self->is_window_awaited;
}

void tty_window_came(int fd, void *arg)
{
	struct approver *self = arg;

	self->is_window_awaited = false;
	self->has_no_window = fd < 0;
	if (fd >= 0) {
		self->behind_fd = -1;
		window_swap(self);
		if (tty_terminal_open(self, fd, NULL) < 0 || !self->is_own_fd) {
			/* It would block while it is held, so it is not used. */
			self->fd = -1;
			window_swap(self);
			tty_popup_close(self->popup);
			self->has_no_window = true;
		} else {
			tty_terminal_watch(self);
		}
		fd_close(fd);
	}
	tty_self_later(self);
}

void tty_window_close(struct approver *self)
{
	if (self->popup)
		tty_popup_close(self->popup);
	self->is_window_awaited = false;
	if (!self->is_in_window)
		return;
	window_swap(self);
	if (self->is_behind_own)
		fd_close(self->behind_fd);
	self->behind_fd = -1;
}
