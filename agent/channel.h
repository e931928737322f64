/* channel: lines from and to the client. What it does not read waits here up to a limit, and not
 * for ever. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct channel;
struct err;
struct loop;

#define CHANNEL_LINE_MAX  (1U << 20)  /* bytes of a line that comes in */
#define CHANNEL_HIGH      (1U << 20)  /* that wait to be read: outputs are held back, */
#define CHANNEL_QUEUE_MAX (32U << 20) /* and the client is given up on */
#define CHANNEL_STALL_MS  30000       /* it reads nothing of what waits: as well */

/* From the loop, never inside a call of this header. */
struct channel_events {
	/* @line: NUL-terminated, borrowed; NULL: it was longer than CHANNEL_LINE_MAX. */
	void (*on_line)(const char *line, size_t len, void *arg);
	void (*on_room)(void *arg); /* it is not full any more */
	/* It is closed from the other end, or given up on: @why. Nothing comes after it. */
	void (*on_end)(const char *why, void *arg);
	void (*on_empty)(void *arg); /* after channel_finish(): nothing waits any more */
};

/* Keeps all but @why; the descriptors stay the caller's, and nonblocking. Returned owned. */
struct channel *channel_new(struct loop *loop, int in, int out, const struct channel_events *events,
			    void *arg, struct err *why);
/* Before it is started, where what comes is ours: @bytes instead of CHANNEL_LINE_MAX. */
void channel_set_line_max(struct channel *channel, size_t bytes);
void channel_start(struct channel *channel);
/* One line, without its end. */
void channel_send(struct channel *channel, const char *line, size_t len);
/* More than CHANNEL_HIGH waits. */
bool channel_is_full(const struct channel *channel);
/* Reads no more; what waits is still written while the loop runs. */
void channel_finish(struct channel *channel);
bool channel_is_lost(const struct channel *channel);  /* nobody reads */
bool channel_is_empty(const struct channel *channel); /* nothing waits, or nobody reads */
void channel_free(struct channel *channel);
