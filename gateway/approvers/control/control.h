/* control: the Unix socket on which `sallyport approve` and other programs list and answer
 * questions. The line protocol is sallyport-approver(7). Private to control*.c. */
#pragma once

#include <jansson.h>

#include "base/loop.h"
#include "base/net/listener.h"
#include "base/peer.h"
#include "gateway/approvers/approver_impl.h"

#define CONTROL_VERSION        1
#define CONTROL_CLIENTS_MAX    32
#define CONTROL_LINE_MAX_BYTES (64U << 10)
#define CONTROL_QUEUE_MAX_BYTES                                                                    \
	(6U << 20) /* queued for one client; one that does not read is dropped */
/* About as many bytes of unread questions are queued for one client. Commands choose the number and
 * the length of questions, so the rest is sent after the client has read these. */
#define CONTROL_AHEAD_BYTES (256U << 10)
#define CONTROL_IDLE_MS     60000 /* without a request; for a watcher: with unread output */
#define CONTROL_GRACE_MS    5000  /* for a live watcher to connect after a question was asked */
#define CONTROL_COMMAND_MAX 1024  /* bytes of one command in a message */

#define CONTROL_LIST_MAX     1024 /* grants or connections in one reply */
#define CONTROL_COPIES_MAX   256  /* grants in one reply to `copy`; each is larger there */
#define CONTROL_WATCHERS_MAX 64   /* watcher files that are examined or ignored */

/* Programs that hold a file in DIR/watchers but have not connected. A watcher that did not connect
 * in time, or disconnected, does not count until it connects again. */
struct control_watchers {
	int dir_fd; /* the control directory; borrowed */
	pid_t out[CONTROL_WATCHERS_MAX];
	size_t out_count;
};
bool control_watchers_are_awaited(const struct control_watchers *watchers);
void control_watchers_give_up(struct control_watchers *watchers);
void control_watchers_leave(struct control_watchers *watchers, pid_t pid);
void control_watchers_join(struct control_watchers *watchers, pid_t pid);

/* One connection. Closing marks it and schedules control_sweep(); no object is freed while a caller
 * uses it. */
struct control_client {
	struct approver *server;
	struct peer peer;
	int fd;
	struct event *read_event, *write_event;
	struct loop_timer idle;
	struct evbuffer *in, *out;
	bool is_watcher, is_closed;
	bool must_wait; /* its last request is being written to a file: serve it again later */
	struct gateway_kept kept;
	/* A watcher has been sent the questions up to @told. While it is behind, the rest, and the
	 * changes of the questions after @again, are sent as it reads. */
	bool is_behind, is_stale;
	uint64_t told, again;
};
/* Takes @fd. Returned owned. */
struct control_client *control_client_new(struct approver *server, int fd, const struct peer *peer);
void control_client_free(struct control_client *client);
/* Borrows @message; NULL (out of memory) closes the connection. */
void control_client_send(struct control_client *client, const json_t *message);
/* From now on it gets every event, and has no idle timeout. */
void control_client_watch(struct control_client *client);
/* Is more queued than a client may leave unread? */
bool control_client_is_full(const struct control_client *client);

/* One request after parsing. Text is borrowed; NULL, or -1 for numbers: not given. */
struct control_request {
	struct control_client *client;
	json_int_t id;
	const char *op, *question, *scope;
	const char *action, *host, *ports, *program, *duration, *words, *confirm, *text;
	json_int_t upload, download, connections, grant, live, after;
};
void control_request_ok(const struct control_request *request, json_t *more); /* takes @more */
void control_request_refuse(const struct control_request *request, const char *code,
			    const char *text);
/* The request is served again when the file has been written. */
void control_request_wait(const struct control_request *request);
/* Replies with the error -@r of the gateway. */
void control_request_fail(const struct control_request *request, int r, const char *text);
/* list, watch. */
void control_questions_list(const struct control_request *request);
void control_questions_watch(const struct control_request *request);
/* Sends @client, a watcher, a new question or a change of one. */
void control_questions_asked(struct control_client *client,
			     const struct approver_question *question);
void control_questions_changed(struct control_client *client,
			       const struct approver_question *question);
/* Sends @client, a watcher, a question that is not about a destination. */
void control_questions_agent_asked(struct control_client *client,
				   const struct approver_agent_question *question);
/* The client has read what was queued, and is behind: sends more. */
void control_questions_catch_up(struct control_client *client);
/* allow, deny, abort; preview; touch. */
void control_answer_serve(const struct control_request *request);
void control_answer_preview(const struct control_request *request);
void control_answer_touch(const struct control_request *request);
/* grants, copy, live, revoke, undo, cut. */
void control_ledger_grants(const struct control_request *request);
void control_ledger_copy(const struct control_request *request);
void control_ledger_live(const struct control_request *request);
void control_ledger_totals(const struct control_request *request);
void control_ledger_revoke(const struct control_request *request);
void control_ledger_undo(const struct control_request *request);
void control_ledger_cut(const struct control_request *request);

/* Answers one line. -EBADMSG: not JSON; the connection is to be closed. */
int control_request_serve(struct control_client *client, const char *line, size_t len);
/* All returned owned, or NULL out of memory. */
json_t *control_request_question(const struct approver *server,
				 const struct approver_question *question);

struct approver {
	struct gateway *gw;
	struct loop *loop;
	char *run, *session;
	char *name; /* of the socket in the directory; NULL until it is there */
	int dir_fd;
	struct listener listener;
	struct loop_timer grace, sweep;
	struct control_watchers watchers;
	struct control_client *clients[CONTROL_CLIENTS_MAX];
	size_t client_count;
};
/* A client was closed: frees it from the loop, and tells the gateway if it was an approver. */
void control_sweep(struct approver *self);
/* A client began to watch. */
void control_watched(struct approver *self, const struct control_client *client);
