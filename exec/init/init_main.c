#include <errno.h>
#include <linux/close_range.h>
#include <linux/prctl.h>
#include <time.h>

#include "exec/init/command.h"
#include "exec/init/init.h"
#include "exec/init/kin.h"
#include "exec/init/serve.h"
#include "exec/init/sys.h"
#include "exec/init/wall.h"
#include "exec/stages/stages.h"

/* sallyport-init: the sandbox's pid 1. It is a separate program, so that it contains nothing of the
 * gate's memory. It is cloned into new namespaces with the capabilities needed to set them up. It
 * sets them up, sends the listeners to the gate, drops its rights, starts the command, and stays to
 * reap processes. Any failure ends it, and with it the sandbox. */

static int64_t now_us(void)
{
	struct timespec now = { 0 };

	(void)sys(clock_gettime, CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* For measuring the start: reports when each step ended. */
static void mark(struct init *init)
{
	struct wire_message message = { .type = WIRE_TIME, .step = init->step };

	if (init->plan.head->flags & WIRE_TIMES) {
		message.value = (int32_t)(now_us() - init->started_us);
		(void)init_send(&message, NULL, 0);
	}
}

static void check(struct init *init, int result)
{
	if (result < 0)
		init_fail(init, WIRE_FAILED, result);
	mark(init);
}

/* Makes init die with the gate. If the gate died before this call, init notices at the socket:
 * WIRE_GO never comes. */
static int watch_parent(struct init *init)
{
	init->step = WIRE_STEP_PARENT;
	(void)sys(prctl, PR_SET_NAME, "sallyport-init", 0, 0, 0); /* for ps(1) only */
	return (int)sys(prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

static int hand_out(struct init *init)
{
	const struct wire_message ready = { .type = WIRE_READY, .value = -init->captured };
	const int fds[INIT_FDS_MAX] = { init->http,  init->socks,     init->capture,
					init->names, init->inner_far, init->sockets };
	int r = init_send(&ready, fds, INIT_FDS_MAX);

	for (int i = 0; i < INIT_FDS_MAX; i++)
		(void)sys(close, fds[i]);
	return r;
}

static int enter_cwd(struct init *init)
{
	init->step = WIRE_STEP_CWD;
	init->detail = init->plan.cwd;
	int r = (int)sys(chdir, init->plan.cwd);

	if (r == 0)
		init->detail = "";
	return r;
}

/* There is no confinement: init only supervises the command. */
static void set_up_unconfined(struct init *init)
{
	init->step = WIRE_STEP_PARENT;
	check(init, kin_adopt(init));
	check(init, enter_cwd(init));
	check(init, terminal_open(init));
}

static void set_up(struct init *init)
{
	init->step = WIRE_STEP_IDS;
	check(init, ids_map(init));
	check(init, watch_parent(init));
	if ((init->plan.head->flags & WIRE_HOST_NETWORK) == 0) {
		init->step = WIRE_STEP_LOOPBACK;
		check(init, egress_open(init));
		check(init, hand_out(init));
	}
	init->step = WIRE_STEP_NAMESPACES;
	check(init, namespaces_close(init));
	check(init, view_build(init));
	init->step = WIRE_STEP_WATCH;
	check(init, watch_begin(&init->watch, &init->plan, &init->detail));
	check(init, settle_covers(init));
	check(init, enter_cwd(init));
	check(init, terminal_open(init));
	init->step = WIRE_STEP_WALL;
	check(init, landlock_scope(init));
	check(init, wall_start(init));
	init->step = WIRE_STEP_CAPS;
	check(init, caps_drop(INIT_CAPS));
}

/* Called by the entry point with an aligned stack; there are no arguments, and the environment is
 * ignored. */
_Noreturn void init_main(void);
_Noreturn void init_main(void)
{
	const struct wire_message started = { .type = WIRE_STARTED };
	struct init init = {
		.http = -1,
		.socks = -1,
		.capture = -1,
		.names = -1,
		.inner = -1,
		.inner_far = -1,
		.door = -1,
		.datagrams = { -1, -1, -1 },
		.sockets = -1,
		.pty = -1,
		.pty_far = -1,
		.walls = { .listener = -1, .offered = -1, .taken = -1 },
		.watch = { .mounts = -1, .inotify = -1, .end = WATCH_FD },
		.detail = "",
	};

	struct map map = { .bytes = NULL };

	init.whole = &init;
	init.started_us = now_us();
	int r = (int)sys(close_range, WIRE_PLAN_FD + 1, ~0U, 0);

	if (r == 0)
		r = map_plan(WIRE_PLAN_FD, &map);
	init.plan = map.plan;
	if (r < 0)
		init_fail(&init, WIRE_FAILED, r);
	mark(&init);
	if (init.plan.head->flags & WIRE_UNCONFINED)
		set_up_unconfined(&init);
	else
		set_up(&init);
	check(&init, command_start(&init));
	(void)init_send(&started, NULL, 0); /* if the gate is gone, a later call notices */
	serve_run(&init);
}
