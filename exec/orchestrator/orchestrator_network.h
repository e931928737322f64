/* orchestrator_network: what the network did to each attempt, recorded while it runs and settled
 * once. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct orchestrator;

#define ORCHESTRATOR_NETWORK_TEXT_MAX 512
#define ORCHESTRATOR_BLOCKS_MAX       64 /* kept of one attempt; more are only counted */

/* What a denial on the way out does to the attempt. */
enum orchestrator_on_denial {
	ORCHESTRATOR_REPORT, /* nothing; it stands in the result */
	ORCHESTRATOR_FAIL,   /* the result is DENIED, whatever the attempt made of it */
	ORCHESTRATOR_STOP    /* it is stopped at once, and DENIED */
};

enum orchestrator_network_kind {
	ORCHESTRATOR_NETWORK_NOTHING,
	ORCHESTRATOR_NETWORK_BY_POLICY,
	ORCHESTRATOR_NETWORK_DISCONNECTED, /* who asked was gone before an answer, or there was none
					    */
	ORCHESTRATOR_NETWORK_BY_PERSON     /* or by who decides in a person's place */
};
enum orchestrator_network_reason {
	ORCHESTRATOR_BLOCKED, /* nothing more is known */
	ORCHESTRATOR_BLOCKED_DENIED,
	ORCHESTRATOR_BLOCKED_UNLISTED,
	ORCHESTRATOR_BLOCKED_LOCAL,
	ORCHESTRATOR_BLOCKED_METHOD,
	ORCHESTRATOR_BLOCKED_NO_GATE,
	ORCHESTRATOR_NETWORK_REASONS
};

/* One denial, as the gateway tells it. Borrowed. */
struct orchestrator_block {
	enum orchestrator_network_kind kind; /* never NOTHING */
	enum orchestrator_network_reason reason;
	const char *host; /* NULL or "": not known */
	const char *protocol;
	uint16_t port;
	const char *words; /* a person's, shown; NULL: made from the reason */
};

/* The text is borrowed until orchestrator_network_forget(). */
struct orchestrator_network_outcome {
	enum orchestrator_network_kind kind;
	enum orchestrator_network_reason reason;
	const char *text;
	uint64_t blocked; /* denials in all, of which the first are below */
	const struct orchestrator_block *blocks;
	uint64_t block_count;
	bool is_denial; /* its owner is DENIED by it, whatever it makes of itself */
};

/* A denial of @attempt. What a person said stands until a person says otherwise; else the first
 * that was recorded stands. 0; -ENOENT: no such attempt, or it was forgotten; -ESTALE: it is
 * settled, and nothing changes; -EINVAL: it says nothing. */
int orchestrator_network_record(struct orchestrator *orchestrator, uint64_t attempt,
				const struct orchestrator_block *block);
/* A question on the way out of @attempt opened or closed: its clock stands still while any is open.
 * -ENOENT; -ESTALE: closed more often than opened, or it is over. */
int orchestrator_network_question(struct orchestrator *orchestrator, uint64_t attempt,
				  bool is_open);
/* A deferred attempt has ended. From now on its outcome is this, for whoever looks, how often ever.
 * Other attempts are settled before their result is told. -ENOENT; -EBUSY: it
 * still runs for its call. */
int orchestrator_network_settle(struct orchestrator *orchestrator, uint64_t attempt,
				struct orchestrator_network_outcome *ret);
/* As it is now. -ENOENT. */
int orchestrator_network_look(const struct orchestrator *orchestrator, uint64_t attempt,
			      struct orchestrator_network_outcome *ret);
/* Of a deferred attempt: nobody looks at it any more. Others are forgotten after their result was
 * told. */
void orchestrator_network_forget(struct orchestrator *orchestrator, uint64_t attempt);
