#include "exec/terminal/pty.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/process/claim.h"
#include "exec/terminal/ansi.h"
#include "exec/terminal/ansi_screen.h"
#include "exec/terminal/terminal.h"

#define OUTPUT_MAX 16384
#define INPUT_MAX  4096
#define HELD_MS    1000  /* a question's hold outlives the command by no more than this */
#define DRAIN_MS   10000 /* a terminal that takes nothing (Ctrl-S) is given up on */
#define TURN_MS                                                                                    \
	250 /* in the background: how often we look whether we are in front now; no signal says so \
	     */
#define WAIT_MS     50 /* how often we look whether another gate on this terminal still asks */
#define FLUSH_TRIES 32 /* a terminal takes a few KiB at a time */
#define KEEP_MS     20 /* a command that ends before costs no keeper, and none starts later for it */
#define JIGGLE_MS   50 /* between the two size changes that make a full-screen program redraw */

/* Bytes [start, ready) may be written; [ready, end) is the beginning of an incomplete sequence. */
struct output {
	uint8_t bytes[OUTPUT_MAX];
	size_t start, ready, end;
};

struct input {
	uint8_t bytes[INPUT_MAX];
	size_t start, end;
};

struct pty {
	struct loop *loop;
	struct terminal terminal;
	int master;
	bool is_held, has_eof;
	bool is_waiting; /* until another gate on this terminal has its answer */
	bool is_late;    /* a question of our own was open for too long after the end */
	struct output output;
	struct input input;
	struct ansi ansi;
	struct event master_in, master_out, terminal_in, terminal_out, resized, continued;
	bool has_signals;
	struct loop_timer deadline, jiggle, turn, keep, wait;
	uint32_t kept_modes; /* the modes that the keeper restores */
	pty_drained_fn drained;
	void *arg;
};

static void update(struct pty *pty);

static void on_event(evutil_socket_t fd, short what, void *arg);

static void set_event(struct event *event, bool is_on)
{
	if (is_on)
		event_add(event, NULL);
	else
		event_del(event);
}

/* Output: the command's pty to the terminal. */

static void keep(void *arg)
{
	struct pty *pty = arg;
	char text[ANSI_TEXT_MAX];

	(void)ansi_screen_abandon(&pty->ansi, pty->is_held, text);
	pty->kept_modes = pty->ansi.modes;
	terminal_keep(&pty->terminal, text);
}

/* The modes to be restored have changed. */
static void keep_on(struct pty *pty)
{
	if (pty->terminal.keeper.socket >= 0)
		keep(pty);
}

static void read_master(struct pty *pty)
{
	struct output *out = &pty->output;

	if (out->start > 0) {
		memmove(out->bytes, out->bytes + out->start, out->end - out->start);
		out->ready -= out->start;
		out->end -= out->start;
		out->start = 0;
	}
	if (out->end == sizeof(out->bytes))
		return;
	ssize_t n = read(pty->master, out->bytes + out->end, sizeof(out->bytes) - out->end);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) { /* EIO: no process has the other end open */
		pty->has_eof = true;
		out->ready = out->end;
		return;
	}
	size_t boundary = ansi_feed(&pty->ansi, out->bytes + out->end, (size_t)n);

	if (boundary > 0)
		out->ready = out->end + boundary;
	if (pty->ansi.modes != pty->kept_modes)
		keep_on(pty);
	out->end += (size_t)n;
	/* A string longer than the buffer (a picture, a clipboard) has to be passed on in parts;
	 * see end_sequence(). */
	if (out->ready == 0 && out->end == sizeof(out->bytes))
		out->ready = out->end;
}

static void write_terminal(struct pty *pty)
{
	struct output *out = &pty->output;

	while (out->start < out->ready) {
		ssize_t n =
			write(pty->terminal.fd, out->bytes + out->start, out->ready - out->start);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <=
		    0) { /* the terminal is gone: its bytes go nowhere, as they would without us */
			out->start = out->ready;
			return;
		}
		out->start += (size_t)n;
	}
}

/* Input: keys to the command. */

static void read_terminal(struct pty *pty)
{
	struct input *in = &pty->input;

	if (in->start == in->end)
		in->start = in->end = 0;
	if (in->end == sizeof(in->bytes) || !terminal_is_ours(&pty->terminal)) {
		event_del(&pty->terminal_in);
		return;
	}
	ssize_t n = read(pty->terminal.fd, in->bytes + in->end, sizeof(in->bytes) - in->end);

	if (n > 0)
		in->end += (size_t)n;
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		pty->terminal.has_saved = false; /* hung up: not read or restored any more */
}

