/* tty: one question at a time on the terminal of the run. Private to tty*.c. */
#pragma once

#include <sys/types.h>
#include <termios.h>

#include "base/loop.h"
#include "gateway/approvers/approver_impl.h"

#define TTY_FENCE_MS 1000 /* for the terminal to answer the status report */
#define TTY_GUARD_MS 400  /* keys are ignored, from the fence on */
#define TTY_GUARD_MOST_MS                                                                          \
	2000 /* somebody who goes on typing cannot push the guard further than this */
#define TTY_RECHECK_MS      1000 /* a job in the background looks whether it came to the front */
#define TTY_QUEUE_MAX_BYTES (64U << 10)
#define TTY_HOST_TAIL                                                                              \
	48 /* bytes of a long host that are always shown: the end says whose it is                 \
	    */

/* What a terminal sends is keys and reports, mixed; the parser follows ECMA-48 §5 far enough never
 * to take a byte of a report, or of a bracketed paste, for a key. Zeroed is the start. */
enum tty_input_state {
	TTY_GROUND,
	TTY_ESCAPE,
	TTY_CONTROL,
	TTY_SHIFT,
	TTY_STRING,
	TTY_STRING_ESCAPE
};
struct tty_input {
	enum tty_input_state state;
	char sequence[16]; /* of a control sequence, with its final byte */
	size_t len;
	bool is_paste;
};
enum tty_event {
	TTY_NOTHING,
	TTY_KEY,    /* one byte was typed */
	TTY_REPORT, /* a whole escape sequence went by */
	TTY_READY,  /* it was the "ready" report that ends the fence */
};
enum tty_event tty_input_feed(struct tty_input *input, unsigned char byte);

/* How the terminal may be written to. */
struct tty_look {
	unsigned int width;
	bool has_escapes; /* TERM is not dumb */
	bool has_colour;
	bool may_always; /* there is a file to write it to */
};
struct evbuffer;
/* What TERM and NO_COLOR say. */
void tty_prompt_look(struct tty_look *look);
/* Draws @question at the left edge, the cursor left behind the answer's label. Returns how many
 * lines above that the count stands. */
unsigned int tty_prompt_draw(struct evbuffer *out, const struct tty_look *look,
			     const struct approver_question *question, unsigned int others);
/* The label alone, again. */
void tty_prompt_label(struct evbuffer *out);
/* Rewrites the count @lines up and comes back; @typed bytes stand behind the label. */
void tty_prompt_recount(struct evbuffer *out, const struct tty_look *look, unsigned int lines,
			unsigned int typed, const struct approver_question *question,
			unsigned int others);
/* The destination within @width columns: a long host loses its middle, never its end. */
void tty_prompt_destination(char *out, size_t size, const struct policy_destination *dst,
			    unsigned int width);

enum tty_state {
	TTY_IDLE,    /* the terminal is the command's */
	TTY_DRAWING, /* the question is on its way to the screen */
	TTY_FENCE,   /* drawn; what was typed before is on its way in */
	TTY_GUARD,   /* keys that may not have been meant for us */
	TTY_OPEN,    /* keys count */
	TTY_BETWEEN, /* ours still, no question shown */
	TTY_GONE,    /* hung up */
};

struct approver {
	struct gateway *gw;
	struct loop *loop;
	const struct gateway_terminal *terminal;
	struct tty_look look;
	enum tty_state state;
	int fd;
	bool is_own_fd; /* opened again for ourselves, so that not blocking is nobody else's
			   business */
	struct event *read_event, *write_event;
	struct evbuffer *out;
	struct loop_timer timer, task;
	struct termios saved;
	struct tty_input input;
	int64_t guard_since_ms;

	struct approver_question
		question;         /* shown now; id "" is none. Its text pointers are not kept */
	unsigned int others;      /* further questions that wait */
	unsigned int count_lines; /* from the label up to the count; 0: not drawn */
	char letter;              /* typed and accepted, or 0 */
	unsigned int empty_count; /* Enter without a letter */
	bool is_stale;            /* the count on the screen is old */
};

/* The terminal itself. */
/* Takes its own descriptor where it can. -errno with @why: it cannot be used. */
int tty_terminal_open(struct approver *self, int fd, struct err *why);
void tty_terminal_close(struct approver *self);
/* Nobody is behind it any more. */
bool tty_terminal_is_hung_up(const struct approver *self);
/* Another job has it: writing there would stop us, and what is typed there is not for us. */
bool tty_terminal_is_elsewhere(const struct approver *self);
unsigned int tty_terminal_width(const struct approver *self);
/* Saves the attributes, and reads key by key without echo; or puts them back. */
int tty_terminal_seize(struct approver *self);
void tty_terminal_restore(struct approver *self);
/* Sends what can be sent now. 0; -EAGAIN: the rest waits for the terminal; -EIO: it is gone. */
int tty_terminal_flush(struct approver *self);
/* At most @size bytes of what was typed; 0: nothing; -EIO: gone. */
ssize_t tty_terminal_read(struct approver *self, void *bytes, size_t size);

/* tty.c, for the keys */
/* Writes a line of our own, and lets the question go. The next one, or none, comes from the loop.
 */
void tty_settled(struct approver *self, const char *line);
/* As typed into the open question. */
void tty_keys_press(struct approver *self, unsigned char key);
