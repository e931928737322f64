#include "gateway/approvers/tty.h"

#include "base/err.h"
#include "base/fd.h"
#include "gateway/approvers/tty_popup.h"

/* The terminal that is asked on, and the one that waits behind the window, change places. */
static void window_swap(struct approver *self)
{
	int fd = self->fd;
	bool is_own_fd = self->is_own_fd;

	tty_unwatch(self);
	self->fd = self->behind_fd;
	self->is_own_fd = self->is_behind_own;
	self->behind_fd = fd;
	self->is_behind_own = is_own_fd;
	self->is_in_window = !self->is_in_window;
	if (self->fd >= 0)
		tty_watch(self);
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
			/* It could be held only by blocking: not worth it. */
			self->fd = -1;
			window_swap(self);
			tty_popup_close(self->popup);
			self->has_no_window = true;
		} else {
			tty_watch(self);
		}
		fd_close(fd);
	}
	tty_later(self);
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
