/* leg: one side of a connection on plain events: what the peer does not take at once waits in a
 * bounded buffer, and nothing is read that nobody wants. Costs no memory beyond itself while
 * nothing waits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <event2/event.h>
#include <event2/event_struct.h>

#include "proxy/buffer.h"
#include "proxy/limits.h"

/* What all legs of a worker share. @bytes is where every read lands: it is free again when a
 * callback returns. */
struct leg_shared {
	struct event_base *base;
	size_t spilled; /* bytes waiting in all legs */
	char bytes[LIMITS_READ_BYTES];
};

/* Embedded in its owner. Zeroed is not open (leg_init() makes @fd -1 as well).
 *
 * Interest in reading is dropped late: leg_want_read(false) only notes it, and the event is taken
 * off when it fires unwanted. So a request and its answer cost no epoll_ctl, and an unwanted event
 * is the earliest sign that the peer has left. */
struct leg {
	struct leg_shared *shared;
	int fd;
	uint32_t read_size; /* of the next read: grows while reads are full, shrinks while the other
			       side is slow */
	bool wants_read, is_reading, is_writing;
	bool is_eof;       /* the peer will send no more */
	bool wants_shut;   /* half-close once all is sent */
	bool is_shut;      /* done so */
	struct buffer out; /* what the peer has not taken yet */
	struct event event;
};

void leg_init(struct leg *leg, struct leg_shared *shared);
/* Takes @fd (nonblocking). @fn gets EV_READ and EV_WRITE. Not yet reading. */
void leg_open(struct leg *leg, int fd, event_callback_fn fn, void *arg);
bool leg_is_open(const struct leg *leg);
/* Idempotent. */
void leg_close(struct leg *leg);
/* As leg_close() by a reset, so that the peer cannot take what it has for the whole. */
void leg_abort(struct leg *leg);
/* Gives the descriptor back, no longer watched; nothing may be waiting. */
int leg_take_fd(struct leg *leg);

void leg_want_read(struct leg *leg, bool wants);
/* The event fired and reading is not wanted: stop watching. */
void leg_stop_reading(struct leg *leg);
/* At most @max bytes into @bytes: their count, 0 at the end, -EAGAIN or -errno. */
ssize_t leg_read(struct leg *leg, char *bytes, size_t max);
/* As leg_read(), but no more than @room. Without any only an end is read: -EDQUOT: a byte waits. */
ssize_t leg_read_room(struct leg *leg, char *bytes, size_t max, uint64_t room);
/* How much to read from @leg now. */
size_t leg_read_size(const struct leg *leg);
/* 0 (what was not taken waits: leg_is_blocked()) or -errno. */
int leg_write(struct leg *leg, const struct iovec *parts, int count);
int leg_write_bytes(struct leg *leg, const void *bytes, size_t len);
/* The event said EV_WRITE. 0: nothing waits any more; -EAGAIN; -errno. */
int leg_flush(struct leg *leg);
bool leg_is_blocked(const struct leg *leg);
/* Forgets what was not taken. */
void leg_drop_output(struct leg *leg);
/* The side that takes is slow: read less from @leg the next time. */
void leg_slow_down(struct leg *leg);
/* No more will be sent: half-close, after what waits. */
void leg_shut(struct leg *leg);

/* Has the peer sent what was not read? To close now would reset it, and take our last words from
 * under it. */
bool leg_has_unread(const struct leg *leg);

enum leg_peer { LEG_PEER_HERE, LEG_PEER_HALF_CLOSED, LEG_PEER_GONE };
/* Looks without reading. */
enum leg_peer leg_peer(const struct leg *leg);
