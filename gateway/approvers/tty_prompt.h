/* tty_prompt: one question as a page. Private to tty*.c. */
#pragma once

#include "gateway/approvers/tty_answer.h"
#include "gateway/approvers/tty_page.h"

struct evbuffer;

/* One question as lines, those above the answer's label. Returns how many, and whether all that has
 * to be seen is among them. */
unsigned int tty_prompt_write(struct evbuffer *out, const struct tty_look *look,
			      const struct approver_question *question,
			      const struct tty_draft *draft, unsigned int others,
			      bool *ret_is_whole);
/* What TERM and NO_COLOR say. */
void tty_prompt_look(struct tty_look *look);
/* The destination within @width columns: a long host loses its middle, never its end, which
 * @domain (may be "") belongs to. */
void tty_prompt_destination(char *out, size_t size, const struct policy_destination *dst,
			    const char *domain, unsigned int width);
/* The letters that answer, and nothing but those that can be taken; in one line, where there is no
 * room for more. */
void tty_prompt_choices(struct tty_page *page, const struct tty_look *look);
void tty_prompt_letters(struct tty_page *page, const struct tty_look *look);
