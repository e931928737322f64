/* approve_watch: `sallyport approve watch` and its links. Private to approve_watch*.c. */
#pragma once

#include "base/loop.h"
#include "cli/approve/approve.h"
#include "gateway/gateway.h"
#include "gateway/gateway_far_link.h"

#define WATCH_LINKS_MAX 64   /* watched at the same time */
#define WATCH_RESCAN_MS 1000 /* after a link broke whose socket may still exist */

/* An answer with a width, typed by a person, who must see first what it grants. */
struct watch_pending {
	struct far_link *link; /* NULL: none is pending */
	struct approve_answer answer;
	unsigned int tag;
	bool is_shown;
};

/* What a request to a gate was for. */
struct watch_request {
	unsigned int tag; /* of the preview; 0: it is the answer itself */
	struct approve_answer answer;
};

struct watch {
	struct loop *loop;
	int dir_fd, lock_fd, notify_fd;
	char **only;                          /* the run of one session; NULL: all. Owned */
	bool is_json, is_plain, is_prompting; /* is_prompting: a person types the answers */
	struct gateway_terminal terminal;
	struct gateway_far *far; /* asks on the terminal; NULL: output line by line */
	struct event *notify_event, *input_event, *signal_events[2];
	struct evbuffer *input;
	struct watch_pending pending;
	struct loop_timer rescan;
	struct far_link *links[WATCH_LINKS_MAX];
	size_t link_count;
};
void approve_watch_print(json_t *event); /* as a line of JSON */

/* approve_watch_lines.c: answers that are typed or piped in, one per line. */
void approve_watch_lines_take(struct watch *watch, const char *line);
/* Shows what the pending answer would grant. */
void approve_watch_lines_previewed(struct watch *watch, const struct watch_request *request,
				   const json_t *reply);
/* Question @id is settled; NULL: all questions of @link are gone. */
void approve_watch_lines_settled(struct watch *watch, const struct far_link *link, const char *id);
