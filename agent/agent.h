/* agent: the server of the protocol with which an agent's harness, in any language, runs its tool
 * tasks: one client, one message of JSON-RPC per line, many commands. sallyport-agent(7) describes
 * the protocol. The orchestrator and the gateway decide, and exec runs the commands. */
#pragma once

#include <stdint.h>

#include "agent/agent_config.h"

struct agent;
struct err;
struct gateway;
struct gateway_embedded;
struct gateway_helpers;
struct policy;

/* Returned owned. NULL with @why. Reads nothing before agent_start() is called. */
struct agent *agent_new(const struct agent_config *config, struct err *why);
/* The functions that the gateway calls, for struct gateway_config. Valid as long as the agent
 * lives. */
const struct gateway_embedded *agent_embedded(struct agent *agent);
/* The helper programs of the gateway, some of which are asked before the client: kept; NULL: there
 * are none. */
void agent_set_helpers(struct agent *agent, const struct gateway_helpers *helpers);
/* Both are kept. */
void agent_start(struct agent *agent, struct gateway *gateway, const struct policy *policy);
/* From now on @policy decides; it is kept instead of the previous one. */
void agent_set_policy(struct agent *agent, const struct policy *policy);
/* A person aborted the command with this number at the gateway. */
void agent_abort(struct agent *agent, unsigned long long number);
/* As if the client had disconnected: denies its open questions and ends what runs; host->on_end()
 * follows. */
void agent_end(struct agent *agent, const char *why);
/* How many requests for commands, programs, patches, permissions and the like were denied, by
 * somebody or because nobody could be asked or answered. Those of the gateway, about destinations,
 * are not among them. */
struct agent_denials {
	uint64_t denied, unanswered;
};
struct agent_denials agent_denials(const struct agent *agent);
/* Call it after the gateway was freed, or before it was started. Kills what is left. NULL is fine.
 */
void agent_free(struct agent *agent);
