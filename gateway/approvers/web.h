/* web: the page on which a person sees and answers questions, served on loopback. What may be asked
 * of it by whom is docs/decisions/0089. Private to web*.c. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "gateway/approvers/answer_link.h"
#include "gateway/approvers/web_head.h"
#include "gateway/approvers/web_seen.h"
#include "gateway/gateway_tools.h"

#define WEB_CONNECTIONS_MAX 48
#define WEB_STREAMS_MAX     16
#define WEB_REQUEST_MS      5000  /* for a whole request to arrive */
#define WEB_DRAIN_MS        10000 /* for a client to take what is queued for it */
#define WEB_LINGER_MS       1000  /* for a client to hang up after its answer */
#define WEB_GRACE_MS        3000  /* for a page that is loaded again, before nobody is there */
#define WEB_FLUSH_MS        50    /* between two updates, */
#define WEB_CROWD_MS        500   /* where there are more questions than are shown */
#define WEB_TICK_MS         1000  /* between two looks at what nobody tells of */
#define WEB_PING_MS         15000
#define WEB_BACKOFF_MS      1000
#define WEB_SHOWN_MAX       100 /* questions, grants, connections, destinations in one update */
#define WEB_QUEUE_MAX_BYTES (8U << 20)
#define WEB_SECRET_BYTES    32
#define WEB_SECRET_MAX      (2 * WEB_SECRET_BYTES + 1)
#define WEB_COOKIE_MAX      32
#define WEB_USED_MAX        64 /* answer links that were used, and would still be good */

/* What a page is shown, each as one text that replaces the one before. */
enum web_topic { WEB_HELLO, WEB_QUESTIONS, WEB_GRANTS, WEB_LIVE, WEB_TOTALS, WEB_TOPICS };

struct web_shown {
	char *text; /* an event of the stream; NULL: never rendered */
	uint64_t version;
	bool is_stale;
};

enum web_client_state {
	WEB_READING,
	WEB_REPLYING,
	WEB_LINGERING, /* answered; what it still sends is thrown away */
	WEB_STREAMING,
	WEB_CLOSED,
};

/* One connection, which carries one request. Closing marks it and asks the server to sweep; nothing
 * is freed under a caller. A stream never has more queued than one rendering of each topic: while
 * it does not read it is not written to, and after WEB_DRAIN_MS it is cut. */
struct web_client {
	struct approver *server;
	int fd;
	enum web_client_state state;
	struct event *read_event, *write_event;
	struct loop_timer deadline;
	char in[WEB_HEAD_MAX_BYTES + WEB_BODY_MAX_BYTES];
	size_t in_len;
	struct evbuffer *out;
	uint64_t versions[WEB_TOPICS];
	uint64_t events_to, denials_to; /* told up to here */
};

struct web_client *web_client_new(struct approver *server, int fd); /* takes @fd; returned owned */
void web_client_free(struct web_client *client);
/* The answer to the one request. @fields: more header lines, each with CRLF, or "". */
void web_client_reply(struct web_client *client, int status, const char *type, const char *fields,
		      const void *body, size_t len);
/* Borrows @value; NULL (it could not be built) is a 500. */
void web_client_reply_json(struct web_client *client, int status, const char *fields,
			   const json_t *value);
void web_client_refuse(struct web_client *client, int status, const char *code, const char *text);
void web_client_stream(struct web_client *client);
/* Whatever the stream has not been told, unless it is still busy with the last. */
void web_client_update(struct web_client *client);
/* The run ends: the last news, as far as they go out at once. */
void web_client_farewell(struct web_client *client);
void web_client_ping(struct web_client *client);

/* May this request be looked at? 0, or the status that refuses it, with *@ret_why. */
int web_guard_check(const struct approver *self, const struct web_head *head, bool is_entry,
		    const char **ret_why);
/* The secrets of this start, those for answer links into @config. */
int web_guard_draw(struct approver *self, struct gateway_web *config, struct err *why);
bool web_guard_is_capability(const struct approver *self, const char *given, size_t len);

/* Is the other end of this connection held by our own user, or root? What cannot be known is no. */
bool web_peer_is_ours(int socket);

/* Answers one whole request. */
void web_api_serve(struct web_client *client, const struct web_head *head, const char *body);
/* What POST /api/… does, each with its one object. */
void web_answer_text(struct web_client *client, const json_t *object);
void web_answer_touch(struct web_client *client, const json_t *object);
void web_answer_give(struct web_client *client, const json_t *object);
/* The same for an answer by @by. True: it was taken. */
bool web_answer_take(struct web_client *client, const json_t *object, const char *by);
/* By an answer link, which takes the place of cookie and key. */
void web_once_look(struct web_client *client, const json_t *object);
void web_once_answer(struct web_client *client, const json_t *object);
void web_ledger_revoke(struct web_client *client, const json_t *object);
void web_ledger_undo(struct web_client *client, const json_t *object);
void web_ledger_cut(struct web_client *client, const json_t *object);

/* Looks again at what is stale; a topic that changed has a new version. */
void web_state_render(struct approver *self);
/* All returned owned, or NULL out of memory. */
json_t *web_state_question(const struct approver_question *question);
char *web_state_event(const char *name, json_t *value); /* takes @value */

/* The files of the page. Borrowed; NULL: no such path. */
const char *web_files_find(const struct web_span *path, const char **ret_type, size_t *ret_len);

struct approver {
	struct gateway *gw;
	struct loop *loop;
	char *run, *session;
	bool may_always; /* there is a file to write it to */
	uint16_t port;
	int listen_fd;
	struct event *accept_event;
	struct loop_timer backoff, flush, tick, grace, sweep;
	char capability[WEB_SECRET_MAX]; /* in the address that the person is shown */
	char cookie[WEB_SECRET_MAX];     /* proves the browser, */
	char key[WEB_SECRET_MAX];        /* and this the page in it: cookies are not kept by port */
	char cookie_name[WEB_COOKIE_MAX];
	const char *link_key; /* of answer links; kept by gateway_web, and "": none */
	char link_origin[POLICY_HOST_MAX + 16]; /* where they lead, as a browser says it; or "" */
	struct answer_link_used used[WEB_USED_MAX];
	size_t used_count;
	struct web_client *clients[WEB_CONNECTIONS_MAX];
	size_t client_count, stream_count;
	unsigned int ticks;
	bool is_crowded; /* more questions are open than are shown */
	bool was_opened; /* a page was there once: from then on it is not waited for */
	struct web_shown shown[WEB_TOPICS];
	struct web_seen seen;
};
/* A client closed: free it from the loop. */
void web_sweep(struct approver *self);
/* A page came, or went. */
void web_joined(struct approver *self);
void web_left(struct approver *self);
void web_stale(struct approver *self, enum web_topic topic);
