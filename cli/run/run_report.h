/* run_report: what is printed at the end of a run. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "exec/exec_process_result.h"

struct gateway_trip;
struct policy;
struct run_made;
struct run_programs;

enum run_report { RUN_REPORT_AUTO, RUN_REPORT_TEXT, RUN_REPORT_JSON, RUN_REPORT_NONE };

struct run_summary {
	const char *run, *session, *bundle;  /* the file of questions; NULL: none */
	const struct run_programs *programs; /* NULL: not judged */
	/* The destinations that were contacted; borrowed. */
	const struct gateway_trip *trips, *others;
	size_t trip_count;
	const struct run_made *made; /* files left behind that run code later */
	unsigned int limits;         /* BIT(enum policy_limit) of the limits that were reached, */
	const struct policy *policy; /* and their policy; borrowed */
	struct exec_process_result result;
	int exit_status;
	int command_status; /* as exit_status, unless --fail-on-ask replaced that */
	int64_t duration_ms;
};
/* Prints the trip report on stderr, in @form (text or json). */
void run_report_print(const struct run_summary *summary, enum run_report form);
/* Writes the result as one JSON line to @fd: 0 or -errno. */
int run_report_json(const struct run_summary *summary, int fd);
