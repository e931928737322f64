/* mcp: what its files share: mcp.c has the messages, mcp_tools.c the tools, mcp_call.c
 * their calls, mcp_ask.c the questions, mcp_roots.c the folders of the client. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "agent/agent_mcp.h"
#include "agent/rpc/rpc.h"
#include "base/err.h"
#include "base/loop.h"

#define MCP_CALLS_MAX     256
#define MCP_ASKS_MAX      256
#define MCP_WORDS_MAX     400        /* of a person, to the requester */
#define MCP_KEPT_BYTES    32768      /* of the head and of the tail of an output, in a result */
#define MCP_EVENT_MAX     (8U << 20) /* bytes of an agent's line: three outputs, fully escaped */
#define MCP_TOKEN_MAX     256        /* bytes of a progress token of the client */
#define MCP_WAIT_MS       1000       /* of a poll, if the client does not say */
#define MCP_WAIT_MAX      600000
#define MCP_ENDED_MAX     64    /* results of background commands that were not polled */
#define MCP_ID_MAX        24    /* "c1" */
#define MCP_ANSWER        'q'   /* the first letter of the id of an answer */
#define MCP_ROOTS         'r'   /* the same, of what is about roots */
#define MCP_ROOTS_MS      10000 /* for the client to list its roots */
#define MCP_ROOTS_MAX     32
#define MCP_SESSION       "mcp"
#define MCP_HELLO         "hello"
#define MCP_AGENT_VERSION 2 /* of the agent's protocol */

enum mcp_tool { MCP_RUN, MCP_BACKGROUND, MCP_POLL, MCP_KILL, MCP_LIST, MCP_TOOLS };

/* A tools/call request that was not replied to yet, or a command in the background. */
struct mcp_call {
	struct mcp *mcp;
	enum mcp_tool tool;
	bool is_behind; /* BACKGROUND: it was replied to, and continues or waits for its poll */
	bool has_ended; /* is_behind: end is its result */
	char *line;     /* of a command, for the list; owned */
	char id[MCP_ID_MAX];
	json_t *request; /* the client's id; NULL: it wants no reply any more */
	json_t *held;    /* what is sent to the agent once the roots are known; NULL: it was sent */
	uint64_t exec;   /* 0: not started */
	json_t *end;     /* the result of exec, once received */
	json_t *token;   /* of the progress notifications; NULL: none wanted */
	int64_t began_ms, progress;
	char *waits_for; /* a question; NULL: none */
	struct loop_timer tick;
	LIST_ENTRY(mcp_call) entry;
};

/* An elicitation/create request, until the client answers or it is settled elsewhere. */
struct mcp_ask {
	char id[MCP_ID_MAX]; /* of our request, and of our answer to the agent */
	char *approval, *kind;
	json_t *decisions; /* the offered ones */
	bool was_answered, was_denied;
	LIST_ENTRY(mcp_ask) entry;
};

/* The folders that the client says it works in. */
struct mcp_roots {
	bool is_supported;   /* it has told that it can list them */
	bool is_awaited;     /* calls wait until a list is settled */
	bool must_ask;       /* they have changed since they were asked for */
	bool is_set;         /* the session has those of a list */
	char id[MCP_ID_MAX]; /* of the open request; "": none */
	char **paths;        /* that are being looked at; NULL: none */
	struct aside *look;
	struct loop_timer late;
	char *refused; /* the folders that do not count, and why; NULL: none */
};

struct mcp {
	struct mcp_config config;
	struct mcp_roots roots;
	char *version, *approval, *sandbox;
	struct rpc *front, *back;
	bool is_initialized, can_elicit, is_over;
	char *refused; /* why no session could be made */
	char *closing; /* why the agent ends */
	uint64_t last_id;
	LIST_HEAD(mcp_call_list, mcp_call) calls;
	LIST_HEAD(mcp_ask_list, mcp_ask) asks;
	size_t call_count, ask_count;
};

/* Sends a request to the agent; takes @params. False: it is longer than an agent accepts, and was
 * not sent. */
bool mcp_tell_agent(struct mcp *mcp, const char *method, const char *id, json_t *params);
/* A reply to @request; takes @result. */
void mcp_reply(struct mcp *mcp, const json_t *request, json_t *result);
void mcp_refuse(struct mcp *mcp, const json_t *request, enum rpc_code code, const char *words);
void mcp_make_id(struct mcp *mcp, char prefix, char ret[MCP_ID_MAX]);

json_t *mcp_tools_list(void); /* the result of tools/list; owned */
/* False: no tool has this name. */
bool mcp_tools_find(const char *name, enum mcp_tool *ret);
/* The submission of a call: owned; NULL: @given is malformed. */
json_t *mcp_tools_submission(enum mcp_tool tool, const json_t *given, struct err *why);
void mcp_call_begin(struct mcp *mcp, const json_t *request, const json_t *params);
void mcp_call_cancel(struct mcp *mcp, const json_t *request);
/* An event of the agent about the request @id. */
void mcp_call_event(struct mcp *mcp, const char *event, const char *id, const json_t *params);
/* The agent's reply to the request @id: one of both. */
void mcp_call_replied(struct mcp *mcp, const char *id, const json_t *result, const json_t *error);
/* The calls that were held are sent. */
void mcp_call_release(struct mcp *mcp);
/* Every open call fails with @words. */
void mcp_call_give_up(struct mcp *mcp, const char *words);
void mcp_call_free_all(struct mcp *mcp);

/* mcp_progress.c: reports the progress of a call that has sent @token, which is kept; NULL: none.
 */
bool mcp_progress_is_token(const json_t *token);
void mcp_progress_begin(struct mcp_call *call, const json_t *token);
void mcp_progress_started(struct mcp_call *call);
/* Stops the reports; called before the reply. */
void mcp_progress_end(struct mcp_call *call);
/* Handle approval_request, approval_updated, and the end of a question. */
void mcp_progress_asked(struct mcp *mcp, const json_t *event);
void mcp_progress_resolved(struct mcp *mcp, const json_t *event);

void mcp_ask_begin(struct mcp *mcp, const json_t *event);
void mcp_ask_resolved(struct mcp *mcp, const json_t *event);
/* The client's response to the request @id. False: @id is not a request of ours. */
bool mcp_ask_answered(struct mcp *mcp, const char *id, const json_t *result);
/* The agent's reply to our answer @id; NULL @result: it was refused. */
void mcp_ask_replied(struct mcp *mcp, const char *id, const json_t *result);
void mcp_ask_free_all(struct mcp *mcp);

/* mcp_roots.c: @capability of the client; NULL: it has no roots. */
void mcp_roots_begin(struct mcp *mcp, const json_t *capability);
/* The client is ready, or its roots have changed. */
void mcp_roots_ask(struct mcp *mcp);
/* The client's response to the request @id; NULL @result: an error. False: @id is not a request of
 * ours. */
bool mcp_roots_answered(struct mcp *mcp, const char *id, const json_t *result);
/* The agent's reply to the change of the session. */
void mcp_roots_replied(struct mcp *mcp, const json_t *error);
void mcp_roots_done(struct mcp *mcp);
