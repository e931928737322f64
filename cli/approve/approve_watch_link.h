/* approve_watch_link: one run as `sallyport approve watch` handles it: its events, and answers to
 * its questions. Private to approve_watch*.c. */
#pragma once

#include "base/loop.h"
#include "cli/approve/approve.h"

#define WATCH_ANSWERS_MAX 64 /* sent on one link and not replied to yet */

struct watch_link;

/* The events of a link, all from the loop. @arg: of approve_watch_link_new(). */
struct watch_link_calls {
	/* @message: borrowed; may be changed. */
	void (*event)(struct watch_link *link, json_t *message, void *arg);
	void (*replied)(struct watch_link *link, const struct approve_answer *answer, json_t *reply,
			void *arg);
	void (*previewed)(struct watch_link *link, const struct approve_answer *answer,
			  unsigned int tag, const json_t *reply, void *arg);
	/* Must free @link. @why: "" if the run has ended normally. */
	void (*lost)(struct watch_link *link, const char *why, void *arg);
};

/* One run. */
struct watch_link {
	const struct watch_link_calls *calls;
	void *arg; /* for the calls */
	int fd;
	char run[APPROVE_RUN_MAX];
	struct event *read_event;
	struct evbuffer *in;
	bool is_greeted;
	json_int_t last_id; /* number 1 is the watch request itself */
	struct {
		json_int_t id; /* 0: free */
		bool is_preview;
		unsigned int tag;
		struct approve_answer answer;
	} answers[WATCH_ANSWERS_MAX];
};
/* Connects to @run through the control directory @dir_fd, and sends the watch request: a socket, or
 * -errno: the run has ended, or cannot be reached now. */
int approve_watch_link_connect(int dir_fd, const char *run);
/* The same, and handles what comes; keeps @loop, @calls and @arg. NULL: the run has ended, or
 * cannot be reached now. */
struct watch_link *approve_watch_link_new(struct loop *loop, int dir_fd, const char *run,
					  const struct watch_link_calls *calls, void *arg);
void approve_watch_link_free(struct watch_link *link);
/* 0, or -errno with @why; the reply comes as an event. */
int approve_watch_link_answer(struct watch_link *link, const struct approve_answer *answer,
			      struct err *why);
/* Requests what that answer would grant; the reply comes by previewed() with @tag. */
int approve_watch_link_preview(struct watch_link *link, const struct approve_answer *answer,
			       unsigned int tag, struct err *why);
