#include "cli/run_join.h"

#include <errno.h>
#include <event2/buffer.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/approve.h"
#include "cli/cli.h"
#include "cli/session.h"
#include "cli/trusted.h"
#include "gateway/gateway_far.h"
#include "policies/policies_tools.h"

#define COMMAND_MAX 512
#define RETRY_MS    100
#define SAME_MS     3000  /* for the session to read what changed */
#define TRIPS_MAX   65536 /* more is no gate of ours */

struct run_join {
	struct session_terms terms;
	const char *name; /* of the session */
	char *id;
	int socket; /* until there is a link */
	struct frame_link *link;
	struct loop *loop;
	struct run_join_calls calls;
	struct gateway_far *far; /* asks here; NULL: nobody is asked here */
	struct gateway_trip *trips, others;
	size_t trip_count;
	struct loop_timer late;
	bool is_gone; /* the session */
	bool is_ending, is_over;
};

static int refuse(const struct run_join *join, const char *words)
{
	return cli_fail(CLI_NO_SANDBOX, "--join %s: %s; nothing was run", join->name, words);
}

static int ask_terms(struct run_join *join, struct err *why)
{
	struct frame frame;
	int fds[FD_PASS_MAX];
	size_t count = 0;

	session_wire_free_terms(&join->terms);
	if (session_wire_say(join->socket, SESSION_JOIN) < 0)
		return err_set(why, -EPIPE, "the session hung up");
	int r = session_wire_expect(join->socket, SESSION_TERMS, &frame, fds, &count, why);

	return r < 0 ? r : session_wire_get_terms(&frame, fds, count, &join->terms, why);
}

static int connect_to(struct run_join *join, struct err *why)
{
	struct session_place place;
	int r = session_place_open(join->name, &place, why);

	if (r == 0)
		r = join->socket = session_place_connect(&place, why);
	session_place_done(&place);
	if (r == -ENOENT)
		return err_set(why, r,
			       "there is no such session; start it with `sallyport session "
			       "start %s`",
			       join->name);
	return r < 0 ? r : ask_terms(join, why);
}

static const char *none_if_empty(const char *text)
{
	return text[0] != '\0' ? text : NULL;
}

static bool is_listed(char *const *list, const char *text)
{
	for (; list && *list; list++) {
		if (strcmp(*list, text) == 0)
			return true;
	}
	return false;
}

/* A project's file only narrows, and the session goes by those of the folder where it began. One
 * that it does not know would be passed over. */
static int check_projects(const struct run_join *join, const struct run_places *places)
{
	auto_free_list char **projects = policy_layers_projects(places->cwd);

	for (char **file = projects; *file; file++) {
		if (access(*file, F_OK) < 0 || is_listed(join->terms.projects, *file))
			continue;
		auto_free char *words =
			mem_printf("%s would hold here, and the session does not go by it; start a "
				   "session here",
				   *file);

		return refuse(join, words);
	}
	return CLI_OK;
}

static bool is_same_policy(const struct run_join *join, const struct gate *gate)
{
	return gate->loaded.is_good &&
	       strcmp(gate->loaded.digest, join->terms.facts[SESSION_DIGEST]) == 0;
}

static void read_policy(const struct run_join *join, struct gate *gate)
{
	char *const *facts = join->terms.facts;
	const struct run_sources sources = {
		.layers = {
			.user = none_if_empty(facts[SESSION_USER]),
			.cwd = none_if_empty(facts[SESSION_CWD]),
			.projects = join->terms.projects,
			.state = none_if_empty(facts[SESSION_STATE_DIR]),
			.arguments = join->terms.arguments,
			.start = join->terms.start,
		},
		.has_default = join->terms.has_default,
		.default_action = (enum policy_action)join->terms.default_action,
	};

	policy_free(take(gate->policy));
	run_sources_forget(&gate->loaded);
	run_sources_done(&gate->sources);
	run_sources_copy(&gate->sources, &sources);
	run_sources_read(&gate->loaded, &gate->sources);
	gate->policy = take(gate->loaded.policy);
}

/* Read here once more: rules for commands, and what is hidden or writable, are kept by the run. The
 * digest is of all the files, so both ends have the same. A file that has just changed, by an
 * answer for always too, is read again by the session within a moment. */
