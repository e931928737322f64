/* approve_screen: what the parts of the screen share: approve_screen.c has what is shown,
 * approve_screen_draw.c how, approve_screen_keys.c what is typed, approve_screen_many.c what is
 * answered together, approve_screen_words.c what is said to whoever asked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <termios.h>

#include "base/loop.h"
#include "cli/approve.h"
#include "cli/approve_screen.h"

#define SCREEN_QUESTIONS_MAX 1000 /* more wait without being shown, and are counted */
#define SCREEN_PAST_MAX      200
#define SCREEN_GUARD_MS      400 /* after something moved, in which no key answers */
#define SCREEN_GUARD_MOST_MS                                                                       \
	2000 /* somebody who goes on typing cannot push the guard further than this */
#define SCREEN_DRAW_MS    30 /* between two changes that are drawn */
#define SCREEN_KEYS_MAX   256
#define SCREEN_MANY_LINES 5 /* around the list of what is ticked */

enum screen_scope { SCREEN_ONCE, SCREEN_EXEC, SCREEN_SESSION, SCREEN_ALWAYS, SCREEN_SCOPES };

struct screen_question {
	TAILQ_ENTRY(screen_question) entry;
	struct watch_link *link;
	json_t *question; /* owned */
	char id[APPROVE_ID_MAX];
	int64_t due_ms;   /* loop_now_ms() */
	bool is_answered; /* sent, and not settled yet */
	bool is_ticked;
};
TAILQ_HEAD(screen_questions, screen_question);

struct approve_screen {
	struct watch *watch;
	struct screen_questions questions;
	size_t count, hidden;           /* hidden: past the limit */
	struct screen_question *chosen; /* NULL: none waits */
	struct approve_width width;     /* of an answer for longer than once */
	char *previews[SCREEN_SCOPES];  /* what an allow would grant; NULL: not known yet */
	bool can_be[SCREEN_SCOPES];     /* it can be granted at all */
	unsigned int tag;               /* of the previews that are wanted */
	int64_t moved_ms, ready_ms;  /* the last that something moved; keys answer from then on */
	bool is_cramped;             /* what an allow grants has no room on the screen */
	char *drawn;                 /* approve_screen_drawn.c; owned. NULL: nothing was */
	bool was_many;               /* then, the list of what is ticked was drawn */
	char *past[SCREEN_PAST_MAX]; /* a ring: what became of questions, and what was said */
	size_t past_count;
	bool is_help;
	bool is_late;    /* typed for a question that has gone: until Enter it goes nowhere */
	bool is_many;    /* the word that answers all that is ticked is typed */
	bool is_wording; /* words are typed; is_words_for_many: what was typed is for all that is
			    ticked */
	bool is_words_for_many;
	char words[APPROVE_WORDS_MAX]; /* for the next answer */
	bool is_typing;                /* the domain of what is to be allowed: */
	struct approve_answer pending;
	char typed[APPROVE_CONFIRM_MAX];
	unsigned char keys[SCREEN_KEYS_MAX];
	size_t key_count;
	bool was_escape; /* the last of them, by itself: what comes next may belong to it */
	bool is_pasting;
	struct termios before;
	bool is_raw, has_colours;
	struct event *size_event, *stop_event;
	struct loop_timer draw, tick;
	uint16_t rows, columns;
};

/* Draws it soon. */
void approve_screen_touch(struct approve_screen *screen);
void approve_screen_choose(struct approve_screen *screen, struct screen_question *question);
/* Something moved: for a moment no key answers. */
void approve_screen_guard(struct approve_screen *screen);
/* Asks what each key would grant now. */
void approve_screen_preview(struct approve_screen *screen);
/* The text to type before @question can be allowed; "": none. Borrowed. */
const char *approve_screen_typed(const struct screen_question *question);
void approve_screen_send(struct approve_screen *screen, const struct approve_answer *answer);
const char *approve_screen_scope(enum screen_scope scope);
/* What the keys do, line by line; NULL behind the last. Static. */
const char *approve_screen_keys_help(size_t line);

void approve_screen_draw(struct approve_screen *screen);
/* All of it went to the terminal: what somebody may agree to by looking is taken down. */
void approve_screen_drawn_take(struct approve_screen *screen);
/* It is so still. False: that is said, and it is drawn again; a key that comes later answers. */
bool approve_screen_drawn_is(struct approve_screen *screen);
/* May what was agreed to before one question be agreed to before the other? */
bool approve_screen_drawn_is_same(const json_t *one, const json_t *other);
/* The terminal's size, as it is now. */
void approve_screen_measure(struct approve_screen *screen);
/* Something moved so lately that no key answers. */
bool approve_screen_keys_are_early(struct approve_screen *screen);

size_t approve_screen_many_count(const struct approve_screen *screen);
void approve_screen_many_tick(struct approve_screen *screen);     /* the chosen one, or not */
void approve_screen_many_tick_all(struct approve_screen *screen); /* that does not warn */
void approve_screen_many_review(struct approve_screen *screen);   /* questions changed */
/* Shows what is ticked, and waits for the word. */
void approve_screen_many_begin(struct approve_screen *screen, const char *op,
			       enum screen_scope scope);
void approve_screen_many_type(struct approve_screen *screen, unsigned char key);
void approve_screen_words_begin(struct approve_screen *screen);
void approve_screen_words_type(struct approve_screen *screen, unsigned char key);
/* They go with those that they were typed for. @is_another: is chosen now. */
void approve_screen_words_review(struct approve_screen *screen, bool is_another);
/* The lines that what is ticked takes, and its words. */
size_t approve_screen_draw_many_height(const struct approve_screen *screen);
