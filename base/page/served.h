/* served: the connections of a small HTTP server: each has one request, is answered or turned into
 * a stream, and closed. docs/decisions/0020. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"

#define SERVED_REQUEST_MS 5000  /* for a whole request to arrive */
#define SERVED_DRAIN_MS   10000 /* for a client to read what is queued for it */
#define SERVED_LINGER_MS  1000  /* for a client to close the connection after its answer */

#define SERVED_MAX 48 /* at once */

struct evbuffer;
struct served;

enum served_state {
	SERVED_READING,
	SERVED_REPLYING,
	SERVED_LINGERING, /* answered; further input is discarded */
	SERVED_STREAMING,
	SERVED_CLOSED,
};

struct served_calls {
	void (*on_bytes)(struct served *self); /* while it is read */
	void (*free)(struct served *self);     /* calls served_done() */
	/* A stream's queue is empty; a stream was closed. NULL: there are none. */
	void (*on_sent)(struct served *self);
	void (*on_left)(struct served *self);
};

/* The clients of a server, which owns them. Closing one marks it, and it is freed from the loop: no
 * object is freed while a caller uses it. */
struct served_all {
	struct loop *loop;
	struct loop_timer sweep;
	size_t count;
	struct served *list[SERVED_MAX];
};
void served_all_done(struct served_all *all);

/* The first member of a client. */
struct served {
	const struct served_calls *calls;
	struct served_all *all;
	int fd;
	enum served_state state;
	struct event *read_event, *write_event;
	struct loop_timer deadline;
	char *in;
	size_t in_len, in_max;
	struct evbuffer *out;
};

/* Takes @fd, and adds it to @all, where there is room; keeps the rest, and @in, which has @in_max
 * bytes. */
void served_init(struct served *self, const struct served_calls *calls, struct served_all *all,
		 int fd, char *in, size_t in_max);
void served_done(struct served *self);
void served_close(struct served *self);
/* It is closed @ms from now. */
void served_wait(struct served *self, int64_t ms);
/* The answer is in @out: sends it, and closes the connection. */
void served_reply(struct served *self);
/* Sends what is in @out. */
void served_flush(struct served *self);
