/* agent_session: begins and ends a session, which is one conversation of the client: its sandbox,
 * its approval policy, its tasks. */
#pragma once

#include <stdbool.h>

struct agent;
struct err;
struct session;
struct submission;

int agent_session_configure(struct agent *agent, const struct submission *submission,
			    struct err *why);
int agent_session_override(struct agent *agent, const struct submission *submission,
			   struct err *why);
int agent_session_serve_end(struct agent *agent, const struct submission *submission,
			    struct err *why);

/* Is a session's configuration being examined? Until it was, submissions to it wait:
 * on_configured() of the agent gets them. */
bool agent_session_is_pending(const struct agent *agent);
/* NULL @name: the first session. NULL: there is none that takes submissions. */
struct session *agent_session_find(struct agent *agent, const char *name);
/* Ends all of its tasks; its open questions are denied. The session is freed after its last task.
 */
void agent_session_end(struct session *session, const char *why);
/* Frees the session if it is closing and has no tasks. True: it did. */
bool agent_session_sweep(struct session *session);
void agent_session_free(struct session *session);
