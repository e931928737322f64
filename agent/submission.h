/* submission: one line of the client: what it is, and who serves it. */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct agent;
struct err;
struct session;

/* As it was read. Borrowed for the call. */
struct submission {
	const char *type, *id;
	struct session *session; /* NULL: there is none, and none is needed */
	const json_t *body;
};

/* Serves one line. What is wrong is answered, and counted where it is no submission at all. */
void submission_serve(struct agent *agent, const char *line, size_t len);
