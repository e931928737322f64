/* guard: checks a tunnel that was allowed as https: every ClientHello that the client sends in
 * plaintext must name the approved host before a byte of it goes upstream. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct guard;
struct connection;

/* The client knows that it is connected: enters state HELLO, until the first hello was checked. */
void guard_begin(struct connection *connection);
/* True: the first hello names the approved host, and may be sent. */
bool guard_reads_hello(struct connection *connection);
void guard_on_hello_deadline(struct connection *connection);

/* State TUNNEL, while @connection->guard exists: until the client's first encrypted record. */
/* True: the checked bytes may be sent. */
bool guard_reads_client(struct connection *connection);
void guard_on_server(struct connection *connection, const char *bytes, size_t len);

/* How many bytes at the start of @connection->in may go upstream; without a guard, all of them. */
size_t guard_cleared(const struct connection *connection);
void guard_sent(struct connection *connection, size_t len);
