/* received: a submission of the client, after parsing. */
#pragma once

#include <jansson.h>

struct session;

/* Borrowed for the call. */
struct submission {
	const char *id;          /* in the form of rpc_id_text() */
	struct session *session; /* NULL: none, and none is needed */
	const json_t *body;      /* its params */
};
