#include "exec/run/exec_input.h"

#include <errno.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"

/* The event is active only while bytes wait. */
static void update(struct exec_input *input)
{
	bool is_wanted = input->fd >= 0 && input->waiting.len > 0;

	if (is_wanted && !input->is_added)
		event_add(&input->writable, NULL);
	else if (!is_wanted && input->is_added)
		event_del(&input->writable);
	input->is_added = is_wanted;
}

/* Once the last byte is written, a pipe is closed to signal the end; a pty got its end-of-file
 * character instead. */
static void maybe_close(struct exec_input *input)
{
	if (input->is_closing && input->waiting.len == 0 && input->fd >= 0)
		exec_input_close(input);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct exec_input *input = arg;
	ssize_t n = write(fd, ring_peek(&input->waiting), input->waiting.len);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) { /* EPIPE: the command has closed it; EIO: no process has the pty open */
		exec_input_close(input);
		return;
	}
	ring_drop(&input->waiting, (size_t)n);
	update(input);
	maybe_close(input);
	if (input->is_short && input->is_open && input->waiting.len <= input->waiting.max / 2) {
		input->is_short = false;
		input->on_room(input->arg);
	}
}

void exec_input_init(struct exec_input *input, struct loop *loop, size_t max, bool is_open,
		     exec_input_room_fn on_room, void *arg)
{
	*input = (struct exec_input){
		.loop = loop,
		.waiting.max = max,
		.fd = -1,
		.is_open = is_open,
		.on_room = on_room,
		.arg = arg,
	};
}

/* After text the end-of-file character only ends the line, so it is sent twice then: once for the
 * text, once for the end. A terminal in raw mode does not interpret it: the program reads the
 * byte. */
static void add_end_key(struct exec_input *input)
{
	struct termios modes;
	char keys[2];

	if (tcgetattr(input->fd, &modes) < 0 || modes.c_cc[VEOF] == _POSIX_VDISABLE)
		return;
	keys[0] = keys[1] = (char)modes.c_cc[VEOF];
	size_t len = input->last == '\n' || input->last == '\0' ? 1 : 2;

	input->waiting.max += len;                  /* makes room for these */
	(void)ring_add(&input->waiting, keys, len); /* drops nothing */
}

void exec_input_start(struct exec_input *input, int fd, bool is_terminal)
{
	input->fd = fd;
	input->is_terminal = is_terminal;
	input->is_owned = !is_terminal;
	(void)fd_set_nonblocking(fd, true); /* cannot fail for an open descriptor */
	event_assign(&input->writable, loop_base(input->loop), fd, EV_WRITE | EV_PERSIST,
		     on_writable, input);
	if (input->is_closing && is_terminal)
		add_end_key(input);
	update(input);
	maybe_close(input);
}

ssize_t exec_input_write(struct exec_input *input, const void *bytes, size_t len)
{
	const char *text = bytes;
	size_t room = input->waiting.max - input->waiting.len;

	if (!input->is_open)
		return -EPIPE;
	if (len > room) {
		input->is_short = true;
		len = room;
	}
	if (len == 0)
		return -EAGAIN;
	(void)ring_add(&input->waiting, text, len); /* fits, so drops nothing */
	input->last = text[len - 1];
	update(input);
	return (ssize_t)len;
}

void exec_input_finish(struct exec_input *input)
{
	if (!input->is_open)
		return;
	input->is_open = false;
	input->is_closing = true;
	if (input->fd >= 0 && input->is_terminal)
		add_end_key(input);
	update(input);
	maybe_close(input);
}

void exec_input_close(struct exec_input *input)
{
	input->is_open = false;
	if (input->waiting.len > 0)
		ring_drop(&input->waiting, input->waiting.len);
	update(input);
	if (input->is_owned)
		fd_close(input->fd);
	input->fd = -1;
}

void exec_input_done(struct exec_input *input)
{
	exec_input_close(input);
	ring_done(&input->waiting);
}
