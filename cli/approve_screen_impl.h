/* approve_screen: what the parts of the screen share: approve_screen.c has what is shown,
 * approve_screen_draw.c how, approve_screen_keys.c what is typed. */
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
#define SCREEN_DRAW_MS       30  /* between two changes that are drawn */
#define SCREEN_KEYS_MAX      256

enum screen_scope { SCREEN_ONCE, SCREEN_EXEC, SCREEN_SESSION, SCREEN_ALWAYS, SCREEN_SCOPES };

struct screen_question {
	TAILQ_ENTRY(screen_question) entry;
	struct watch_link *link;
	json_t *question; /* owned */
	char id[APPROVE_ID_MAX];
	int64_t due_ms;   /* loop_now_ms() */
	bool is_answered; /* sent, and not settled yet */
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
	int64_t ready_ms;               /* keys answer from then on */
	char *past[SCREEN_PAST_MAX];    /* a ring: what became of questions, and what was said */
	size_t past_count;
	bool is_help;
	bool is_typing; /* the domain of what is to be allowed: */
	struct approve_answer pending;
	char typed[APPROVE_CONFIRM_MAX];
	unsigned char keys[SCREEN_KEYS_MAX];
	size_t key_count;
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
/* Asks what each key would grant now. */
void approve_screen_preview(struct approve_screen *screen);
/* The text to type before @question can be allowed; "": none. Borrowed. */
const char *approve_screen_typed(const struct screen_question *question);
void approve_screen_send(struct approve_screen *screen, const struct approve_answer *answer);
const char *approve_screen_scope(enum screen_scope scope);

void approve_screen_draw(struct approve_screen *screen);
