/* tty_draft: values: the answer that a person is preparing, and what the screen shows of it.
 * Private to tty*.c. */
#pragma once

#include <sys/queue.h>

#include "gateway/approvers/approver_impl.h"
#include "gateway/approvers/screen/tty_scroll.h"
#include "gateway/bounds.h"

#define TTY_NOTE_MAX 160

/* The answer that a person is preparing. Zeroed for every question. */
struct tty_draft {
	char letter; /* typed and accepted, or 0 */
	struct approver_width width;
	char covers[APPROVER_KEY_MAX]; /* what it would store: gateway_answer_text(); "": no text */
	bool has_program;
	bool is_typing;                /* the letter allows, and @typed is needed as well */
	char typed[GATEWAY_WORDS_MAX]; /* large enough for a domain too */
	size_t typed_len;
	bool is_wording;                   /* @typed will become @words */
	char words[GATEWAY_WORDS_MAX];     /* to the requester, printable ASCII; "": none */
	bool was_touched;                  /* the gateway knows that a person is typing */
	bool is_help;                      /* the list of keys is shown, from line @help_from on */
	unsigned int help_from, help_next; /* help_next: 0: it is the last page */
	struct tty_scroll scroll;
	unsigned int empty_count; /* times that Enter was pressed without a letter */
	char note[TTY_NOTE_MAX];  /* to the person, or "" */
};

struct tty_answer {
	char letter;
	enum policy_action action;
	enum gateway_scope scope;
	bool is_abort;
	const char *recorded;
};

/* An answer that was sent, and has no result yet. */
struct tty_given {
	char id[APPROVER_ID_MAX];
	char *key;
	const struct tty_answer *chosen;
	bool is_agent;
	struct approver_answer answer; /* its texts are copies */
	STAILQ_ENTRY(tty_given) entry;
};
STAILQ_HEAD(tty_given_list, tty_given);

/* Zeroed is empty: nothing is on the screen, and nothing can be answered. */
struct tty_shown {
	char *asked;           /* the part that no key of ours changes; owned */
	char *given;           /* the part that keys change; owned */
	int64_t moved_ms;      /* when @asked last changed while it was shown */
	bool is_whole;         /* every line that must be seen is on the screen */
	unsigned long drawing; /* number of the drawing */
	char id[APPROVER_ID_MAX];
	struct approver_answer answer; /* its texts are @words and @covers */
	char words[GATEWAY_WORDS_MAX], covers[APPROVER_KEY_MAX];
};
