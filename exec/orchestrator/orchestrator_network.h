/* orchestrator_network: what the network refused each exec; recorded while it runs, and settled
 * once. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct orchestrator;

#define ORCHESTRATOR_NETWORK_TEXT_MAX 512
#define ORCHESTRATOR_BLOCKS_MAX       64 /* kept per exec; more are only counted */

/* The effect of a denied destination on the exec. */
enum orchestrator_on_denial {
	ORCHESTRATOR_REPORT, /* none; the result lists it */
	ORCHESTRATOR_FAIL,   /* the result is DENIED, however the exec ended */
	ORCHESTRATOR_STOP    /* it is stopped at once, and DENIED */
};

enum orchestrator_network_kind {
	ORCHESTRATOR_NETWORK_NOTHING,
	ORCHESTRATOR_NETWORK_BY_POLICY,
	ORCHESTRATOR_NETWORK_DISCONNECTED, /* the client left before an answer, or there was no one
					      to answer */
	ORCHESTRATOR_NETWORK_BY_PERSON     /* or by a program that decides for a person */
};

/* One denial, as the gateway reports it. Borrowed. */
struct orchestrator_block {
	enum orchestrator_network_kind kind; /* never NOTHING */
	const char *host;                    /* NULL or "": unknown */
	const char *protocol;
	uint16_t port;
	const char *words; /* shown: a person's, or the reason; NULL: derived from @kind */
};

/* The text is borrowed until orchestrator_network_forget(). */
struct orchestrator_network_outcome {
	enum orchestrator_network_kind kind;
	const char *text;
	uint64_t blocked; /* all denials; the first ones are below */
	const struct orchestrator_block *blocks;
	uint64_t block_count;
	bool is_denial; /* the exec counts as DENIED because of it, however it ended */
};

/* Records a denial of @exec. The last denial by a person counts; without one, the first that was
 * recorded. 0; -ENOENT: the exec is unknown, or was forgotten; -ESTALE: it is settled, and nothing
 * changes; -EINVAL: @block is empty. */
int orchestrator_network_record(struct orchestrator *orchestrator, uint64_t exec,
				const struct orchestrator_block *block);
/* A question about a destination of @exec opened or closed: its clock is paused while any is open.
 * -ENOENT; -ESTALE: closed more often than opened, or the exec is over. */
int orchestrator_network_question(struct orchestrator *orchestrator, uint64_t exec, bool is_open);
/* A deferred exec has ended: from now on every call returns this outcome. Other execs are settled
 * before their result is reported. -ENOENT; -EBUSY: it still runs for its request. */
int orchestrator_network_settle(struct orchestrator *orchestrator, uint64_t exec,
				struct orchestrator_network_outcome *ret);
/* The record of a deferred exec is not needed any more. Others are forgotten after their result was
 * reported. */
void orchestrator_network_forget(struct orchestrator *orchestrator, uint64_t exec);
