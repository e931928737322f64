/* tty_source: the source of the questions on a terminal, which also receives the answers. Private
 * to tty*.c and far.c. */
#pragma once

#include "gateway/approvers/approver_impl.h"

struct loop;

/* The gateway of this process, or one in another process (far.c). */
struct tty_source {
	void (*each)(void *of, void (*each)(const struct approver_question *question, void *arg),
		     void *arg);
	/* As gateway_answer_text() and gateway_answer(). After -EINPROGRESS from @give,
	 * tty_answer_came() reports the result. */
	int (*text)(void *of, const char *id, const struct approver_answer *answer,
		    char out[APPROVER_KEY_MAX], struct err *why);
	int (*give)(void *of, const char *id, const struct approver_answer *answer,
		    struct err *why);
	/* An answer in progress has to be given again when @fn runs; @kept is for that. NULL: not
	 * needed. */
	void (*await)(void *of, struct gateway_kept *kept, void (*fn)(void *arg), void *arg);
	/* As gateway_touch(). */
	void (*touch)(void *of, const char *id);
	/* The terminal was closed, or, with @status, the person leaves. */
	void (*gone)(void *of);
	/* The terminal is not a command's, and shows this line while no question waits. NULL: it is
	 * returned to the command. */
	void (*status)(void *of, char *out, size_t size);
};

/* Makes an approver on @config's terminal for the questions of @source. Returned owned:
 * tty_approver.close() frees it. */
struct approver *tty_new(const struct tty_source *source, void *of, struct loop *loop,
			 const struct gateway_config *config, struct err *why);
