/* tty_prompt: shows one question as a page. Private to tty*.c. */
#pragma once

#include "gateway/approvers/tty/tty_draft.h"
#include "gateway/approvers/screen/tty_page.h"

struct evbuffer;

/* Writes the lines above the answer's label. Returns their number, and whether every line that must
 * be seen is among them, or has been on an earlier part of the same page. */
unsigned int tty_prompt_write(struct evbuffer *out, const struct tty_look *look,
			      const struct approver_question *question, struct tty_draft *draft,
			      unsigned int others, bool *ret_is_whole);
/* Reads TERM and NO_COLOR. */
void tty_prompt_look(struct tty_look *look);
/* Writes the destination in at most @width columns: a long host is cut in the middle, never at its
 * end, which @domain (may be "") is part of. */
void tty_prompt_destination(char *out, size_t size, const struct policy_destination *dst,
			    const char *domain, unsigned int width);
/* The question in one line, for what became of it: its destination, or "exec 7f3a-1". Returned
 * owned. */
char *tty_prompt_name(const struct approver_question *question);
/* "4m59s" */
void tty_prompt_left(char *out, size_t size, int64_t left_ms);
/* Adds the line with the time that is left. @is_ours: it is being answered here. */
void tty_prompt_denied(struct tty_page *page, const struct approver_question *question,
		       unsigned int others, bool is_ours);
/* Adds the letters that are possible answers; in one line if there is no room for more. */
void tty_prompt_choices(struct tty_page *page, const struct tty_look *look);
void tty_prompt_letters(struct tty_page *page, const struct tty_look *look);
