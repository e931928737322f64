/* tty_source: where the questions on a terminal come from, and the answers go. Private to tty*.c
 * and far.c. */
#pragma once

#include "gateway/approvers/approver_impl.h"

struct loop;

/* Whose questions they are: those of the gateway here, or of one in another process (far.c). */
struct tty_source {
	void (*each)(void *of, void (*each)(const struct approver_question *question, void *arg),
		     void *arg);
	/* As gateway_answer_text() and gateway_answer(). -EINPROGRESS of @give: tty_answer_came()
	 * says what became of it. */
	int (*text)(void *of, const char *id, const struct approver_answer *answer,
		    char out[APPROVER_KEY_MAX], struct err *why);
	int (*give)(void *of, const char *id, const struct approver_answer *answer,
		    struct err *why);
	/* As gateway_touch(). */
	void (*touch)(void *of, const char *id);
	/* Nobody is here any more. */
	void (*gone)(void *of);
};

/* On @config's terminal, for the questions of @source. Returned owned: tty_approver.close() frees.
 */
struct approver *tty_new(const struct tty_source *source, void *of, struct loop *loop,
			 const struct gateway_config *config, struct err *why);
