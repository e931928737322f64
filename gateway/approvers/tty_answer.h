/* tty_answer: the answers that letters give, how wide they are, and giving them. Private to tty*.c.
 */
#pragma once

#include <sys/queue.h>

#include "gateway/approvers/approver_impl.h"
#include "gateway/bounds.h"

struct approver;
struct err;
struct tty_look;
struct tty_page;

#define TTY_NOTE_MAX 160

/* The answer somebody is about to give. Zeroed for every question. */
struct tty_draft {
	char letter; /* typed and accepted, or 0 */
	struct approver_width width;
	char covers[APPROVER_KEY_MAX]; /* what it would store: gateway_answer_text(); "": nothing */
	bool has_program;
	bool is_typing;                /* the letter allows and is not enough: @typed is wanted */
	char typed[GATEWAY_WORDS_MAX]; /* a domain fits as well */
	size_t typed_len;
	bool is_wording;                   /* @typed is to become @words */
	char words[GATEWAY_WORDS_MAX];     /* to whoever asked, printable ASCII; "": none */
	bool was_touched;                  /* the gateway knows that somebody types */
	bool is_help;                      /* the keys are listed, from line @help_from on */
	unsigned int help_from, help_next; /* help_next: 0: nothing follows */
	unsigned int empty_count;          /* Enter without a letter */
	char note[TTY_NOTE_MAX];           /* to whoever answers, or "" */
};

struct tty_answer {
	char letter;
	enum policy_action action;
	enum gateway_scope scope;
	bool is_abort;
	const char *recorded;
};

/* An answer that is on its way to a gateway elsewhere. */
struct tty_given {
	char id[APPROVER_ID_MAX];
	char *key;
	const struct tty_answer *chosen;
	STAILQ_ENTRY(tty_given) entry;
};
STAILQ_HEAD(tty_given_list, tty_given);
/* What became of the answer to @id: 0, or -errno with @why. Unknown is fine. */
void tty_answer_came(struct approver *self, const char *id, int r, const struct err *why);
/* Nothing is known of it yet: it is said, and what follows is not kept waiting. What became of it
 * is said when tty_answer_came() knows. */
void tty_answer_overdue(struct approver *self, const char *id);
void tty_answer_forget_given(struct approver *self);

/* NULL: @letter is none, or cannot be taken here. */
const struct tty_answer *tty_answer_find(const struct approver *self, unsigned char letter);
/* Sets draft.covers to exactly what the letter (or, without one, an allow for the session) would
 * store. -errno with @why: the gateway takes no such answer. */
int tty_answer_cover(struct approver *self, struct err *why);
/* A key of the scope, which widens, narrows, or is none: false. */
bool tty_answer_scope(struct approver *self, unsigned char key);
/* What @chosen would be, as the draft has it. @ret borrows the draft's words. */
void tty_answer_fill(const struct approver *self, const struct tty_answer *chosen,
		     struct approver_answer *ret);
/* Gives what is shown, and only that: tty_shown_may_answer(). The view ends. */
void tty_answer_give(struct approver *self, const struct tty_answer *chosen);
/* A denial for once, whatever is shown. */
void tty_answer_deny(struct approver *self, const struct tty_answer *chosen);
/* The same to each that is ticked. */
void tty_answer_give_ticked(struct approver *self, const struct tty_answer *chosen);

/* Words to whoever asked are typed: Enter keeps them, an escape or a backspace too many leaves
 * those that stood there before. */
void tty_words_begin(struct approver *self);
void tty_words_press(struct approver *self, unsigned char key);
/* All that has come was read: an Escape that nothing follows is the key. */
void tty_words_escape(struct approver *self);
/* A line is typed, whose keys are no answers. */
bool tty_words_is_typing(const struct tty_draft *draft);
const char *tty_words_label(const struct tty_draft *draft); /* in front of what is typed; static */
/* What is sent, all of it. */
void tty_words_show(struct tty_page *page, const struct tty_draft *draft);
