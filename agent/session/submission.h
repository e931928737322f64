/* submission: parses one line of the client and passes it to the function that serves it. */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct agent;

/* Serves one line of the client of @agent, a struct agent; NULL: it was too long. An error in it is
 * answered with an event, and too many lines that are no submissions close the channel. */
void submission_serve(const char *line, size_t len, void *agent);
/* Serves submissions that had to wait, in their order. Takes @held, which may be NULL. */
void submission_serve_held(json_t *held, struct agent *agent);
