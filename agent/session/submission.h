/* submission: passes one request of the client to the function that serves it. */
#pragma once

#include <jansson.h>

struct agent;
struct rpc_message;

/* Serves one message of the client of @agent, a struct agent. Each is answered, those that are no
 * submission with an error. */
void submission_serve(const struct rpc_message *message, void *agent);
/* Serves submissions that had to wait, in their order. Takes @held, which may be NULL. */
void submission_serve_held(json_t *held, struct agent *agent);
