/* answer: the server's half of an exchange: interim responses, the final head, its body; or a
 * failure that is reported to the client. */
#pragma once

struct connection;

/* EXCHANGE: the server sent bytes, or closed. */
void answer_on_upstream(struct connection *connection);
/* The meter has room for bytes that wait to be read. */
void answer_on_lease(struct connection *connection);