static void write_master(struct pty *pty)
{
	struct input *in = &pty->input;

	while (in->start < in->end) {
		ssize_t n = write(pty->master, in->bytes + in->start, in->end - in->start);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		in->start = n < 0 ? in->end : in->start + (size_t)n; /* EIO: no process reads it */
	}
}

static void on_drained(void *arg)
{
	struct pty *pty = arg;
	pty_drained_fn drained = pty->drained;

	/* Not under the question of another gate, which has set the modes. */
	if (!pty->is_late && !claim_share(pty->terminal.fd))
		return loop_timer_start(pty->loop, &pty->deadline, WAIT_MS, on_drained, pty);
	loop_timer_stop(&pty->deadline);
	pty->drained = NULL;
	terminal_set_raw(&pty->terminal, false);
	if (!pty->is_late)
		claim_end(pty->terminal.fd);
	drained(pty->arg);
}

/* Which events are active follows from the buffers alone. */
static void on_turn(void *arg)
{
	struct pty *pty = arg;

	if (!pty->is_held && terminal_is_ours(&pty->terminal))
		pty_resume(pty);
	else
		update(pty);
}

static void update(struct pty *pty)
{
	struct output *out = &pty->output;
	struct input *in = &pty->input;
	bool is_relaying = pty->master >= 0 && !pty->is_held && !pty->is_waiting;
	bool has_output = out->start < out->ready;

	if (pty->master < 0)
		return;
	set_event(&pty->master_in, is_relaying && !pty->has_eof && !has_output);
	set_event(&pty->terminal_out, is_relaying && has_output);
	set_event(&pty->master_out, !pty->has_eof && in->start < in->end);
	set_event(&pty->terminal_in, is_relaying && !pty->has_eof && pty->terminal.is_raw &&
					     pty->terminal.has_saved &&
					     in->end - in->start < sizeof(in->bytes));
	if (is_relaying && !pty->has_eof && !pty->terminal.is_raw && pty->terminal.has_saved)
		loop_timer_start(pty->loop, &pty->turn, TURN_MS, on_turn, pty);
	if (pty->drained && pty->has_eof && out->start == out->end)
		loop_timer_start(pty->loop, &pty->deadline, 0, on_drained, pty);
}

static void on_waited(void *arg)
{
	struct pty *pty = arg;

	pty->is_waiting = false;
	update(pty);
}

static void use_terminal(struct pty *pty, void (*use)(struct pty *pty))
{
	if (claim_share(pty->terminal.fd)) {
		use(pty);
		claim_end(pty->terminal.fd);
		return;
	}
	pty->is_waiting = true;
	loop_timer_start(pty->loop, &pty->wait, WAIT_MS, on_waited, pty);
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
	struct pty *pty = arg;

	if (fd == pty->master && (what & EV_READ)) {
		read_master(pty);
		use_terminal(pty, write_terminal);
	} else if (fd == pty->master) {
		write_master(pty);
	} else if (what & EV_READ) {
		use_terminal(pty, read_terminal);
		write_master(pty);
	} else {
		use_terminal(pty, write_terminal);
	}
	update(pty);
}

static void on_resized(evutil_socket_t signal, short what, void *arg)
{
	struct pty *pty = arg;

	terminal_copy_size(&pty->terminal, pty->master, 0);
}

/* A shell continued us, perhaps in the foreground, and the terminal's modes may have been
 * changed. */
static void on_continued(evutil_socket_t signal, short what, void *arg)
{
	struct pty *pty = arg;

	if (!pty->is_held)
		pty_resume(pty);
}

struct pty *pty_new(struct loop *loop, uint32_t flags, struct err *why)
{
	struct pty *pty = mem_new(sizeof(*pty));

	pty->loop = loop;
	pty->master = -1;
	if (terminal_init(&pty->terminal, flags, why) < 0) {
		pty_free(pty);
		return NULL;
	}
	return pty;
}

void pty_free(struct pty *pty)
{
	if (!pty)
		return;
	pty_release(pty);
	loop_timer_stop(&pty->deadline);
	loop_timer_stop(&pty->jiggle);
	loop_timer_stop(&pty->turn);
	loop_timer_stop(&pty->keep);
	loop_timer_stop(&pty->wait);
	if (pty->has_signals) {
		event_del(&pty->master_in);
		event_del(&pty->master_out);
		event_del(&pty->terminal_in);
		event_del(&pty->terminal_out);
		event_del(&pty->resized);
		event_del(&pty->continued);
	}
	fd_close(pty->master);
	terminal_done(&pty->terminal);
	free(pty);
}

