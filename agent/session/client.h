/* client: the one client of an agent, and what all its sessions share. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "agent/agent_config.h"
#include "base/loop.h"
#include "gateway/gateway_agent.h"

struct pending;
struct channel;
struct rpc;
struct command_rules;
struct policy_writer;
struct session;

#define CLIENT_BY "the agent's client" /* its name in records and beside answers */

struct agent {
	struct agent_config config;
	struct loop *loop;
	struct gateway *gateway;
	const struct policy *policy;       /* the policy in force; NULL before agent_start() */
	const struct command_rules *rules; /* the policy's rules for commands; may be NULL */
	struct rpc *rpc;
	struct channel *channel; /* of it */
	struct gateway_embedded embedded;
	TAILQ_HEAD(session_queue, session) sessions;
	size_t session_count;
	TAILQ_HEAD(pending_queue, pending) pending;
	uint64_t last_exec, last_task, last_session;
	const struct gateway_helpers *helpers; /* NULL: none */
	bool is_initialized;                   /* the client has named the version */
	json_t *unkept; /* submissions that wait until an answer is written */
	struct gateway_kept kept;
	LIST_HEAD(, policy_writer) writers; /* answers that are being written */
	size_t writer_count;
	uint64_t denied, unanswered; /* requests of all sessions; see agent_denials() */
	bool is_gone, is_deaf;       /* disconnected; has ended its input but may still read */
	bool has_gone;               /* host->on_end() was called */
	const char *end; /* the input has ended, while a session is being configured: why; static */
	void (*on_look)(void *agent); /* client_look(): from the loop */
	/* A session was configured, or could not be: @held, taken, are the submissions that waited
	 * for it; may be NULL. */
	void (*on_configured)(struct agent *agent, json_t *held);
	struct loop_timer ending, deadline;
};

/* Something of the client has ended: checks, from the loop, whether the agent can end. */
void client_look(struct agent *agent);
