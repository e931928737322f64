/* rings: which requests a worker decides by itself. A plain rule of the policy in force (no limit,
 * no requester, no question) may be applied where the request is read: the worker writes it into a
 * ring before it lets the request go, and the gateway records it a moment later. Under `durable
 * strict`, with rules about requesters, and while the log fails, the gateway decides everything. */
#pragma once

#include <stdint.h>

struct gateway;
struct worker;

/* Request @id came over the link. A worker with many of them gets a ring. */
void rings_asked(struct worker *worker, uint64_t id);
/* Handles what the worker has written. 0, or -EBADMSG: that is malformed. */
int rings_read(struct worker *worker);
/* The link is closed, or closes: handles the rest. */
void rings_end(struct worker *worker);
/* Call it when the policy has changed, and at the start. */
void rings_policy(struct gateway *gw);
/* From now on, and until rings_turn(), workers decide nothing; what they have decided is known. */
void rings_hold(struct gateway *gw);
/* Call it in every turn, after the records are written. */
void rings_turn(struct gateway *gw);
