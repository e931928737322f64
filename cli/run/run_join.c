#include "cli/run/run_join.h"

#include <errno.h>
#include <event2/buffer.h>
#include <fcntl.h>
#include <string.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/approve/approve.h"
#include "cli/cli.h"
#include "cli/gate/gate.h"
#include "cli/gate/run_upstream.h"
#include "cli/run/run_bundle.h"
#include "cli/run/run_join_impl.h"
#include "cli/run/run_options.h"
#include "cli/report/run_summary.h"
#include "exec/exec_process_result.h"
#include "gateway/gateway_far.h"

#define COMMAND_MAX 512
#define TRAFFIC_MAX 65536 /* a gate of this program sends no more */
#define OVER_MS     3000  /* for the worker's last reports, and the session's confirmation */

static struct run_join *join_of(struct run_gateway *self)
{
	return container_of(self, struct run_join, base);
}

int run_join_refuse(const struct run_join *join, const char *words)
{
	return cli_fail(CLI_NO_SANDBOX, "--join %s: %s; nothing was run", join->name, words);
}

static void tell_over(void *arg)
{
	struct run_join *join = arg;

	if (join->is_over)
		return;
	join->is_over = true;
	loop_timer_stop(&join->late);
	join->calls.on_over(join->calls.arg);
}

static void on_closed(void *arg)
{
	struct run_join *join = arg;

	if (join->is_gone)
		return;
	join->is_gone = true;
	if (join->is_ending)
		tell_over(join);
	else
		join->calls.on_kill("the session's gate died; all connections are closed", false,
				    join->calls.arg);
}

static bool handle_kill(struct run_join *join, struct frame *frame)
{
	static const char *const words[SESSION_KILLS] = {
		[SESSION_BY_PERSON] = "an approver aborted the command",
		[SESSION_BY_WORKER] = "the proxy worker died; all connections are closed",
		[SESSION_BY_END] = "the session was ended, which ends its runs",
	};
	uint8_t why = frame_get_u8(frame);

	if (!frame_is_whole(frame) || why >= SESSION_KILLS)
		return false;
	join->calls.on_kill(words[why], why == SESSION_BY_PERSON, join->calls.arg);
	return true;
}

static void join_note(struct run_gateway *self, enum gateway_note what, const char *path,
		      const char *words)
{
	struct frame frame;

	session_wire_put_note(&frame, what, path, words);
	(void)frame_link_send(join_of(self)->link, &frame, NULL,
			      0); /* a dead link reports itself */
}

static void send_worker(const struct run_join *join, int link)
{
	struct frame frame;

	frame_begin(&frame, SESSION_WORKER);
	(void)frame_link_send(join->link, &frame, &link, 1); /* a dead link reports itself */
}

/* The worker is ours, and so is its successor. */
static bool handle_lost(struct run_join *join, struct frame *frame)
{
	char words[GATE_WHY_MAX];
	uint8_t is_hostile = frame_get_u8(frame);

	if (!frame_is_whole(frame) || is_hostile > 1 || join->gate->worker_count == 0)
		return false;
	if (join->is_ending)
		return true; /* the session knows by now that none follows */
	int link = gate_workers_next(join->gate, 0, is_hostile, words);

	join_note(&join->base, GATEWAY_WORKER_ENDED, NULL, words);
	if (link >= 0)
		send_worker(join, link);
	else
		join->calls.on_kill(words, false, join->calls.arg);
	return true;
}

static bool handle_trip(struct run_join *join, struct frame *frame)
{
	struct gateway_trip trip;

	if (join->trip_count == TRAFFIC_MAX || session_wire_get_trip(frame, &trip) < 0)
		return false;
	join->trips = mem_grow(join->trips, join->trip_count + 1, sizeof(*join->trips));
	join->trips[join->trip_count++] = trip;
	return true;
}

/* The end message carries a file of unanswered questions if one was asked for, and no descriptor
 * otherwise. */
