/* talk: a session, one conversation of the client: its sandbox, its approval policy, its tasks. */
#pragma once

#include <stdbool.h>

struct agent;
struct asked;
struct err;
struct session;
struct submission;

int talk_configure(struct agent *agent, const struct submission *submission, struct err *why);
int talk_serve_end(struct agent *agent, const struct submission *submission, struct err *why);

/* NULL @name: the first there is. NULL: there is none that takes anything. */
struct session *talk_find(struct agent *agent, const char *name);
/* Everything of it is to end; what it was asked is denied. The session goes when its last task
 * has. */
void talk_end(struct session *session, const char *why);
/* Frees it, if it is closing and empty. True: it did. */
bool talk_sweep(struct session *session);
void talk_free(struct session *session);
