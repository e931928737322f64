/* tty_words: a line of typed text, whose keys are not answers: a domain, or words to the requester.
 * Private to tty*.c. */
#pragma once

#include <stdbool.h>

struct approver;
struct tty_draft;
struct tty_page;

/* Begins the words to the requester: Enter keeps them, Escape, or a backspace in an empty line,
 * restores the earlier ones. */
void tty_words_begin(struct approver *self);
void tty_words_press(struct approver *self, unsigned char key);
/* Call it when all input was read: an Escape at its end is the key. */
void tty_words_escape(struct approver *self);
/* Is a line being typed, whose keys are not answers? */
bool tty_words_is_typing(const struct tty_draft *draft);
const char *tty_words_label(const struct tty_draft *draft); /* before the typed text; static */
/* Adds the whole text that is sent. */
void tty_words_show(struct tty_page *page, const struct tty_draft *draft);

/* The result of a key while @wanted has to be typed. Never RIGHT if @wanted is "". */
enum tty_typing { TTY_TYPING_ON, TTY_TYPING_RIGHT, TTY_TYPING_BACK };
enum tty_typing tty_words_type(struct approver *self, unsigned char key, const char *wanted);
