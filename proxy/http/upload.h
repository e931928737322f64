/* upload: the client's half of an exchange: the request's head and its body. */
#pragma once

struct connection;

/* The upstream leg is connected: sends the head and the part of the body that has arrived. */
void upload_begin(struct connection *connection);

void upload_on_client(struct connection *connection);
void upload_on_client_drained(struct connection *connection);
void upload_on_upstream_drained(struct connection *connection);
/* The server reads no more of the request; its response may still come. */
void upload_on_cut(struct connection *connection);
/* The meter has room for bytes that wait to be sent. */
void upload_on_lease(struct connection *connection);
void upload_on_deadline(struct connection *connection);
