/* channel: lines from and to the client. Lines that the client does not read wait here, up to a
 * limit and for a limited time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct channel;
struct err;
struct loop;

#define CHANNEL_LINE_MAX  (1U << 20)  /* bytes of a line from the client */
#define CHANNEL_HIGH      (1U << 20)  /* waiting bytes from which outputs are held back, */
#define CHANNEL_QUEUE_MAX (32U << 20) /* and from which the client is disconnected */
#define CHANNEL_STALL_MS  30000       /* without any read by the client: disconnected, too */

/* Called from the loop, never inside a call of this header. */
struct channel_events {
	/* @line: NUL-terminated, borrowed; NULL: it was longer than CHANNEL_LINE_MAX. */
	void (*on_line)(const char *line, size_t len, void *arg);
	void (*on_room)(void *arg); /* it is not full any more */
	/* The other end closed it, or we did: @why. No call follows but on_empty(). */
	void (*on_end)(const char *why, void *arg);
	void (*on_empty)(void *arg); /* after channel_finish(): nothing waits any more */
};

/* Keeps all but @why; the descriptors are still the caller's, and nonblocking. Returned owned. */
struct channel *channel_new(struct loop *loop, int in, int out, const struct channel_events *events,
			    void *arg, struct err *why);
/* Before the start, for a peer that is ours: lines up to @bytes instead of CHANNEL_LINE_MAX. */
void channel_set_line_max(struct channel *channel, size_t bytes);
void channel_start(struct channel *channel);
/* Sends one line, given without its line end. */
void channel_send(struct channel *channel, const char *line, size_t len);
/* While it is paused, nothing is read from the client. Lines that were read already may follow. */
void channel_pause(struct channel *channel, bool is_paused);
/* Do more than CHANNEL_HIGH bytes wait? */
bool channel_is_full(const struct channel *channel);
/* Reads no more, and calls on_end() with @why, which is static. What waits is still written. */
void channel_close(struct channel *channel, const char *why);
/* Gives the channel up: nothing is read or written any more. @why is static. */
void channel_lose(struct channel *channel, const char *why);
/* Reads no more; what waits is still written while the loop runs. */
void channel_finish(struct channel *channel);
bool channel_is_lost(const struct channel *channel);  /* it was given up */
bool channel_is_empty(const struct channel *channel); /* nothing waits, or it was given up */
void channel_free(struct channel *channel);
