/* gateway_far_link: the connection of an approver to one gateway in another process: its messages,
 * and our requests with their replies (sallyport-approver(7)). Nothing here waits. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct err;
struct loop;
struct far_link;

/* All from the loop. @of: of far_link_new(). */
struct far_link_calls {
	/* @message: the greeting, an event, or the reply to `watch`; borrowed, may be changed.
	 * False: malformed. */
	bool (*heard)(struct far_link *link, json_t *message, void *of);
	/* @request: of far_link_give(), freed afterwards. @reply: borrowed, may be changed; NULL:
	 * the run has ended before it came. */
	void (*replied)(struct far_link *link, const void *request, json_t *reply, void *of);
	/* There is no reply to it yet; replied() follows. NULL: not told. */
	void (*overdue)(const void *request, void *of);
	/* Must free @link. @why: "" if the gateway ended normally. */
	void (*closed)(struct far_link *link, const char *why, void *of);
};
struct far_link_config {
	const char *run; /* borrowed */
	int socket;      /* connected, after the request `watch`: taken */
	/* What was received since; borrowed. */
	const char *heard;
	size_t heard_len;
};
/* Returned owned, or NULL with @why. Keeps @loop, @calls and @of. */
struct far_link *far_link_new(struct loop *loop, const struct far_link_config *config,
			      const struct far_link_calls *calls, void *of, struct err *why);
void far_link_free(struct far_link *link); /* closes it; no call follows */
const char *far_link_run(const struct far_link *link);
bool far_link_is_greeted(const struct far_link *link); /* the gateway has spoken */
/* Sends @message (taken), whose reply comes with @request: taken, one block of memory. 0, or -errno
 * with @why. */
int far_link_give(struct far_link *link, json_t *message, void *request, struct err *why);
/* Sends @message (taken), whose reply is not needed. */
void far_link_tell(struct far_link *link, json_t *message);