static int load(struct run_join *join, struct gate *gate)
{
	const struct timespec pause = { .tv_nsec = RETRY_MS * 1000000L };
	struct err why = { 0 };

	read_policy(join, gate);
	for (int64_t waited = 0; !is_same_policy(join, gate) && waited < SAME_MS;
	     waited += RETRY_MS) {
		(void)nanosleep(&pause, NULL); /* cut short is as good */
		if (ask_terms(join, &why) < 0)
			return refuse(join, why.text);
		read_policy(join, gate);
	}
	if (is_same_policy(join, gate))
		return CLI_OK;
	if (!gate->loaded.is_good)
		(void)fputs(policy_errors(gate->policy), stderr);
	auto_free char *words = mem_printf("the policy %s; what the session says to it is in %s/"
					   "session-%s.log",
					   gate->loaded.is_good ? "is not what the session goes by"
								: "has errors by now",
					   join->terms.facts[SESSION_STATE_DIR], join->name);

	return refuse(join, words);
}

static int check_writable(const struct run_join *join, const struct gate *gate)
{
	auto_free_list char **writable = NULL;
	size_t count = 0;
	int status = run_policy_paths(gate->policy, &gate->places, false, gate->options->writable,
				      &writable);

	if (status != CLI_OK)
		return status;
	while (writable[count])
		count++;
	writable = mem_grow(writable, count + 2, sizeof(*writable));
	writable[count] = mem_strdup(gate->places.cwd);
	writable[count + 1] = NULL;
	auto_free char *objection = run_policy_objection(gate->policy, writable);

	if (objection)
		return refuse(join, objection);
	for (char **program = join->terms.programs; *program; program++) {
		for (char **folder = writable; *folder; folder++) {
			if (!trusted_is_within(*program, *folder))
				continue;
			auto_free char *words = mem_printf(
				"the session asks %s, which the command could write", *program);

			return refuse(join, words);
		}
	}
	return CLI_OK;
}

/* Records are the session's. */
static void place_audit(const struct run_join *join, struct run_places *places)
{
	free(places->audit_path);
	free(places->audit_head);
	places->audit_path = mem_strdup(join->terms.facts[SESSION_AUDIT]);
	places->audit_head = mem_strdup(join->terms.facts[SESSION_AUDIT_HEAD]);
}

int run_join_prepare(struct gate *gate, struct run_options *options, struct run_join **ret)
{
	struct run_join *join = mem_new(sizeof(*join));
	struct err why = { 0 };

	*ret = join;
	join->socket = -1;
	join->name = options->join;
	gate->options = options;
	if (connect_to(join, &why) < 0)
		return refuse(join, why.text);
	options->session = join->name;
	(void)snprintf(gate->id, sizeof(gate->id), "%s",
		       join->terms.facts[SESSION_ID]); /* as long as ours */
	gate->web.port = join->terms.web_port;
	int status = run_places_find(&gate->places, join->terms.facts[SESSION_AUDIT]);

	if (status != CLI_OK)
		return status;
	place_audit(join, &gate->places);
	status = check_projects(join, &gate->places);
	if (status == CLI_OK)
		status = load(join, gate);
	/* It may have been told others. */
	join->id = mem_printf("%s.%llu", gate->id, (unsigned long long)join->terms.exec);
	return status == CLI_OK ? check_writable(join, gate) : status;
}

static char **append(char **list, char *const *more)
{
	size_t count = 0;

	while (list[count])
		count++;
	for (; *more; more++) {
		if (is_listed(list, *more))
			continue;
		list = mem_grow(list, count + 2, sizeof(*list));
		list[count++] = mem_strdup(*more);
		list[count] = NULL;
	}
	return list;
}

void run_join_plan(const struct run_join *join, struct gate_plan *plan)
{
	plan->read_only = append(plan->read_only, join->terms.guarded);
	plan->hidden = append(plan->hidden, join->terms.hidden);
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
	auto_free_list char **writable = append(mem_new(sizeof(*writable)), gate->writable);
	struct frame frame;
	struct err why = { 0 };
	int fds[2];
	char *const cwd[] = { gate->places.cwd, NULL };

	writable = append(writable, cwd);
	fds[0] = session_wire_pack(gate->options->command, &why);
	fds[1] = session_wire_pack((const char *const *)writable, &why);
	if (fds[0] < 0 || fds[1] < 0) {
		fd_close(fds[0]);
		fd_close(fds[1]);
		return refuse(join, why.text);
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
