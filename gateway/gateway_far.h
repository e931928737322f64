/* gateway_far: shows the questions of gateways in other processes on a terminal of this one. It
 * speaks sallyport-approver(7), as any approver may. */
#pragma once

#include <stdbool.h>

#include "gateway/gateway.h"

#define GATEWAY_FAR_MAX 64 /* gateways at the same time */

struct err;
struct gateway_far;

/* For a terminal that shows nothing else, and the questions of several gateways. From the loop. */
struct gateway_far_watch {
	/* A gateway that was added has closed. @is_greeted: it had accepted us. */
	void (*lost)(bool is_greeted, void *arg);
	/* The person leaves, or the terminal was closed. */
	void (*left)(void *arg);
};
struct gateway_far_config {
	const struct gateway_terminal *terminal; /* kept */
	bool may_always;                         /* an answer can be kept in a file */
	/* For tmux's window; borrowed. @run is unique; @tmux: its program. NULL: no window. */
	const char *control_dir, *run, *tmux;
	/* NULL: one gateway; when it or the terminal closes, this ends by itself and restores the
	 * terminal. Kept. */
	const struct gateway_far_watch *watch;
	void *arg; /* for @watch */
};
/* Returned owned, or NULL with @why. Shows nothing yet. */
struct gateway_far *gateway_far_new(struct loop *loop, const struct gateway_far_config *config,
				    struct err *why);
/* Shows the questions of @run. @socket: connected to its control socket, after `watch`: taken.
 * @heard: what it has sent since, from its greeting or the reply to `watch` on; borrowed. 0, or
 * -errno with @why. */
int gateway_far_add(struct gateway_far *far, const char *run, int socket, const char *heard,
		    struct err *why);
bool gateway_far_has(const struct gateway_far *far, const char *run);
void gateway_far_free(struct gateway_far *far);
