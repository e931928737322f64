/* http1_connection: what a message says about its connection, and which fields are hop-by-hop (RFC
 * 9110 §7.6.1, RFC 9112 §9). */
#pragma once

#include <stdbool.h>

struct http1_field;
struct http1_head;

/* Fills keep_alive, has_upgrade and expects_continue. Call it when the body is known. */
void http1_connection_read(struct http1_head *head, bool is_request);
/* Is @field hop-by-hop: in the fixed list of RFC 9110 §7.6.1 (Connection, Keep-Alive, Proxy-*, TE,
 * Trailer, Transfer-Encoding, Upgrade) or named by a Connection field? A Connection field cannot
 * make Content-Length or Host hop-by-hop. */
bool http1_connection_ends_field(const struct http1_head *head, const struct http1_field *field);
