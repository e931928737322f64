/* run_summary: what is said of a run at its end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/exec_process_result.h"

struct gateway_trip;
struct policy;
struct run_lock;
struct policy_upstreams;
struct run_made;
struct run_programs;
struct run_refused;

struct run_summary {
	const char *run, *session, *bundle;  /* the file of questions; NULL: none */
	const struct run_programs *programs; /* NULL: not judged */
	/* The destinations that were contacted; borrowed. */
	const struct gateway_trip *trips, *others;
	size_t trip_count;
	/* Requests of an agent's sessions for other things than destinations: denied, and not
	 * answered. */
	uint64_t denied, unanswered;
	const struct run_made *made; /* files left behind that run code later */
	unsigned int limits;         /* BIT(enum policy_limit) of the limits that were reached, */
	const struct policy *policy; /* and their policy; borrowed */
	const struct run_refused *refused;
	const struct policy_upstreams *upstreams; /* NULL: none; borrowed */
	const char *policy_path; /* the file to which lines are added; NULL: none */
	bool asks_nobody;        /* --ci */
	const char *fails_by;    /* the option that replaced the command's status; NULL: none */
	struct exec_process_result result;
	const struct run_lock *lock;
	int exit_status;
	int command_status; /* as exit_status, unless @fails_by replaced that */
	bool has_failed;    /* the command */
	int64_t duration_ms;
};
