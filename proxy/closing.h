/* closing: the polite ends: the last answer is flushed, and what the client still sends is thrown
 * away within bounds, so that a reset does not take the answer from under it. */
#pragma once

#include "policies/policies.h"

struct session;

/* No more will be sent: flush, half-close, discard, close. The request's report is the caller's. */
void closing_linger(struct session *session);
/* As closing_linger() when the client may still be sending; at once when there is nothing to lose.
 */
void closing_finish(struct session *session);
/* Throws away the refused request's body, then reads the next request; too much of it: lingers. */
void closing_drain(struct session *session);

void closing_on_client(struct session *session);
void closing_on_client_drained(struct session *session);
void closing_on_deadline(struct session *session);
