/* tty: questions on the terminal of the run, one or a list of them. Private to tty*.c. */
#pragma once

#include <sys/types.h>
#include <termios.h>

#include "base/keeper.h"
#include "base/loop.h"
#include "gateway/approvers/approver_impl.h"
#include "gateway/approvers/tty_answer.h"
#include "gateway/approvers/tty_help.h"
#include "gateway/approvers/tty_input.h"
#include "gateway/approvers/tty_list.h"
#include "gateway/approvers/tty_page.h"
#include "gateway/approvers/tty_popup.h"
#include "gateway/approvers/tty_prompt.h"
#include "gateway/approvers/tty_shown.h"
#include "gateway/approvers/tty_source.h"

#define TTY_FENCE_MS 1000 /* for the terminal to answer the status report */
#define TTY_GUARD_MS 400  /* keys are ignored, from the fence on */
#define TTY_GUARD_MOST_MS                                                                          \
	2000 /* somebody who goes on typing cannot push the guard further than this */
#define TTY_RECHECK_MS      1000 /* a job in the background looks whether it came to the front */
#define TTY_QUEUE_MAX_BYTES (64U << 10)

enum tty_state {
	TTY_IDLE,    /* the terminal is the command's */
	TTY_DRAWING, /* the question is on its way to the screen */
	TTY_FENCE,   /* drawn; what was typed before is on its way in */
	TTY_GUARD,   /* keys that may not have been meant for us */
	TTY_OPEN,    /* keys count */
	TTY_BETWEEN, /* ours still, no question shown */
	TTY_GONE,    /* hung up */
};

enum tty_view { TTY_VIEW_NONE, TTY_VIEW_ONE, TTY_VIEW_LIST };

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
	bool is_own_fd; /* opened again for ourselves, so that not blocking is nobody else's
			   business */
	struct tty_popup *popup; /* NULL: not inside tmux */
	/* @fd is a window's, the terminal itself is @behind_fd; asked for; none to be had now. */
	bool is_in_window, is_window_awaited, has_no_window, is_behind_own;
	int behind_fd;
	struct event *read_event, *write_event, *resize_event;
	struct evbuffer *out;
	struct loop_timer timer, task;
	struct termios saved;
	struct keeper keeper; /* where nobody else keeps the terminal for us */
	struct tty_input input;
	int64_t guard_since_ms;
	unsigned int fences; /* status requests that the terminal has not answered */

	struct approver_question
		question;       /* shown now; id "" is none. Its text pointers are not kept */
	unsigned int others;    /* further questions that wait */
	struct tty_draft draft; /* for it, or for what is ticked */
	struct tty_list list;
	struct tty_given_list overdue; /* sent, and nothing heard of them for too long */
	struct tty_given_list given;   /* on their way; until they came nothing else is shown */
	struct tty_shown shown;
	unsigned int drawn; /* lines above the answer's; 0: nothing of ours is on the screen */
	bool is_stale;      /* what the screen shows is old */
	bool is_late;       /* typed into what was settled elsewhere: until Enter nothing counts */
};

/* Takes its own descriptor where it can. -errno with @why: it cannot be used. */
int tty_terminal_open(struct approver *self, int fd, struct err *why);
void tty_terminal_close(struct approver *self);
/* Nobody is behind it any more. */
bool tty_terminal_is_hung_up(const struct approver *self);
/* Another job has it: writing there would stop us, and what is typed there is not for us. */
bool tty_terminal_is_elsewhere(const struct approver *self);
void tty_terminal_size(struct approver *self); /* into @look */
/* Saves the attributes, and reads key by key without echo; or puts them back. */
int tty_terminal_seize(struct approver *self);
void tty_terminal_restore(struct approver *self);
/* Sends what can be sent now. 0; -EAGAIN: the rest waits for the terminal; -EIO: it is gone. */
int tty_terminal_flush(struct approver *self);
/* At most @size bytes of what was typed; 0: nothing; -EIO: gone. */
ssize_t tty_terminal_read(struct approver *self, void *bytes, size_t size);

/* Draws what is shown: for the first time, or in place of what stands there. */
void tty_draw(struct approver *self);
void tty_draw_end(struct approver *self); /* what the draft needed of the terminal is put back */

/* tty.c, for the turns */
void tty_enter(struct approver *self, enum tty_state next);
bool tty_is_held(const struct approver *self);
/* Holds the command and takes the terminal. False: not now. */
bool tty_seize(struct approver *self);
void tty_release(struct approver *self);
void tty_flush(struct approver *self);
void tty_later(struct approver *self); /* tty_turn_next(), from the loop */
void tty_watch(struct approver *self); /* what is typed on @fd */
void tty_unwatch(struct approver *self);

/* A window of tmux's. True: it is on its way, and tty_turn_next() follows. */
bool tty_window_open(struct approver *self);
void tty_window_came(int fd, void *arg);
void tty_window_close(struct approver *self);

/* What the gateway has is what is shown: oldest first, or as a list when it is much. */
void tty_turn_next(void *arg);
/* Draws again if what is shown is stale. */
void tty_turn_refresh(struct approver *self);
/* Writes a line of our own, and lets the question go. The next one, or none, comes from the loop.
 */
void tty_turn_settle(struct approver *self, const char *line);
void tty_turn_wait(struct approver *self); /* nothing is shown until the answers came */
void tty_turn_hide(struct approver *self); /* nothing is shown any more */
/* Shows the question @id in place of the list, or the list (NULL), as if it came new. */
void tty_turn_switch(struct approver *self, const char *id);
/* Says it now, by itself or on the page that is shown. */
void tty_turn_say(struct approver *self, const char *line);
/* Says it to whoever answers, with the next drawing. */
void tty_turn_note(struct approver *self, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* As typed into the open question, or the list. */
void tty_keys_press(struct approver *self, unsigned char key);
/* A key while what was typed is late: Enter and Ctrl-C end that, and are no answer. */
void tty_keys_late(struct approver *self, unsigned char key);
/* As typed where @wanted has to be typed. Never right when @wanted is "". */
enum tty_typing { TTY_TYPING_ON, TTY_TYPING_RIGHT, TTY_TYPING_BACK };
enum tty_typing tty_keys_type(struct approver *self, unsigned char key, const char *wanted);
void tty_list_keys_press(struct approver *self, unsigned char key);
void tty_list_keys_move(struct approver *self, int by);
