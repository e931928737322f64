/* bait: sockets of the gate, outside of a sandbox, that its probe tries to reach. */
#pragma once

struct err;
struct plan;

enum bait_kind { BAIT_TCP, BAIT_TCP6, BAIT_ABSTRACT, BAITS };

struct bait {
	int fds[BAITS]; /* -1: none */
};

#define BAIT_NONE                                                                                  \
	{                                                                                          \
		.fds = { -1, -1, -1 }                                                              \
	}

/* Opens them, and adds to @plan what the probe needs to know, with WIRE_PROBE. @control: the path
 * of the control socket, or NULL. 0, or -errno with @why: the sandbox could not be probed. Call
 * bait_close() in either case. */
int bait_open(struct bait *bait, struct plan *plan, const char *control, struct err *why);
void bait_close(struct bait *bait);
