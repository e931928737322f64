/* run_join: the state of a run that has joined a session. Private to run_join*.c. */
#pragma once

#include "base/err.h"
#include "base/loop.h"
#include "cli/run/run_gateway.h"
#include "cli/run/run_join.h"
#include "cli/session/session_place.h"
#include "cli/session/session_wire.h"

struct gateway_far;

struct run_join {
	struct run_gateway base;
	struct gate *gate; /* its gateway is in the session's process */
	struct session_terms terms;
	const char *name; /* of the session */
	char *id;         /* "7f3a21.3": the session's run and the exec in it, as in records */
	int socket;       /* until there is a link */
	struct frame_link *link;
	struct loop *loop;
	struct run_gateway_calls calls;
	struct gateway_far *far; /* shows questions on this terminal; NULL: no question is shown */
	struct gateway_trip *trips, others;
	size_t trip_count;
	struct loop_timer late;
	bool is_gone; /* the session has ended */
	bool is_ending, is_over;
	bool was_told;      /* the session confirmed that the end is recorded */
	struct err failure; /* what the session reported */
};

extern const struct run_gateway_ops run_join_ops;

/* Adds the paths that no command of the session may change or see, once gate_view() has been
 * called. */
void run_join_prepare_view(struct run_gateway *self);
/* Prints "--join NAME: WORDS; nothing was run"; returns an exit status. */
int run_join_refuse(const struct run_join *join, const char *words);
/* Takes @list and adds the entries of @more that it lacks. Returned owned. */
char **run_join_prepare_append(char **list, char *const *more);
