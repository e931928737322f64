/* approve_watch: `sallyport approve watch` and its links. Private to approve_watch*.c. */
#pragma once

#include "base/loop.h"
#include "cli/approve.h"

#define WATCH_LINKS_MAX   64   /* runs watched at once */
#define WATCH_ANSWERS_MAX 64   /* given on one link and not replied to yet */
#define WATCH_RESCAN_MS   1000 /* after a link broke whose socket may still be there */

struct watch;

/* One run. */
struct watch_link {
	struct watch *watch;
	int fd;
	char run[APPROVE_RUN_MAX];
	struct event *read_event;
	struct evbuffer *in;
	bool is_greeted;
	json_int_t last_id; /* 1 is the watch itself */
	struct {
		json_int_t id; /* 0: free */
		bool is_preview;
		unsigned int tag;
		struct approve_answer answer;
	} answers[WATCH_ANSWERS_MAX];
};
/* Connects and asks to watch. NULL: the run is over, or not to be had now. */
struct watch_link *approve_watch_link_new(struct watch *watch, const char *run);
void approve_watch_link_free(struct watch_link *link);
/* 0, or -errno with @why; the reply comes as an event. */
int approve_watch_link_answer(struct watch_link *link, const struct approve_answer *answer,
			      struct err *why);
/* A person has begun to answer it. */
void approve_watch_link_touch(struct watch_link *link, const char *question);
/* What that answer would grant; the reply comes as approve_watch_previewed() with @tag. */
int approve_watch_link_preview(struct watch_link *link, const struct approve_answer *answer,
			       unsigned int tag, struct err *why);

/* An answer with a width, typed by a person who has to be shown what it is. */
struct watch_pending {
	struct watch_link *link; /* NULL: there is none */
	struct approve_answer answer;
	unsigned int tag;
	bool is_shown;
};

struct watch {
	struct loop *loop;
	int dir_fd, lock_fd, notify_fd;
	char **only;                          /* the run of one session; NULL: all. Owned */
	bool is_json, is_plain, is_prompting; /* is_prompting: a person types */
	struct approve_screen *screen;        /* NULL: line by line */
	struct event *notify_event, *input_event, *signal_events[2];
	struct evbuffer *input;
	struct watch_pending pending;
	struct loop_timer rescan;
	struct watch_link *links[WATCH_LINKS_MAX];
	size_t link_count;
};
/* From a link. @message: borrowed. */
void approve_watch_event(struct watch_link *link, json_t *message);
void approve_watch_replied(struct watch_link *link, const struct approve_answer *answer,
			   json_t *reply);
void approve_watch_previewed(struct watch_link *link, const struct approve_answer *answer,
			     unsigned int tag, const json_t *reply);
/* Frees @link. */
void approve_watch_lost(struct watch_link *link, const char *why);
void approve_watch_print(json_t *event); /* as a line of JSON */

/* approve_watch_lines.c: answers that are typed, or piped in, a line each. */
void approve_watch_lines_take(struct watch *watch, const char *line);
/* What the pending answer would be. */
void approve_watch_lines_previewed(struct watch *watch, const struct approve_answer *answer,
				   unsigned int tag, const json_t *reply);
/* Question @id is settled; NULL: all of @link are gone. */
void approve_watch_lines_settled(struct watch *watch, const struct watch_link *link,
				 const char *id);
