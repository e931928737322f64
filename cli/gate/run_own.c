#include "cli/gate/run_own.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/gate/gate.h"
#include "cli/run/run_gateway.h"
#include "cli/run/run_options.h"
#include "cli/report/run_summary.h"
#include "exec/exec_process_result.h"
#include "gateway/gateway.h"
#include "policies/policies_limits.h"

#define COMMAND_MAX 512
#define FINISH_MS   2000 /* for the worker to report the requests that were open */

struct run_own {
	struct run_gateway base;
	struct gate *gate;
	struct run_gateway_calls calls;
};

static struct run_own *own_of(struct run_gateway *self)
{
	return container_of(self, struct run_own, base);
}

static struct gateway *gateway_of(struct run_gateway *self)
{
	return own_of(self)->gate->gateway;
}

static void on_abort(uint64_t exec, void *arg)
{
	struct run_own *own = arg;

	own->calls.on_kill("an approver aborted the command", true, own->calls.arg);
}

static void on_worker_gone(const char *why, void *arg)
{
	struct run_own *own = arg;

	own->calls.on_kill(why, false, own->calls.arg);
}

static void on_hold(void *arg)
{
	struct run_own *own = arg;

	own->calls.hold(own->calls.arg);
}

static void on_release(void *arg)
{
	struct run_own *own = arg;

	own->calls.release(own->calls.arg);
}

static void on_finished(void *arg)
{
	struct run_own *own = arg;

	own->calls.on_over(own->calls.arg);
}

/* There is nothing to narrow: the gate's own policy applies. */
static void own_narrow(struct run_gateway *self)
{
}

static int own_open(struct run_gateway *self, const struct run_gateway_calls *calls)
{
	struct run_own *own = own_of(self);
	const struct gate_calls of_gate = {
		.hold = on_hold,
		.release = on_release,
		.on_abort = on_abort,
		.on_worker_gone = on_worker_gone,
		.arg = own,
	};

	own->calls = *calls;
	return gate_open(own->gate, &of_gate);
}

static int own_begin(struct run_gateway *self)
{
	const char *const *argv = own_of(self)->gate->options->command;
	auto_free char *command = text_command_line(argv, COMMAND_MAX);

	gateway_exec_begin(gateway_of(self), RUN_EXEC, command);
	gateway_exec_set_argv(gateway_of(self), RUN_EXEC, argv);
	return CLI_OK;
}

static int own_start_worker(struct run_gateway *self)
{
	return gate_workers_start(own_of(self)->gate);
}

static void own_watch(struct run_gateway *self)
{
	gate_watch(own_of(self)->gate);
}

static int own_open_way(struct run_gateway *self, int *fds, size_t count)
{
	return gateway_open_way(gateway_of(self), RUN_EXEC, fds, count);
}

static void own_refused(struct run_gateway *self, const struct gateway_refused *refused)
{
	gateway_exec_refused(gateway_of(self), RUN_EXEC, refused);
}

static void own_note(struct run_gateway *self, enum gateway_note what, const char *path,
		     const char *words)
{
	gateway_exec_note(gateway_of(self), RUN_EXEC, what, path, words);
}

static void own_end(struct run_gateway *self, const struct exec_process_result *result)
{
	for (size_t i = 0; i < POLICY_LIMITS; i++)
		if ((result->limits & BIT(i)) != 0)
			gateway_exec_reached(gateway_of(self), RUN_EXEC, (enum policy_limit)i);
	gateway_exec_end(gateway_of(self), RUN_EXEC, result->status);
	gateway_finish(gateway_of(self), FINISH_MS, on_finished, own_of(self));
}

void run_own_report(const struct gate *gate, struct run_summary *ret)
{
	ret->run = gate->id;
	ret->limits |= gateway_limits_reached(gate->gateway);
	ret->trips = gateway_trips(gate->gateway, &ret->trip_count);
	ret->others = gateway_trips_others(gate->gateway);
	ret->upstreams = gate->upstreams;
}

static void own_report(const struct run_gateway *self, struct run_summary *ret)
{
	run_own_report(container_of(self, const struct run_own, base)->gate, ret);
}

/* A request that could not be recorded was denied, so there is nothing to report. */
static const char *own_conclude(struct run_gateway *self, int status)
{
	gateway_ends_with(gateway_of(self), status);
	return NULL;
}

static void own_close(struct run_gateway *self)
{
	struct run_own *own = own_of(self);

	gate_close(own->gate); /* may call on_release() */
	free(own);
}

static const struct run_gateway_ops own_ops = {
	.narrow = own_narrow,
	.open = own_open,
	.begin = own_begin,
	.start_worker = own_start_worker,
	.watch = own_watch,
	.open_way = own_open_way,
	.refused = own_refused,
	.note = own_note,
	.end = own_end,
	.report = own_report,
	.conclude = own_conclude,
	.close = own_close,
};

int run_own_prepare(struct gate *gate, struct run_options *options, struct run_gateway **ret)
{
	struct run_own *own = mem_new(sizeof(*own));

	own->base.ops = &own_ops;
	own->gate = gate;
	*ret = &own->base;
	return gate_prepare(gate, options);
}
