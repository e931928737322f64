/* web: the page on loopback where a person sees and answers questions. docs/decisions/0020 says
 * which requests are served for whom. Private to web*.c. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "base/page/page.h"
#include "gateway/approvers/remote/answer_link.h"
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
	struct page_client page;
	struct gateway_kept kept;
	uint64_t versions[WEB_TOPICS];
	uint64_t events_to, denials_to; /* sent up to these numbers */
};

void web_client_new(struct page *page, int fd); /* takes @fd */
void web_client_refuse(struct page_client *client, int status, const char *code, const char *text);
void web_client_wait(struct page_client *client); /* served again when something is written */
void web_client_stream(struct page_client *client);
/* Sends what the stream has not got, unless the last update is still queued. */
void web_client_update(struct web_client *client);
/* The run ends: sends the last news, as far as the socket accepts them at once. */
void web_client_farewell(struct web_client *client);
void web_client_ping(struct web_client *client);

/* The operations of POST /api/…, each with one object. */
void web_answer_text(struct page_client *client, const json_t *object);
void web_answer_touch(struct page_client *client, const json_t *object);
void web_answer_give(struct page_client *client, const json_t *object);
/* Gives an answer in the name of @by. True: it was accepted. */
bool web_answer_take(struct page_client *client, const json_t *object, const char *by);
/* With an answer link, instead of the cookie and the key. */
void web_once_look(struct page_client *client, const json_t *object);
void web_once_answer(struct page_client *client, const json_t *object);
void web_ledger_revoke(struct page_client *client, const json_t *object);
void web_ledger_undo(struct page_client *client, const json_t *object);
void web_ledger_cut(struct page_client *client, const json_t *object);
void web_ledger_propose(struct page_client *client, const json_t *object);

/* Renders stale topics again; a topic that changed gets a new version. */
void web_state_render(struct approver *self);
/* All returned owned, or NULL out of memory. */
json_t *web_state_question(const struct approver_question *question);
json_t *web_state_agent(const struct approver_agent_question *question);
char *web_state_event(const char *name, json_t *value); /* takes @value */

const struct page_file *web_files(size_t *ret_count);

struct approver { /* child processes do not get it: mem_new_secret() */
	struct gateway *gw;
	struct loop *loop;
	char *run, *session;
	bool may_always; /* there is a file for kept answers */
	struct page page;
	struct page_config config;
	struct loop_timer flush, tick, grace;
	char link_key[PAGE_SECRET_MAX]; /* signs answer links */
	struct answer_link_used used[WEB_USED_MAX];
	size_t used_count;
	size_t stream_count;
	unsigned int ticks, proposals; /* proposals end before the gateway closes its approvers */
	bool is_crowded;               /* more questions are open than are shown */
	bool was_opened;               /* a page was open once: questions no longer wait for one */
	struct web_shown shown[WEB_TOPICS];
	struct web_seen seen;
};
static inline struct approver *web_of(const struct page_client *client)
{
	return client->page->owner;
}
void web_joined(struct approver *self); /* a page was opened, */
void web_left(struct approver *self);   /* or closed */
void web_stale(struct approver *self, enum web_topic topic);
