/* run_join: a run that has joined a session, as the files that make it see it. Private to
 * run_join*.c. */
#pragma once

#include "base/err.h"
#include "base/loop.h"
#include "cli/run_join.h"
#include "cli/session.h"

struct gateway_far;

struct run_join {
	struct session_terms terms;
	const char *name; /* of the session */
	char *id;
	int socket; /* until there is a link */
	struct frame_link *link;
	struct loop *loop;
	struct run_join_calls calls;
	struct gateway_far *far; /* asks here; NULL: nobody is asked here */
	struct gateway_trip *trips, others;
	size_t trip_count;
	struct loop_timer late;
	bool is_gone; /* the session */
	bool is_ending, is_over;
	bool was_told;             /* that its end is recorded */
	struct run_bundle *bundle; /* the gate's; NULL: not wanted */
	struct err failure;        /* of what was told */
};

/* "--join NAME: WORDS; nothing was run"; an exit status. */
int run_join_refuse(const struct run_join *join, const char *words);
/* @list, taken, and what of @more it had not. Returned owned. */
char **run_join_prepare_append(char **list, char *const *more);