void pty_start(struct pty *pty, int master)
{
	struct event_base *base = loop_base(pty->loop);

	pty->master = master;
	(void)fd_set_nonblocking(master, true); /* cannot fail for a pty */
	if (pty->terminal.has_saved)
		(void)tcsetattr(master, TCSANOW,
				&pty->terminal.saved); /* the modes for the slave; without them it
							  keeps its defaults */
	terminal_copy_size(&pty->terminal, pty->master, 0);
	event_assign(&pty->master_in, base, master, EV_READ | EV_PERSIST, on_event, pty);
	event_assign(&pty->master_out, base, master, EV_WRITE | EV_PERSIST, on_event, pty);
	event_assign(&pty->terminal_in, base, pty->terminal.fd, EV_READ | EV_PERSIST, on_event,
		     pty);
	event_assign(&pty->terminal_out, base, pty->terminal.fd, EV_WRITE | EV_PERSIST, on_event,
		     pty);
	event_assign(&pty->resized, base, SIGWINCH, EV_SIGNAL | EV_PERSIST, on_resized, pty);
	event_assign(&pty->continued, base, SIGCONT, EV_SIGNAL | EV_PERSIST, on_continued, pty);
	event_add(&pty->resized, NULL);
	event_add(&pty->continued, NULL);
	pty->has_signals = true;
	terminal_set_raw(&pty->terminal, true);
	loop_timer_start(pty->loop, &pty->keep, KEEP_MS, keep, pty);
	update(pty);
}

/* Writes all output that may be written before a question is shown. */
static void flush_output(struct pty *pty)
{
	for (int i = 0; i < FLUSH_TRIES && pty->output.start < pty->output.ready; i++) {
		if (i > 0 && !terminal_has_room(&pty->terminal))
			return;
		write_terminal(pty);
	}
}

void pty_hold(struct pty *pty)
{
	static const char cancel[] = "\x18\x1b\\"; /* ends a string that was passed on in part */
	char leave[ANSI_TEXT_MAX];

	if (pty->master < 0 || pty->is_held)
		return;
	pty->is_held = true;
	flush_output(pty);
	if (pty->ansi.state != ANSI_GROUND && pty->output.start == pty->output.end)
		terminal_write(&pty->terminal, cancel, sizeof(cancel) - 1);
	size_t len = ansi_screen_leave(&pty->ansi, leave);

	terminal_write(&pty->terminal, leave, len);
	keep(pty);
	update(pty);
}

static void on_jiggled(void *arg)
{
	struct pty *pty = arg;

	terminal_copy_size(&pty->terminal, pty->master, 0);
}

void pty_release(struct pty *pty)
{
	char restore[ANSI_TEXT_MAX];

	if (pty->master < 0 || !pty->is_held)
		return;
	pty->is_held = false;
	terminal_set_raw(&pty->terminal, true);
	size_t len = ansi_screen_restore(&pty->ansi, restore);

	terminal_write(&pty->terminal, restore, len);
	keep_on(pty);
	/* A full-screen program redraws when its size changes: by one row, and back. */
	if (ansi_is_alternate(&pty->ansi)) {
		terminal_copy_size(&pty->terminal, pty->master, 1);
		loop_timer_start(pty->loop, &pty->jiggle, JIGGLE_MS, on_jiggled, pty);
	}
	update(pty);
}

void pty_suspend(struct pty *pty)
{
	flush_output(pty);
	terminal_set_raw(&pty->terminal, false);
	update(pty);
}

void pty_resume(struct pty *pty)
{
	if (!pty->terminal.is_raw && terminal_is_ours(&pty->terminal))
		terminal_save(&pty->terminal);
	terminal_set_raw(&pty->terminal, true);
	keep_on(pty);
	terminal_copy_size(&pty->terminal, pty->master, 0);
	update(pty);
}

static void on_drain_deadline(void *arg)
{
	struct pty *pty = arg;

	if (pty->is_waiting)
		return loop_timer_start(pty->loop, &pty->deadline, DRAIN_MS, on_drain_deadline,
					pty);
	pty->has_eof = true;
	pty->output.start = pty->output.end;
	on_drained(pty);
}

static void on_held_too_long(void *arg)
{
	struct pty *pty = arg;

	pty->is_late = true;
	pty_release(pty); /* the hold was not released: restore the terminal anyway */
	loop_timer_start(pty->loop, &pty->deadline, DRAIN_MS, on_drain_deadline, pty);
	update(pty);
}

void pty_end(struct pty *pty, pty_drained_fn drained, void *arg)
{
	pty->drained = drained;
	pty->arg = arg;
	if (pty->master < 0) {
		pty->has_eof = true;
		loop_defer(pty->loop, &pty->deadline, on_drained, pty);
		return;
	}
	loop_timer_start(pty->loop, &pty->deadline, pty->is_held ? HELD_MS : DRAIN_MS,
			 pty->is_held ? on_held_too_long : on_drain_deadline, pty);
	update(pty);
}
