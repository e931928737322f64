/* web: the page on loopback where a person sees and answers questions. docs/decisions/0020 says
 * which requests are served for whom. Private to web*.c. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "base/net/listener.h"
#include "gateway/approvers/remote/answer_link.h"
#include "gateway/approvers/served.h"
#include "gateway/approvers/web/web_head.h"
#include "gateway/approvers/web/web_seen.h"
#include "gateway/gateway_tools.h"

#define WEB_STREAMS_MAX     16
#define WEB_WRITE_MS        30000 /* for an answer to be written */
#define WEB_GRACE_MS        3000  /* for a page to reload before it counts as closed */
#define WEB_FLUSH_MS        50    /* between two updates, */
#define WEB_CROWD_MS        500   /* if more questions are open than are shown */
#define WEB_TICK_MS         1000  /* between two checks of what has no events */
#define WEB_PING_MS         15000
#define WEB_SHOWN_MAX       100 /* questions, grants, connections, destinations in one update */
#define WEB_QUEUE_MAX_BYTES (8U << 20)
#define WEB_SECRET_BYTES    32
#define WEB_SECRET_MAX      (2 * WEB_SECRET_BYTES + 1)
#define WEB_COOKIE_MAX      32
#define WEB_USED_MAX        64 /* answer links that were used and have not expired */
#define WEB_PROPOSALS_MAX   16 /* questions that the page itself has asked */

/* The parts of the page; each update replaces the whole text of one. */
enum web_topic { WEB_HELLO, WEB_QUESTIONS, WEB_TASK, WEB_GRANTS, WEB_LIVE, WEB_TOTALS, WEB_TOPICS };

struct web_shown {
	char *text; /* an event of the stream; NULL: not rendered yet */
	uint64_t version;
	bool is_stale;
};

/* A stream has at most one rendering of each topic queued: while it does not read, nothing more is
 * written, and after SERVED_DRAIN_MS it is closed. */
struct web_client {
	struct served served;
	struct approver *server;
	char in[WEB_HEAD_MAX_BYTES + WEB_BODY_MAX_BYTES];
	struct gateway_kept kept;
	uint64_t versions[WEB_TOPICS];
	uint64_t events_to, denials_to; /* sent up to these numbers */
};

void web_client_new(struct approver *server, int fd); /* takes @fd */
/* Answers the request. @fields: additional header lines, each with CRLF, or "". */
void web_client_reply(struct web_client *client, int status, const char *type, const char *fields,
		      const void *body, size_t len);
/* Borrows @value; NULL (out of memory) sends a 500. */
void web_client_reply_json(struct web_client *client, int status, const char *fields,
			   const json_t *value);
void web_client_refuse(struct web_client *client, int status, const char *code, const char *text);
void web_client_wait(struct web_client *client); /* served again when something is written */
void web_client_stream(struct web_client *client);
/* Sends what the stream has not got, unless the last update is still queued. */
void web_client_update(struct web_client *client);
/* The run ends: sends the last news, as far as the socket accepts them at once. */
void web_client_farewell(struct web_client *client);
void web_client_ping(struct web_client *client);

/* May this request be served? 0, or the status of the refusal, with *@ret_why. */
int web_guard_check(const struct approver *self, const struct web_head *head, bool is_entry,
		    const char **ret_why);
int web_guard_draw(struct approver *self, const char *answer_origin, struct err *why);
bool web_guard_is_capability(const struct approver *self, const char *given, size_t len);

/* Is the other end of this connection our own user's, or root's? False if it cannot be found. */
bool web_peer_is_ours(int socket);

/* Answers one whole request. */
void web_api_serve(struct web_client *client, const struct web_head *head, const char *body);
/* The operations of POST /api/…, each with one object. */
void web_answer_text(struct web_client *client, const json_t *object);
void web_answer_touch(struct web_client *client, const json_t *object);
void web_answer_give(struct web_client *client, const json_t *object);
/* Gives an answer in the name of @by. True: it was accepted. */
bool web_answer_take(struct web_client *client, const json_t *object, const char *by);
/* With an answer link, instead of the cookie and the key. */
void web_once_look(struct web_client *client, const json_t *object);
void web_once_answer(struct web_client *client, const json_t *object);
void web_ledger_revoke(struct web_client *client, const json_t *object);
void web_ledger_undo(struct web_client *client, const json_t *object);
void web_ledger_cut(struct web_client *client, const json_t *object);
void web_ledger_propose(struct web_client *client, const json_t *object);

/* Renders stale topics again; a topic that changed gets a new version. */
void web_state_render(struct approver *self);
/* All returned owned, or NULL out of memory. */
json_t *web_state_question(const struct approver_question *question);
json_t *web_state_agent(const struct approver_agent_question *question);
char *web_state_event(const char *name, json_t *value); /* takes @value */

/* The files of the page. Borrowed; NULL: no such path. */
const char *web_files_find(const struct http1_span *path, const char **ret_type, size_t *ret_len);

struct approver { /* child processes do not get it: mem_new_secret() */
	struct gateway *gw;
	struct loop *loop;
	char *run, *session;
	bool may_always; /* there is a file for kept answers */
	uint16_t port;
	struct listener listener;
	struct loop_timer flush, tick, grace;
	char capability[WEB_SECRET_MAX]; /* in the address that the person is shown */
	char cookie[WEB_SECRET_MAX];     /* identifies the browser, */
	char key[WEB_SECRET_MAX];        /* and this its page: all ports share cookies */
	char link_key[WEB_SECRET_MAX];   /* signs answer links */
	char url[WEB_SECRET_MAX + 32];   /* with the capability */
	char cookie_name[WEB_COOKIE_MAX];
	char link_origin[POLICY_HOST_MAX + 16]; /* of answer links, as a browser sends it; or "" */
	struct answer_link_used used[WEB_USED_MAX];
	size_t used_count;
	struct served_all clients;
	size_t stream_count;
	unsigned int ticks, proposals; /* proposals end before the gateway closes its approvers */
	bool is_crowded;               /* more questions are open than are shown */
	bool was_opened;               /* a page was open once: questions no longer wait for one */
	struct web_shown shown[WEB_TOPICS];
	struct web_seen seen;
};
void web_joined(struct approver *self); /* a page was opened, */
void web_left(struct approver *self);   /* or closed */
void web_stale(struct approver *self, enum web_topic topic);
