#include "tests/unit/gateway/approvers/screen/test_approver_screen.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"

struct screen screen;

static void on_hold(void *arg)
{
	screen.held++;
}

static void on_release(void *arg)
{
	screen.released++;
}

/* What a pty's side writes reaches the other a moment later, by the kernel's own worker. So a mark
 * of ours goes after it, and whatever was written before has arrived when the mark has. */
#define MARK '\x1e'

const char *screen_look(void)
{
	size_t len = 0;
	bool is_marked = false;

	fake_settle(&screen.gw);
	for (;;) {
		struct pollfd readable = { .fd = screen.master, .events = POLLIN };
		char mark = MARK;
		ssize_t got = read(screen.master, screen.text + len, sizeof(screen.text) - 1 - len);

		fake_settle(&screen.gw);
		if (got > 0) {
			len += (size_t)got;
			if (screen.text[len - 1] == MARK)
				break;
			continue;
		}
		if (!is_marked)
			is_marked = write(screen.mark_fd, &mark, 1) == 1;
		ck_assert_int_eq(poll(&readable, 1, 5000), 1);
	}
	screen.text[len - 1] = '\0';
	return screen.text;
}

/* All of it has reached the approver's side before the approver looks. */
static void type_bytes(const char *bytes, size_t len)
{
	int there = 0, earlier = 0;

	ck_assert_int_eq(ioctl(screen.slave, FIONREAD, &earlier), 0);
	ck_assert_int_eq(write(screen.master, bytes, len), (ssize_t)len);
	for (int i = 0; i < 5000 && (size_t)(there - earlier) < len; i++) {
		if (i < 200)
			(void)sched_yield();
		else
			(void)poll(NULL, 0, 1); /* 1 ms each, if it takes any */
		ck_assert_int_eq(ioctl(screen.slave, FIONREAD, &there), 0);
	}
	ck_assert_uint_eq((size_t)(there - earlier), len);
	fake_settle(&screen.gw);
}

void screen_type_at_once(const char *text)
{
	type_bytes(text, strlen(text));
}

/* The rest of a sequence comes with its Escape. */
static size_t key_len(const char *text)
{
	const char *end;

	if (text[0] != '\x1b' || text[1] == '\0')
		return 1;
	if (text[1] == 'O')
		return 3;
	if (text[1] != '[')
		return 2;
	for (end = text + 2; *end && (*end < 0x40 || *end > 0x7e);)
		end++;
	return (size_t)(end - text) + (*end != '\0');
}

void screen_type(const char *text)
{
	struct termios now;

	while (*text) {
		size_t len = key_len(text);

		ck_assert_int_eq(tcgetattr(screen.slave, &now), 0);
		if (now.c_lflag & ICANON) /* the command's: it takes whole lines */
			return screen_type_at_once(text);

		type_bytes(text, len);
		text += len;
		/* What was drawn has to reach the screen, as it does between two keys. */
		fake_settle(&screen.gw);
	}
}

void screen_until_open(void)
{
	ck_assert_ptr_nonnull(strstr(screen_look(), SCREEN_FENCE));
	screen_type(SCREEN_READY);
	loop_advance(screen.gw.loop, TTY_GUARD_MS);
}

static void setup(bool is_in_window)
{
	struct winsize size = { .ws_col = 80, .ws_row = 24 };

	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
	ck_assert_int_eq(openpty(&screen.master, &screen.slave, NULL, NULL, &size), 0);
	ck_assert_int_eq(fd_set_nonblocking(screen.master, true), 0);
	screen.mark_fd = open(ttyname(screen.slave), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	ck_assert_int_ge(screen.mark_fd, 0);
	ck_assert_int_eq(tcgetattr(screen.slave, &screen.before), 0);
	screen.terminal = (struct gateway_terminal){ is_in_window ? screen.pane[1] : screen.slave,
						     on_hold, on_release, NULL };
	screen.held = screen.released = 0;
	screen.gw = (struct gateway){ .config = { .terminal = &screen.terminal,
						  .control_dir = is_in_window ? screen.dir : NULL,
						  .tmux = is_in_window ? "/bin/true" : NULL,
						  .answers_path = "answers" } };
	fake_open(&screen.gw, &tty_approver);
}

void screen_setup(void)
{
	unsetenv("TMUX");
	screen.dir[0] = '\0';
	setup(false);
}

/* In tmux's place is a program that has shown the window; the windows are ours. */
void screen_setup_in_window(void)
{
	struct winsize size = { .ws_col = 80, .ws_row = 24 };

	(void)snprintf(screen.dir, sizeof(screen.dir), "/tmp/sallyport-window-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(screen.dir));
	setenv("TMUX", "/tmp/tmux,1,0", 1);
	setenv("TMUX_PANE", "%0", 1);
	ck_assert_int_eq(openpty(&screen.pane[0], &screen.pane[1], NULL, NULL, &size), 0);
	ck_assert_int_eq(fd_set_nonblocking(screen.pane[0], true), 0);
	screen.link = -1;
	screen.windows = 0;
	setup(true);
}

/* The gate has hung up: the program in the window ends, and the window with it. */
static void must_be_closed(void)
{
	char byte;

	ck_assert_int_eq(recv(screen.link, &byte, 1, MSG_DONTWAIT), 0);
	fd_close(screen.link);
	screen.link = -1;
}

void screen_come(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	fake_settle(&screen.gw);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/.%s-%u.popup", screen.dir,
		       screen.gw.config.run, screen.windows + 1);
	if (screen.dir[0] == '\0' || access(address.sun_path, F_OK) != 0)
		return;
	if (screen.link >= 0)
		must_be_closed();
	screen.windows++;
	screen.link = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(screen.link, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(fd_send(screen.link, "", 1, &screen.slave, 1), 0);
	fake_settle(&screen.gw);
}

bool screen_is_restored(void)
{
	struct termios now;

	ck_assert_int_eq(tcgetattr(screen.slave, &now), 0);
	return now.c_iflag == screen.before.c_iflag && now.c_oflag == screen.before.c_oflag &&
	       now.c_lflag == screen.before.c_lflag && now.c_cflag == screen.before.c_cflag &&
	       now.c_cc[VMIN] == screen.before.c_cc[VMIN] &&
	       now.c_cc[VTIME] == screen.before.c_cc[VTIME];
}

/* Every question had a window, and the terminal behind it and the command know of none. */
static void window_teardown(void)
{
	char byte;

	ck_assert_uint_gt(screen.windows, 0);
	ck_assert_uint_eq(screen.held, 0);
	ck_assert_int_eq(read(screen.pane[0], &byte, 1), -1);
	must_be_closed();
	fd_close(screen.pane[0]);
	fd_close(screen.pane[1]);
	ck_assert_int_eq(rmdir(screen.dir), 0);
}

void screen_teardown(void)
{
	if (screen.gw.approver)
		fake_close(&screen.gw);
	if (screen.dir[0] != '\0')
		window_teardown();
	if (screen.master >= 0) {
		ck_assert(screen_is_restored());
		ck_assert_uint_eq(screen.held, screen.released);
	}
	fd_close(screen.master);
	fd_close(screen.slave);
	fd_close(screen.mark_fd);
}
