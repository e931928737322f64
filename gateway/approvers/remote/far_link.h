/* far_link: the connection to one gateway whose questions are shown on a terminal here: its
 * messages, and our requests with their results. Private to far*.c. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct err;
struct loop;
struct far_link;

/* All from the loop. @of: of far_link_new(). */
struct far_link_calls {
	/* @message: an event, or the reply to `watch`; borrowed. False: malformed. */
	bool (*heard)(struct far_link *link, const json_t *message, void *of);
	/* The result of the answer to @question: 0, or -errno with @why. */
	void (*replied)(const char *question, int r, const struct err *why, void *of);
	/* There is no result of it yet; replied() follows. */
	void (*overdue)(const char *question, void *of);
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
/* Sends the answer @request (taken) to @question. 0, or -errno with @why. */
int far_link_give(struct far_link *link, const char *question, json_t *request, struct err *why);
/* Sends @request (taken), whose reply is not needed. */
void far_link_tell(struct far_link *link, json_t *request);
