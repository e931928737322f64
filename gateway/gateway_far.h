/* gateway_far: the questions of a gateway in another process, on a terminal of this one. It speaks
 * sallyport-approver(7), as any approver may. */
#pragma once

#include <stddef.h>

#include "gateway/gateway.h"

struct err;
struct gateway_far;

struct gateway_far_config {
	int socket; /* connected to its control socket, and watching: taken */
	/* What it has said from the reply to the watch on; borrowed. */
	const char *heard;
	size_t heard_len;
	const struct gateway_terminal *terminal; /* kept */
	bool may_always;                         /* it can keep an answer in a file */
	const char *control_dir, *run; /* for tmux's window; borrowed. No other has @run */
};
/* Returned owned, or NULL with @why. When the gateway or the terminal goes it ends by itself, and
 * gives the terminal back. */
struct gateway_far *gateway_far_new(struct loop *loop, const struct gateway_far_config *config,
				    struct err *why);
void gateway_far_free(struct gateway_far *far);
