/* rpc: messages of JSON-RPC 2.0, one on each line of a channel. What comes is checked here, and
 * what is not such a message is refused and counted. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct channel;
struct err;
struct loop;
struct rpc;

#define RPC_DEPTH_MAX  64    /* of objects and lists in each other, in a message of the peer */
#define RPC_VALUES_MAX 65536 /* in all of them */
#define RPC_METHOD_MAX 64    /* bytes of the name of a method */
#define RPC_ID_MAX     128   /* bytes of an id */

/* JSON-RPC 2.0, section 5.1. */
enum rpc_code {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_NO_METHOD = -32601,
	RPC_BAD_PARAMS = -32602,
	RPC_FAILED = -32603,
	RPC_REFUSED = -32000,
	RPC_NOT_READY = -32002
};

/* A request has an id and a method, a notification only a method, and a response neither a method
 * nor @params. Borrowed for the call. */
struct rpc_message {
	const char *method;
	const json_t *id;             /* a text or an integer; NULL: none */
	const json_t *params;         /* an object, empty if it was missing */
	const json_t *result, *error; /* of a response: one of both */
	json_t *whole; /* for rpc_message_read() later, and rpc_pass(); may be changed */
};

/* As struct channel_events. */
struct rpc_events {
	void (*on_message)(const struct rpc_message *message, void *arg);
	void (*on_room)(void *arg);
	void (*on_end)(const char *why, void *arg);
	void (*on_empty)(void *arg);
	/* A message was refused, because the peer may not send such a one; may be NULL. */
	void (*on_malformed)(const char *words, void *arg);
};

struct rpc_config {
	struct loop *loop;
	int in, out;
	size_t line_max;    /* bytes of a line of the peer; 0: CHANNEL_LINE_MAX */
	size_t request_max; /* bytes of a request to it; 0: no limit but the queue's */
	/* The peer is ours: texts may have a NUL, and its first malformed line ends the channel. */
	bool is_trusted;
	const struct rpc_events *events; /* kept */
	void *arg;
};

/* Returned owned; NULL with @why. */
struct rpc *rpc_new(const struct rpc_config *config, struct err *why);
void rpc_free(struct rpc *rpc);
struct channel *rpc_channel(const struct rpc *rpc); /* borrowed */
/* Serves one line, as if it had come from the channel. NULL: it was too long. */
void rpc_hear(struct rpc *rpc, const char *line, size_t len);
/* Reads a request that was held, from the whole of it, which must outlive @ret. */
void rpc_message_read(json_t *whole, struct rpc_message *ret);

/* Each takes its JSON. False: it is longer than request_max, and was not sent. */
bool rpc_request(struct rpc *rpc, const char *id, const char *method, json_t *params);
void rpc_notify(struct rpc *rpc, const char *method, json_t *params);
void rpc_reply(struct rpc *rpc, const json_t *id, json_t *result);
/* Sends the message of another channel, which is borrowed. */
void rpc_pass(struct rpc *rpc, const json_t *whole);
/* @id may be NULL; @reason, a word for programs, becomes a member of the error's data, or NULL. */
void rpc_refuse(struct rpc *rpc, const json_t *id, enum rpc_code code, const char *reason,
		const char *words);
/* Refuses a message that nobody may send, and counts it: after too many, the channel is closed. */
void rpc_refuse_malformed(struct rpc *rpc, const json_t *id, enum rpc_code code, const char *words);
/* Was it closed for too many malformed messages? */
bool rpc_has_given_up(const struct rpc *rpc);

/* An id as text that keeps whether it was a number: owned; NULL: @id is no id. */
char *rpc_id_text(const json_t *id);
json_t *rpc_id_json(const char *text); /* the reverse; owned */