static bool handle_over(struct run_join *join, struct frame *frame, int *fds, size_t count)
{
	struct bundle *bundle = run_bundle_get(join->gate->bundle);

	if (session_wire_get_trip(frame, &join->others) < 0 || count > (bundle ? 1 : 0))
		return false;
	if (bundle && count == 0)
		(void)err_set(&join->failure, -ENODATA,
			      "the session did not list the unanswered questions");
	else if (bundle)
		(void)session_bundle_unpack(fd_take(&fds[0]), bundle, &join->failure);
	join->was_told = true;
	tell_over(join);
	return true;
}

static void on_frame(struct frame *frame, int *fds, size_t count, void *arg)
{
	struct run_join *join = arg;
	bool is_good;

	if (join->is_gone)
		is_good = true;
	else if (frame->type == SESSION_KILL)
		is_good = handle_kill(join, frame);
	else if (frame->type == SESSION_LOST)
		is_good = handle_lost(join, frame);
	else if (frame->type == SESSION_TRIP && join->is_ending)
		is_good = handle_trip(join, frame);
	else
		is_good = frame->type == SESSION_OVER && join->is_ending &&
			  handle_over(join, frame, fds, count);
	fd_close_all(fds, count);
	if (!is_good)
		on_closed(join);
}

/* Subscribes to the session's questions. Takes nothing when it fails; *@ret_heard: the messages
 * that followed the reply. */
static int watch_questions(const struct run_join *join, struct approve_link *ret, char **ret_heard,
			   struct err *why)
{
	auto_close int dir_fd = approve_dir_open(why);
	json_t *reply = NULL;

	if (dir_fd < 0)
		return dir_fd;
	int r = approve_link_open(dir_fd, join->terms.facts[SESSION_ID], APPROVE_WAIT_MS, ret, why);

	if (r < 0)
		return r;
	r = approve_link_request(ret, json_pack("{s:s}", "op", "watch"), &reply, why);
	if (r < 0) {
		approve_link_done(ret);
		return r;
	}
	auto_free char *text = json_dumps(reply, JSON_COMPACT | JSON_ENSURE_ASCII);
	size_t len = evbuffer_get_length(ret->in);

	json_decref(reply);
	*ret_heard = mem_printf("%s\n%.*s", text ? text : "", (int)len,
				len > 0 ? (const char *)evbuffer_pullup(ret->in, -1) : "");
	return 0;
}

/* If questions cannot be asked on the terminal, the run continues with a warning. */
static void attach_terminal(struct run_join *join)
{
	struct gate *gate = join->gate;
	struct approve_link link = { .fd = -1 };
	auto_free char *heard = NULL;
	auto_free char *run = mem_printf("%s_%llu", gate->id, (unsigned long long)join->terms.exec);
	struct err why = { 0 };

	gate->terminal = (struct gateway_terminal){ gate->tty, join->calls.hold,
						    join->calls.release, join->calls.arg };
	if (watch_questions(join, &link, &heard, &why) == 0) {
		const struct gateway_far_config config = {
			.terminal = &gate->terminal,
			.may_always = join->terms.facts[SESSION_USER][0] != '\0',
			.control_dir = gate->places.control_dir,
			.run = run,
			.tmux = gate->tmux,
		};

		join->far = gateway_far_new(join->loop, &config, &why);
		if (join->far &&
		    gateway_far_add(join->far, run, fd_take(&link.fd), heard, &why) < 0) {
			gateway_far_free(join->far);
			join->far = NULL;
		}
		approve_link_done(&link);
	}
	if (!join->far)
		(void)cli_fail(0,
			       "this terminal shows no questions: %s; answer them with `sallyport "
			       "approve`",
			       why.text);
}

static int join_open(struct run_gateway *self, const struct run_gateway_calls *calls)
{
	struct run_join *join = join_of(self);
	struct gate *gate = join->gate;

	join->calls = *calls;
	if (gate_open_bundle(gate) != CLI_OK || gate_find_tmux(gate) != CLI_OK ||
	    run_upstream_find(gate->policy, &gate->places, &gate->upstreams) != CLI_OK)
		return CLI_NO_SANDBOX;
	gate->loop = join->loop = loop_new();
	if (gate->options->may_use_tty)
		gate->tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	join->link = frame_link_new(join->loop, fd_take(&join->socket), on_frame, on_closed, join);
	/* Attach before any question can be asked: the gateway denies at once if no approver is
	 * attached. */
	if (gate->tty >= 0)
		attach_terminal(join);
	return CLI_OK;
}

