/* outcome: the record of what the network refused one attempt, and which of it counts. */
#pragma once

#include "exec/orchestrator/orchestrator_network.h"
#include "exec/orchestrator/orchestrator_request.h"

struct outcome_record {
	enum orchestrator_network_kind kind;
	enum orchestrator_network_reason reason;
	char text[ORCHESTRATOR_NETWORK_TEXT_MAX];
	uint64_t blocked;
	struct orchestrator_block blocks[ORCHESTRATOR_BLOCKS_MAX]; /* their strings are owned */
	uint64_t block_count;
	bool is_settled;
};

/* 0; -EINVAL: it says nothing; -ESTALE: settled. Neither changes anything. */
int outcome_add(struct outcome_record *record, const struct orchestrator_block *block);
void outcome_settle(struct outcome_record *record); /* again is fine */
struct orchestrator_network_outcome outcome_look(const struct outcome_record *record);
/* Did a person deny this destination? */
bool outcome_has_denied(const struct outcome_record *record,
			const struct orchestrator_access *access);
void outcome_done(struct outcome_record *record);
