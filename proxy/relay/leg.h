/* leg: one side of a connection, on plain events. Bytes that the peer does not accept at once wait
 * in a bounded buffer; bytes that have no reader stay in the kernel. Uses no further memory while
 * nothing waits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <event2/event.h>
#include <event2/event_struct.h>

#include "proxy/relay/buffer.h"
#include "proxy/limits.h"

/* Shared by all legs of a worker. Every read goes to @bytes, which is free again when a callback
 * returns. */
struct leg_shared {
	struct event_base *base;
	/* NULL: no end is a cut. True: what @fd has sent before its end is not complete. */
	bool (*was_cut)(int fd, void *arg);
	void *arg;
	size_t spilled; /* bytes waiting in all legs */
	char bytes[LIMITS_READ_BYTES];
};

/* Embedded in its owner. Zeroed is not open (leg_init() sets @fd to -1 as well).
 *
 * Reading is disabled late: leg_want_read(false) only sets a flag, and the event is removed when it
 * fires unwanted. So a request and its response need no epoll_ctl, and an unwanted event is the
 * earliest sign that the peer has closed. */
struct leg {
	struct leg_shared *shared;
	int fd;
	uint32_t read_size; /* of the next read: grows while reads fill it, shrinks while the other
			       side is slow */
	bool wants_read, is_reading, is_writing;
	bool is_eof;       /* the peer has sent its last byte */
	bool wants_shut;   /* half-close when all is sent */
	bool is_shut;      /* the half-close is done */
	struct buffer out; /* bytes that the peer has not accepted yet */
	struct event event;
};

void leg_init(struct leg *leg, struct leg_shared *shared);
/* Takes @fd (nonblocking). @fn gets EV_READ and EV_WRITE. Reading is off at first. */
void leg_open(struct leg *leg, int fd, event_callback_fn fn, void *arg);
bool leg_is_open(const struct leg *leg);
/* Idempotent. */
void leg_close(struct leg *leg);
/* As leg_close() by a reset, so that the peer does not take the data for complete. */
void leg_abort(struct leg *leg);
/* Returns the descriptor, no longer watched; nothing may wait in the buffer. */
int leg_take_fd(struct leg *leg);

void leg_want_read(struct leg *leg, bool wants);
/* The event fired although reading is off: stop watching. */
void leg_stop_reading(struct leg *leg);
/* Reads at most @max bytes into @bytes: returns their count, 0 at the end, -EAGAIN or -errno. */
ssize_t leg_read(struct leg *leg, char *bytes, size_t max);
/* As leg_read(), but at most @room bytes. Without room it reads an end only: -EDQUOT: a byte
 * waits. */
ssize_t leg_read_room(struct leg *leg, char *bytes, size_t max, uint64_t room);
/* How much to read from @leg now. */
size_t leg_read_size(const struct leg *leg);
/* 0 (what the peer did not accept waits: leg_is_blocked()) or -errno. */
int leg_write(struct leg *leg, const struct iovec *parts, int count);
int leg_write_bytes(struct leg *leg, const void *bytes, size_t len);
/* The event was EV_WRITE. 0: the buffer is empty; -EAGAIN; -errno. */
int leg_flush(struct leg *leg);
bool leg_is_blocked(const struct leg *leg);
/* Drops the bytes that wait. */
void leg_drop_output(struct leg *leg);
/* The receiving side is slow: read less from @leg next time. */
void leg_slow_down(struct leg *leg);
/* Half-closes after the bytes that wait. */
void leg_shut(struct leg *leg);

/* Has the peer sent bytes that we did not read? Closing now would reset the connection and destroy
 * our last bytes. */
bool leg_has_unread(const struct leg *leg);

enum leg_peer { LEG_PEER_HERE, LEG_PEER_HALF_CLOSED, LEG_PEER_GONE };
/* Checks the state without reading. */
enum leg_peer leg_peer(const struct leg *leg);
