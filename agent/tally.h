/* tally: how many decisions a session has had, by tool, decision and source. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct gateway_exec_event;
struct orchestrator_decided;

enum tally_source {
	TALLY_BY_POLICY, /* a rule, or the approval mode */
	TALLY_BY_CACHE,  /* an earlier answer about a command or a patch */
	TALLY_BY_HOOK,
	TALLY_BY_REVIEWER,
	TALLY_BY_USER,   /* the client, or another approver; of destinations also an earlier one */
	TALLY_BY_NOBODY, /* no answer: a timeout, nobody to ask, or a withdrawal */
	TALLY_SOURCES
};
#define TALLY_TOOLS 8 /* the kinds of an orchestrator, programs, retries and escalations */
struct tally {
	uint64_t counts[TALLY_TOOLS][2][TALLY_SOURCES];
};

void tally_decided(struct tally *tally, const struct orchestrator_decided *decided,
		   bool is_program);
void tally_network(struct tally *tally, const struct gateway_exec_event *event);
/* One object for each combination that has occurred. @tools: the names of the kinds. Returned
 * owned. */
json_t *tally_json(const struct tally *tally, const char *const *tools);