static int join_begin(struct run_gateway *self)
{
	struct run_join *join = join_of(self);
	const struct gate *gate = join->gate;
	auto_free char *command = text_command_line(gate->options->command, COMMAND_MAX);
	auto_free_list char **writable =
		run_join_prepare_append(mem_new(sizeof(*writable)), gate->view.writable);
	struct session_begin begin = { .wants_bundle = gate->bundle,
				       .is_impatient = gate->options->must_fail_on_ask };
	struct frame frame;
	struct err why = { 0 };
	int fds[SESSION_BEGIN_LISTS];
	char *const cwd[] = { gate->places.cwd, NULL };

	writable = run_join_prepare_append(writable, cwd);
	(void)snprintf(begin.command, sizeof(begin.command), "%s", command);
	begin.argv = (char **)(uintptr_t)gate->options->command;
	begin.writable = writable;
	if (session_wire_put_begin(&frame, &begin, fds, &why) < 0)
		return run_join_refuse(join, why.text);
	(void)frame_link_send(join->link, &frame, fds,
			      SESSION_BEGIN_LISTS); /* a dead link reports itself */
	return CLI_OK;
}

static int join_start_worker(struct run_gateway *self)
{
	struct run_join *join = join_of(self);
	int status = gate_workers_fork(join->gate);

	if (status == CLI_OK)
		send_worker(join, fd_take(&join->gate->worker_socket));
	return status;
}

/* The session watches its own files. */
static void join_watch(struct run_gateway *self)
{
}

static int join_open_way(struct run_gateway *self, int *fds, size_t count)
{
	struct frame frame;

	frame_begin(&frame, SESSION_WAY);
	return frame_link_send(join_of(self)->link, &frame, fds, count);
}

static void join_refused(struct run_gateway *self, const struct gateway_refused *refused)
{
	struct frame frame;

	session_wire_put_refused(&frame, refused);
	(void)frame_link_send(join_of(self)->link, &frame, NULL,
			      0); /* a dead link reports itself */
}

static void join_end(struct run_gateway *self, const struct exec_process_result *result)
{
	struct run_join *join = join_of(self);
	struct frame frame;

	join->is_ending = true;
	frame_begin(&frame, SESSION_ENDED);
	frame_put_u32(&frame, (uint32_t)result->status);
	(void)frame_link_send(join->link, &frame, NULL, 0); /* the timer covers a dead link */
	loop_timer_start(join->loop, &join->late, join->is_gone ? 0 : OVER_MS, tell_over, join);
}

/* The session records the end. */
static const char *join_conclude(struct run_gateway *self, int status)
{
	const struct run_join *join = join_of(self);

	if (join->was_told)
		return join->failure.text[0] != '\0' ? join->failure.text : NULL;
	return join->is_gone ? "the session's gate died before the end of the run was recorded"
			     : "the session did not confirm that it recorded the end of the run";
}

static void join_report(const struct run_gateway *self, struct run_summary *ret)
{
	const struct run_join *join = container_of(self, const struct run_join, base);

	ret->run = join->id;
	ret->trips = join->trips;
	ret->trip_count = join->trip_count;
	ret->others = &join->others;
	ret->upstreams = join->gate->upstreams;
}

static void join_close(struct run_gateway *self)
{
	struct run_join *join = join_of(self);

	gateway_far_free(join->far);
	loop_timer_stop(&join->late);
	frame_link_free(join->link);
	fd_close(join->socket);
	session_wire_free_terms(&join->terms);
	for (size_t i = 0; i < join->trip_count; i++)
		gateway_trip_done(&join->trips[i]);
	gateway_trip_done(&join->others);
	free(join->trips);
	free(join->id);
	gate_close(join->gate);
	free(join);
}

const struct run_gateway_ops run_join_ops = {
	.narrow = run_join_prepare_view,
	.open = join_open,
	.begin = join_begin,
	.start_worker = join_start_worker,
	.watch = join_watch,
	.open_way = join_open_way,
	.refused = join_refused,
	.note = join_note,
	.end = join_end,
	.report = join_report,
	.conclude = join_conclude,
	.close = join_close,
};
