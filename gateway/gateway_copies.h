/* gateway_copies: replaces the remembered answers of one session by those of another: all that may
 * be copied, or none (docs/decisions/0025). */
#pragma once

#include <stddef.h>

struct err;
struct gateway;

/* Borrowed. */
struct gateway_copies {
	const char *text; /* an array of what `copy` of sallyport-approver(7) lists */
	size_t len;
	const char *session, *run; /* where they come from */
};
/* How many were copied, and how many were not. */
struct gateway_copied {
	size_t copied;
	size_t execs; /* were valid for one command only */
	size_t kept;  /* are in the user's policy file, which applies to every session */
	size_t spent; /* have used up their budget, or have ended */
};
/* Forgets what @gw remembered for its session, cuts what that allowed, and stores the copies in its
 * place, each with a record of its own. A copy ends when the original would, has the rest of its
 * budget to itself, and does not count as the last answer: undo does not reach it. -EBADMSG: @text
 * is no such list; -ENOSPC: no room; nothing was changed. -EIO: it could not be recorded. */
int gateway_copy(struct gateway *gw, const struct gateway_copies *copies,
		 struct gateway_copied *ret, struct err *why);
