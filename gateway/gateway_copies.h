/* gateway_copies: what one session remembers, in the place of what another does: all of it that may
 * be copied, or nothing (docs/decisions/0123). */
#pragma once

#include <stddef.h>

struct err;
struct gateway;

/* Borrowed. */
struct gateway_copies {
	const char *text; /* an array of what `copy` of sallyport-approver(7) lists */
	size_t len;
	const char *session, *run; /* whose */
};
/* How many were copied, and how many not. */
struct gateway_copied {
	size_t copied;
	size_t execs; /* were for one command */
	size_t kept;  /* are in the user's policy file, which holds for everybody */
	size_t spent; /* have nothing left of a budget, or are over */
};
/* What @gw remembered for its session is forgotten, and cut; the copies take its place, each with a
 * record of its own. They end when they did there, count what was left there for themselves, and
 * are nobody's last answer: undo does not reach them. -EBADMSG: that is no such list; -ENOSPC: no
 * room; nothing was changed. -EIO: it could not be recorded. */
int gateway_copy(struct gateway *gw, const struct gateway_copies *copies,
		 struct gateway_copied *ret, struct err *why);
