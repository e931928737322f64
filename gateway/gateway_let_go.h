/* gateway_let_go: a worker applies the plain rules of the policy itself. docs/decisions/0038 gives
 * the reason, and how each request is recorded all the same. */
#pragma once

struct gateway_client;
struct policy;

/* The policy in force, borrowed until the next call. Call it at the start, and for every new image;
 * the gateway says when requests may be let go by it. Over a link only. */
void gateway_client_decide_by(struct gateway_client *client, const struct policy *policy);
