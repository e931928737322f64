/* tty_self: the state of an approver on a terminal, and its transitions. Private to tty*.c. */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <termios.h>

#include "base/process/keeper.h"
#include "base/loop.h"
#include "gateway/approvers/approver_impl.h"
#include "gateway/approvers/tty/tty_draft.h"
#include "gateway/approvers/screen/tty_input.h"
#include "gateway/approvers/screen/tty_page.h"
#include "gateway/approvers/tty/tty_popup.h"
#include "gateway/approvers/screen/tty_rows.h"
#include "gateway/approvers/tty/tty_source.h"

#define TTY_GUARD_MS 400 /* keys are ignored, from the fence on */
#define TTY_TICK_MS  1000

enum tty_state {
	TTY_IDLE,    /* the command has the terminal */
	TTY_DRAWING, /* the drawing is being written out */
	TTY_FENCE,   /* drawn; earlier input is still arriving */
	TTY_GUARD,   /* keys may not have been meant for the question */
	TTY_OPEN,    /* keys have an effect */
	TTY_BETWEEN, /* held, but no question is shown */
	TTY_GONE,    /* hung up */
};

/* TTY_VIEW_STATUS: no question waits, and the terminal is not a command's. */
enum tty_view { TTY_VIEW_NONE, TTY_VIEW_STATUS, TTY_VIEW_ONE, TTY_VIEW_LIST };

struct approver {
	const struct tty_source *source;
	void *of;
	struct loop *loop;
	const struct gateway_terminal *terminal;
	struct tty_look look;
	enum tty_state state;
	enum tty_view view, wanted; /* shown; asked for by a key */
	char wanted_id[APPROVER_ID_MAX];
	int fd;
	bool is_painted;         /* by what the command writes to a pipe: see APPROVER_PAINTED */
	bool is_own_fd;          /* opened again, so that O_NONBLOCK is only ours */
	struct tty_popup *popup; /* NULL: not inside tmux */
	/* @fd is a window's, and the terminal is @behind_fd; a window was asked for; none can be
	 * opened. */
	bool is_in_window, is_window_awaited, has_no_window, is_behind_own;
	int behind_fd;
	event_callback_fn on_readable, on_writable;
	struct event *read_event, *write_event, *resize_event;
	struct event *stop_event; /* Ctrl-Z; NULL: the terminal is a command's */
	struct evbuffer *out;
	struct loop_timer timer, task;
	struct loop_timer tick;  /* draws the time that is left */
	void (*next)(void *arg); /* tty_turn_next(), from the loop: shows the next question */
	struct termios saved;
	struct keeper keeper; /* restores the terminal if we die; used if no other program does */
	struct tty_input input;
	int64_t guard_since_ms;
	unsigned int fences; /* status requests that the terminal has not answered */

	struct approver_question
		question; /* shown now; id "": none. Its text pointers are not kept */
	struct approver_agent_question agent; /* of it, without texts but @agent_kind */
	char agent_kind[APPROVER_ID_MAX];
	unsigned int agents;    /* questions of agents that wait behind the page or the list */
	unsigned int others;    /* further questions that wait, for the list */
	struct tty_draft draft; /* for the question, or for the ticked rows */
	struct tty_list list;
	struct tty_given_list overdue; /* sent, without a result for too long */
	struct gateway_kept kept;
	struct tty_given_list given; /* sent; until their results came, nothing else is shown */
	struct tty_shown shown;
	unsigned int drawn; /* lines above the answer's; 0: we have drawn nothing */
	bool is_stale;      /* the screen shows an old state */
	bool is_late;       /* settled while the person typed: ignore input until Enter */
};

/* Calls @each for the open questions, as they are on this terminal. */
void tty_self_each(const struct approver *self,
		   void (*each)(const struct approver_question *question, void *arg), void *arg);
void tty_self_enter(struct approver *self, enum tty_state next);
bool tty_self_is_held(const struct approver *self);
/* Runs @self->next from the loop. */
void tty_self_later(struct approver *self);
/* Leaves if @key does that here. */
bool tty_self_leaves(struct approver *self, unsigned char key);
/* Shows a note to the person with the next drawing. */
void tty_self_note(struct approver *self, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
