/* tty_agent: a question that is not about a destination, as a page: a command, a patch,
 * permissions. Private to tty*.c and far.c. */
#pragma once

#include "gateway/approvers/screen/tty_page.h"
#include "gateway/approvers/tty/tty_draft.h"

struct evbuffer;

/* @agent as a question of the terminal; it is borrowed by it. */
void tty_agent_look(const struct approver_agent_question *agent, struct approver_question *ret);
/* Keeps in @self what is needed of @agent while its question is shown, without its lines. */
void tty_agent_keep(struct approver *self, const struct approver_agent_question *agent);
/* Writes the lines above the answer's label, and returns their number. Lines that do not fit are on
 * further pages. @ret_is_whole: the person has had all of them on the screen. */
unsigned int tty_agent_write(struct evbuffer *out, const struct tty_look *look,
			     const struct approver_question *question, struct tty_draft *draft,
			     unsigned int others, bool *ret_is_whole);
/* Is the letter one of the question's answers? */
bool tty_agent_offers(const struct approver_question *question, const struct tty_answer *chosen);
