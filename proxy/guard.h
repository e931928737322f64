/* guard: a tunnel promised as https is held to it: every ClientHello that the client sends in
 * plaintext has to name the approved host before a byte of it goes upstream. */
#pragma once

#include <stddef.h>

struct guard;
struct session;

/* The client knows that it is connected: state HELLO, until the first hello was read. */
void guard_begin(struct session *session);
void guard_on_hello(struct session *session);
void guard_on_hello_deadline(struct session *session);

/* State TUNNEL, while @session->guard is there: until the client's first encrypted record. */
void guard_on_client(struct session *session);
void guard_on_server(struct session *session, const char *bytes, size_t len);

/* How much at the start of @session->in may go upstream: without a guard all of it. */
size_t guard_cleared(const struct session *session);
void guard_sent(struct session *session, size_t len);
