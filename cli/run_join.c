#include "cli/run_join.h"

#include <errno.h>
#include <event2/buffer.h>
#include <fcntl.h>
#include <string.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/approve.h"
#include "cli/cli.h"
#include "cli/run_join_impl.h"
#include "gateway/gateway_far.h"

#define COMMAND_MAX 512
#define TRIPS_MAX   65536 /* more is no gate of ours */

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
		join->calls.on_kill("the session's gate died, so the way out is closed", false,
				    join->calls.arg);
}

static bool handle_kill(struct run_join *join, struct frame *frame)
{
	static const char *const words[SESSION_KILLS] = {
		[SESSION_BY_PERSON] = "a person aborted the command",
		[SESSION_BY_WORKER] = "the proxy worker died, so the way out is closed",
		[SESSION_BY_END] = "the session was ended, and its runs with it",
	};
	uint8_t why = frame_get_u8(frame);

	if (!frame_is_whole(frame) || why >= SESSION_KILLS)
		return false;
	join->calls.on_kill(words[why], why == SESSION_BY_PERSON, join->calls.arg);
	return true;
}

static bool handle_trip(struct run_join *join, struct frame *frame)
{
	struct gateway_trip trip;

	if (session_wire_get_trip(frame, &trip) < 0 || join->trip_count == TRIPS_MAX)
		return false;
	join->trips = mem_grow(join->trips, join->trip_count + 1, sizeof(*join->trips));
	join->trips[join->trip_count++] = trip;
	return true;
}

static bool handle_over(struct run_join *join, struct frame *frame)
{
	if (session_wire_get_trip(frame, &join->others) < 0)
		return false;
	join->was_told = true;
	tell_over(join);
	return true;
}

static void on_frame(struct frame *frame, int *fds, size_t count, void *arg)
{
	struct run_join *join = arg;
	bool is_good;

	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
	if (join->is_gone)
		return;
	if (frame->type == SESSION_KILL)
		is_good = handle_kill(join, frame);
	else if (frame->type == SESSION_TRIP && join->is_ending)
		is_good = handle_trip(join, frame);
	else
		is_good =
			frame->type == SESSION_OVER && join->is_ending && handle_over(join, frame);
	if (!is_good)
		on_closed(join);
}

/* Begins to watch the session's questions. Takes nothing when it fails; *@ret_heard: what was said
 * from there on. */
static int watch_questions(const struct run_join *join, struct approve_link *ret, char **ret_heard,
			   struct err *why)
{
	auto_close int dir_fd = approve_dir_open(why);
	json_t *reply = NULL;

	if (dir_fd < 0)
		return dir_fd;
	int r = approve_link_open(dir_fd, join->terms.facts[SESSION_ID], ret, why);

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

/* A terminal on which nothing can be asked is worth a word, not the run. */
static void attach_terminal(struct run_join *join, struct gate *gate)
{
	struct approve_link link = { .fd = -1 };
	auto_free char *heard = NULL;
	auto_free char *run = mem_printf("%s_%llu", gate->id, (unsigned long long)join->terms.exec);
	struct err why = { 0 };

	gate->terminal = (struct gateway_terminal){ gate->tty, join->calls.hold,
						    join->calls.release, join->calls.arg };
	if (watch_questions(join, &link, &heard, &why) == 0) {
		const struct gateway_far_config config = {
			.socket = fd_take(&link.fd),
			.heard = heard,
			.heard_len = strlen(heard),
			.terminal = &gate->terminal,
			.may_always = join->terms.facts[SESSION_USER][0] != '\0',
			.control_dir = gate->places.control_dir,
			.run = run,
		};

		join->far = gateway_far_new(join->loop, &config, &why);
		approve_link_done(&link);
	}
	if (!join->far)
		(void)cli_fail(0,
			       "nothing is asked on this terminal: %s; answer with `sallyport "
			       "approve`",
			       why.text);
}

int run_join_open(struct run_join *join, struct gate *gate, const struct run_join_calls *calls)
{
	join->calls = *calls;
	gate->loop = join->loop = loop_new();
	if (gate->options->may_use_tty)
		gate->tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	join->link = frame_link_new(join->loop, fd_take(&join->socket), on_frame, on_closed, join);
	/* Before there is anything that may be asked: who is not there yet is nobody. */
	if (gate->tty >= 0)
		attach_terminal(join, gate);
	return CLI_OK;
}

int run_join_begin(struct run_join *join, const struct gate *gate)
{
	auto_free char *command = text_command_line(gate->options->command, COMMAND_MAX);
	auto_free_list char **writable =
		run_join_prepare_append(mem_new(sizeof(*writable)), gate->view.writable);
	struct frame frame;
	struct err why = { 0 };
	int fds[2];
	char *const cwd[] = { gate->places.cwd, NULL };

	writable = run_join_prepare_append(writable, cwd);
	fds[0] = session_wire_pack(gate->options->command, &why);
	fds[1] = session_wire_pack((const char *const *)writable, &why);
	if (fds[0] < 0 || fds[1] < 0) {
		fd_close(fds[0]);
		fd_close(fds[1]);
		return run_join_refuse(join, why.text);
	}
	frame_begin(&frame, SESSION_BEGIN);
	frame_put_text(&frame, command);
	(void)frame_link_send(join->link, &frame, fds, 2); /* a dead link reports itself */
	return CLI_OK;
}

int run_join_start_worker(struct run_join *join, struct gate *gate)
{
	struct frame frame;
	int status = gate_fork_worker(gate);

	if (status != CLI_OK)
		return status;
	int fd = fd_take(&gate->worker_socket);

	frame_begin(&frame, SESSION_WORKER);
	(void)frame_link_send(join->link, &frame, &fd, 1); /* a dead link reports itself */
	return CLI_OK;
}

int run_join_open_way(struct run_join *join, int *fds, size_t count)
{
	struct frame frame;

	frame_begin(&frame, SESSION_WAY);
	return frame_link_send(join->link, &frame, fds, count);
}

void run_join_refused(struct run_join *join, const struct gateway_refused *refused)
{
	struct frame frame;

	session_wire_put_refused(&frame, refused);
	(void)frame_link_send(join->link, &frame, NULL, 0); /* a dead link reports itself */
}

void run_join_end(struct run_join *join, int status, int64_t ms)
{
	struct frame frame;

	join->is_ending = true;
	frame_begin(&frame, SESSION_ENDED);
	frame_put_u32(&frame, (uint32_t)status);
	(void)frame_link_send(join->link, &frame, NULL, 0); /* the timer is for a dead link */
	loop_timer_start(join->loop, &join->late, join->is_gone ? 0 : ms, tell_over, join);
}

const char *run_join_id(const struct run_join *join)
{
	return join->id;
}

const char *run_join_failure(const struct run_join *join)
{
	if (join->was_told)
		return NULL;
	return join->is_gone ? "the session's gate died before the end of the run was recorded"
			     : "the session does not say that the end of the run was recorded";
}

void run_join_report(const struct run_join *join, struct run_summary *ret)
{
	ret->trips = join->trips;
	ret->trip_count = join->trip_count;
	ret->others = &join->others;
}

void run_join_free(struct run_join *join)
{
	if (!join)
		return;
	gateway_far_free(join->far);
	loop_timer_stop(&join->late);
	frame_link_free(join->link);
	fd_close(join->socket);
	session_wire_free_terms(&join->terms);
	free(join->trips);
	free(join->id);
	free(join);
}
