#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/frame.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/approve/approve.h"
#include "cli/cli.h"
#include "cli/into/into_wire.h"
#include "cli/options.h"
#include "cli/session/session_wire.h"
#include "exec/exec_process_result.h"
#include "exec/terminal/pty.h"

static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT };

static const char not_taken[] =
	"the run does not take the command: it takes some from its own user and namespaces, and "
	"from the same version of this program";

struct into {
	struct loop *loop;
	struct frame_link *link;
	struct pty *pty; /* NULL: none of 0–2 is a terminal */
	uint8_t terminals;
	struct event signals[ARRAY_SIZE(forwarded)];
	bool has_signals, has_begun, is_over;
	int status;
	char why[512];
};

static void on_drained(void *arg)
{
	struct into *into = arg;

	loop_stop(into->loop);
}

static void over(struct into *into, int status, const char *why)
{
	if (into->is_over)
		return;
	into->is_over = true;
	into->status = status;
	(void)snprintf(into->why, sizeof(into->why), "%s", why);
	if (into->pty)
		pty_end(into->pty, on_drained, into);
	else
		loop_stop(into->loop);
}

static void on_closed(void *arg)
{
	struct into *into = arg;

	if (into->has_begun)
		over(into, 128 + SIGKILL, "the run has ended, and with it all of its processes");
	else
		over(into, CLI_NO_SANDBOX, not_taken);
}

static bool handle_over(struct into *into, struct frame *frame)
{
	char why[sizeof(into->why)];
	uint8_t end = frame_get_u8(frame), status = frame_get_u8(frame);

	frame_get_text(frame, why, sizeof(why));
	if (!frame_is_whole(frame) || end > EXEC_PROCESS_KILLED)
		return false;
	over(into,
	     end == EXEC_PROCESS_EXITED || end == EXEC_PROCESS_NOT_STARTED ? status : 128 + status,
	     why);
	return true;
}

static void on_frame(struct frame *frame, int *fds, size_t count, void *arg)
{
	struct into *into = arg;

	if (frame->type == INTO_BEGUN && count == 0 && !into->has_begun) {
		into->has_begun = true;
		return;
	}
	if (frame->type == INTO_PTY && count == 1 && into->pty && !into->is_over) {
		pty_start(into->pty, fds[0]);
		return;
	}
	fd_close_all(fds, count);
	if (frame->type != INTO_OVER || count != 0 || !handle_over(into, frame))
		over(into, CLI_NO_SANDBOX, "the run sent a malformed message");
}

static void on_signal(evutil_socket_t signal, short what, void *arg)
{
	const struct into *into = arg;
	struct frame frame;

	frame_begin(&frame, INTO_SIGNAL);
	frame_put_u8(&frame, (uint8_t)signal);
	(void)frame_link_send(into->link, &frame, NULL, 0); /* a dead link reports itself */
}

/* What the command gets as 0–2: ours, but nothing in place of a terminal. */
static int own_stdio(struct into *into, int null, int *ret)
{
	for (int fd = 0; fd < 3; fd++) {
		bool is_terminal = isatty(fd);

		into->terminals |= (uint8_t)(is_terminal << fd);
		ret[fd] = is_terminal || fcntl(fd, F_GETFD) < 0 ? null : fd;
	}
	return into->terminals;
}

static void put_size(struct frame *frame, uint8_t terminals)
{
	struct winsize size = { 0 };

	for (int fd = 0; fd < 3; fd++)
		if ((terminals & 1 << fd) != 0)
			(void)ioctl(fd, TIOCGWINSZ, &size); /* without it: 0 rows */
	frame_put_u16(frame, size.ws_row);
	frame_put_u16(frame, size.ws_col);
}

static int send_begin(struct into *into, int socket, const struct options *options, struct err *why)
{
	auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	auto_close int list = session_wire_pack((const char *const *)options->operands, why);
	const char *term = getenv("TERM");
	int fds[INTO_FDS];
	struct frame frame;

	if (list < 0)
		return list;
	if (null < 0)
		return err_errno(why, errno, "/dev/null");
	fds[INTO_ARGV] = list;
	if (own_stdio(into, null, fds + INTO_STDIO) != 0)
		into->pty = pty_new(into->loop, into->terminals, why);
	if (into->terminals && !into->pty)
		return -ENOTTY;
	frame_begin(&frame, INTO_BEGIN);
	frame_put_text(&frame, SALLYPORT_VERSION);
	frame_put_u8(&frame, into->terminals);
	put_size(&frame, into->terminals);
	frame_put_text(&frame, term && strlen(term) < INTO_TERM_MAX ? term : "");
	int r = frame_link_send_on(socket, &frame, fds, INTO_FDS);

	return r < 0 ? err_set(why, r, "%s", not_taken) : 0;
}

static void watch_signals(struct into *into)
{
	for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++) {
		event_assign(&into->signals[i], loop_base(into->loop), forwarded[i],
			     EV_SIGNAL | EV_PERSIST, on_signal, into);
		event_add(&into->signals[i], NULL);
	}
	into->has_signals = true;
}

static void into_done(struct into *into)
{
	for (size_t i = 0; into->has_signals && i < ARRAY_SIZE(forwarded); i++)
		event_del(&into->signals[i]);
	pty_free(into->pty);
	frame_link_free(into->link);
	loop_free(into->loop);
}

/* -ENOENT: there is no such run. */
static int reach(const char *run, struct err *why)
{
	auto_close int dir = approve_dir_open(why);

	if (dir < 0)
		return dir;
	auto_free_list char **runs = NULL;

	if (strchr(run, '/'))
		return err_set(why, -ENOENT, "%s is not the name of a run", run);
	int fd = approve_dir_connect_to(dir, run, APPROVE_INTO_SUFFIX, SOCK_SEQPACKET,
					APPROVE_WAIT_MS, why);

	if (fd >= 0 || (fd != -ENOENT && fd != -ECONNREFUSED))
		return fd;
	(void)approve_dir_runs(dir, NULL, &runs, NULL); /* only for the message */
	auto_free char *list =
		runs && runs[0] ? text_command_line((const char *const *)runs, 256) : NULL;

	return err_set(why, -ENOENT,
		       "there is no run %s that a command can be added to (one with --join or --ci "
		       "accepts none)%s%s",
		       run, list ? "; gates that run: " : "", list ? list : "");
}

int cli_exec(const struct options *options)
{
	const char *run = options_get(options, OPT_INTO);
	struct into into = { .status = CLI_NO_SANDBOX };
	struct err why = { 0 };

	if (!run)
		return options_wrong(CLI_EXEC,
				     "--into RUN is missing: the run to add the command to");
	int socket = reach(run, &why);

	if (socket < 0)
		return cli_fail(CLI_NO_SANDBOX, "%s; nothing was run", why.text);
	(void)signal(SIGPIPE, SIG_IGN);
	into.loop = loop_new();
	watch_signals(&into); /* they are handled once the loop runs */
	int r = send_begin(&into, socket, options, &why);

	if (r == 0)
		r = fd_set_nonblocking(socket, true);
	if (r == 0) {
		into.link = frame_link_new(into.loop, socket, on_frame, on_closed, &into);
		if (loop_run(into.loop) < 0)
			r = err_set(&why, -EIO, "the event loop failed");
	} else {
		fd_close(socket);
	}
	into_done(&into);
	if (r < 0)
		return cli_fail(CLI_NO_SANDBOX, "%s", why.text);
	return into.why[0] ? cli_fail(into.status, "%s", into.why) : into.status;
}
