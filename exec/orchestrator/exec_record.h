/* exec_record: one run of a command, its clock, and the record of what the network refused it. */
#pragma once

#include <sys/queue.h>

#include "base/loop.h"
#include "exec/orchestrator/orchestrator_network.h"
#include "exec/orchestrator/orchestrator_request.h"

struct setting;

/* The record of a deferred exec outlives its request. */
struct exec_record {
	TAILQ_ENTRY(exec_record) entry;
	struct exec_records *execs;
	uint64_t number, request;
	enum orchestrator_on_denial on_denial;
	bool is_running, is_deferred;
	struct {
		enum orchestrator_network_kind kind;
		char text[ORCHESTRATOR_NETWORK_TEXT_MAX];
		uint64_t blocked;
		struct orchestrator_block blocks[ORCHESTRATOR_BLOCKS_MAX]; /* texts are owned */
		uint64_t block_count;
		bool is_settled;
	} network;
	unsigned int pauses, told_questions; /* open questions about it; of those, the gateway's */
	bool is_told_paused, wants_stop, is_told_stop;
	char stop_why[ORCHESTRATOR_TEXT_MAX];
	struct loop_timer task;
};
/* All execs of an orchestrator. */
struct exec_records {
	struct setting *setting;
	TAILQ_HEAD(, exec_record) list;
	size_t count;
};

void exec_record_list_init(struct exec_records *execs, struct setting *setting);
void exec_record_list_done(struct exec_records *execs);

/* A new exec for @wanted, the request of this number. It is in the list, and runs. */
struct exec_record *exec_record_new(struct exec_records *execs, uint64_t request,
				    const struct orchestrator_request *wanted);
struct exec_record *exec_record_find(const struct exec_records *execs, uint64_t number);
void exec_record_free(struct exec_record *exec);
/* Do new events belong to it: does it run, or continue deferred after its request ended? */
bool exec_record_is_live(const struct exec_record *exec);

/* Pause and resume the clock; the operation itself is called from a task. */
void exec_record_hold_clock(struct exec_record *exec);
void exec_record_release_clock(struct exec_record *exec);
void exec_record_stop(struct exec_record *exec, const char *why);
/* Records a denial, and stops the exec if it is configured so. 0; -EINVAL: @block is empty;
 * -ESTALE: settled. On an error nothing changes. */
int exec_record_block(struct exec_record *exec, const struct orchestrator_block *block);
void exec_record_settle(struct exec_record *exec); /* idempotent */
/* What the network refused it, so far or finally. */
struct orchestrator_network_outcome exec_record_outcome(const struct exec_record *exec);
/* Did a person deny this destination? */
bool exec_record_has_denied(const struct exec_record *exec,
			    const struct orchestrator_access *access);
