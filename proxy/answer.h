/* answer: the server's half of an exchange: interim answers, the final head, its body; or a
 * failure, told to the client. */
#pragma once

struct session;

/* EXCHANGE: the server sent something, or closed. */
void answer_on_upstream(struct session *session);
