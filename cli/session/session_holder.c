#include "cli/session/session_holder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/peer.h"
#include "cli/cli.h"
#include "cli/run/run_bundle.h"
#include "cli/gate/run_helpers.h"
#include "cli/gate/run_reload.h"
#include "cli/session/session_wire.h"
#include "gateway/gateway.h"
#include "gateway/gateway_guests.h"
#include "policies/policies_image.h"

static const int ending_signals[] = { SIGINT, SIGTERM };

static void stop_loop(void *arg)
{
	struct session_holder *holder = arg;

	loop_stop(holder->gate.loop);
}

void session_holder_stop(struct session_holder *holder)
{
	if (holder->is_ending)
		return;
	holder->is_ending = true;
	session_guest_end_all(holder);
	loop_timer_start(holder->gate.loop, &holder->ending, SESSION_ENDING_MS, stop_loop, holder);
	session_holder_changed(holder);
}

static void on_idle(void *arg)
{
	struct session_holder *holder = arg;

	if (session_guest_runs(holder) == 0)
		session_holder_stop(holder);
}

void session_holder_changed(struct session_holder *holder)
{
	struct loop *loop = holder->gate.loop;
	bool is_empty = session_guest_runs(holder) == 0;

	if (holder->is_ending && is_empty)
		loop_defer(loop, &holder->ending, stop_loop, holder);
	else if (!is_empty)
		loop_timer_stop(&holder->idle);
	else if (!holder->idle.is_armed)
		loop_timer_start(loop, &holder->idle, holder->start->idle_ms, on_idle, holder);
}

static void on_abort(uint64_t exec, void *arg)
{
	session_guest_abort(arg, exec);
}

static void admit(int fd, uint16_t peer_port, void *arg)
{
	struct session_holder *holder = arg;
	struct peer peer;

	if (holder->guest_count == SESSION_GUESTS_MAX || holder->is_ending ||
	    peer_check(fd, &peer) < 0)
		fd_close(fd);
	else
		session_guest_admit(holder, fd);
}

static void on_signal(evutil_socket_t signal, short what, void *arg)
{
	session_holder_stop(arg);
}

static char *text_or_none(const char *text)
{
	return mem_strdup(text ? text : "");
}

int session_holder_terms(struct session_holder *holder, uint64_t exec, struct session_terms *ret,
			 struct err *why)
{
	struct gate *gate = &holder->gate;
	const struct policy_layers *layers = &gate->sources.layers;
	struct run_view view = { 0 };
	char **facts = mem_new_array(SESSION_FACTS + 1, sizeof(*facts));

	*ret = (struct session_terms){
		.exec = exec,
		.web_port = gate->web.port,
		.metrics_port = gate->metrics.port,
		.has_default = gate->sources.has_default,
		.default_action = (uint8_t)gate->sources.default_action,
		.start = layers->start,
		.facts = facts,
		.arguments = mem_copy_list((const char *const *)layers->arguments),
		.projects = mem_copy_list((const char *const *)layers->projects),
		.programs = run_helpers_programs(gate->helpers),
	};
	facts[SESSION_ID] = mem_strdup(gate->id);
	facts[SESSION_DIGEST] = mem_strdup(gate->loaded.digest);
	facts[SESSION_USER] = text_or_none(layers->user);
	facts[SESSION_CWD] = text_or_none(layers->cwd);
	facts[SESSION_STATE_DIR] = text_or_none(layers->state);
	facts[SESSION_AUDIT] = mem_strdup(gate->places.audit_path);
	facts[SESSION_AUDIT_HEAD] = mem_strdup(gate->places.audit_head);
	/* According to the policy that is in force now. */
	const struct run_view_config config = { gate->options, &gate->places, gate->policy,
						&gate->loaded };
	int status = run_view_make(&view, &config);

	ret->guarded = take(view.read_only);
	ret->hidden = take(view.hidden);
	run_view_done(&view);
	return status == CLI_OK ? 0
				: err_set(why, -EINVAL,
					  "the session's policy names a path that cannot be used");
}

/* A path that was writable counts as writable from then on: commands may have written there. */
void session_holder_add_writable(struct session_holder *holder, char *const *writable)
{
	struct gate *gate = &holder->gate;
	size_t count = 0;

	while (gate->view.writable[count])
		count++;
	for (; *writable; writable++) {
		bool is_known = false;

		for (size_t i = 0; i < count; i++)
			is_known = is_known || strcmp(gate->view.writable[i], *writable) == 0;
		if (is_known)
			continue;
		gate->view.writable =
			mem_grow(gate->view.writable, count + 2, sizeof(*gate->view.writable));
		gate->view.writable[count++] = mem_strdup(*writable);
		gate->view.writable[count] = NULL;
	}
	gate_set_writable(gate);
}

void session_holder_state(const struct session_holder *holder, struct session_state *ret)
{
	*ret = (struct session_state){ .since_s = holder->since_s,
				       .runs = session_guest_runs(holder) };
	(void)snprintf(ret->id, sizeof(ret->id), "%s", holder->gate.id);           /* it fits */
	(void)snprintf(ret->cwd, sizeof(ret->cwd), "%s", holder->gate.places.cwd); /* may be cut */
	(void)snprintf(ret->grants_of, sizeof(ret->grants_of), "%s",
		       holder->start->options.grants_of ? holder->start->options.grants_of : "");
	if (holder->gate.reload)
		(void)snprintf(ret->errors, sizeof(ret->errors), "%s",
			       run_reload_errors(holder->gate.reload)); /* may be cut */
	gateway_count(holder->gate.gateway, &ret->questions, &ret->grants);
}

/* The workers of runs use this compiled form, whatever policy they were forked with. */
static int make_image(struct gate *gate)
{
	struct err why = { 0 };

	gate->loaded.image = policy_image_make(gate->policy, &why);
	if (gate->loaded.image < 0)
		return cli_fail(CLI_NO_SANDBOX, "%s", why.text);
	gate->loaded.has_image = true;
	return CLI_OK;
}

static int take_place(struct session_holder *holder)
{
	struct err why = { 0 };
	int given = -1;

	holder->lock_fd = session_place_lock(&holder->place, &why);
	if (holder->lock_fd == -EBUSY && holder->start->is_if_needed)
		return CLI_DENIED; /* the starter waits for the other holder */
	if (holder->lock_fd < 0)
		return cli_fail(CLI_DENIED, "%s", why.text);
	if (holder->start->is_foreground && session_place_given(&holder->place, &given, &why) < 0)
		return cli_fail(CLI_ERROR, "%s", why.text);
	holder->is_given = given >= 0;
	holder->listen_fd = given;
	return CLI_OK;
}

static int listen_here(struct session_holder *holder)
{
	struct err why = { 0 };

	if (!holder->is_given)
		holder->listen_fd = session_place_bind(&holder->place, &why);
	if (holder->listen_fd < 0)
		return cli_fail(CLI_ERROR, "%s", why.text);
	int r = listener_open(&holder->listener, holder->gate.loop, fd_take(&holder->listen_fd),
			      admit, holder);

	if (r < 0)
		return cli_fail(CLI_ERROR, "cannot watch the session's socket: %s", strerror(-r));
	holder->has_listened = true;
	return CLI_OK;
}

/* After this, messages go to the session's log: this terminal is not used any more. */
static void leave_terminal(const struct session_holder *holder)
{
	const char *state = holder->gate.places.state_dir;
	auto_free char *log =
		state ? mem_printf("%s/session-%s.log", state, holder->place.name) : NULL;
	auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	auto_close int file = -1;

	if (log && cli_make_dirs(state) == 0)
		file = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (null < 0)
		return;
	if (chdir("/") < 0) /* so that no file system is kept busy */
		log_warn("cannot leave the folder that the session was started in; its file system "
			 "stays in use");
	(void)dup2(null, STDIN_FILENO); /* fails only without a descriptor */
	(void)dup2(null, STDOUT_FILENO);
	(void)dup2(file >= 0 ? file : null, STDERR_FILENO);
}

static void say_ready(const struct session_holder *holder, int ready)
{
	if (ready < 0) {
		(void)printf("%s\n", holder->place.name);
		(void)fflush(stdout);
		return;
	}
	/* An error means that the process that started the session has ended and does not wait. */
	(void)fd_write_all(ready, "r", 1);
	leave_terminal(holder);
}

static void watch_signals(struct session_holder *holder)
{
	for (size_t i = 0; i < ARRAY_SIZE(ending_signals); i++) {
		event_assign(&holder->signals[i], loop_base(holder->gate.loop), ending_signals[i],
			     EV_SIGNAL | EV_PERSIST, on_signal, holder);
		event_add(&holder->signals[i], NULL);
	}
	holder->has_signals = true;
	(void)signal(SIGHUP, SIG_IGN);
	gate_ignore_signals();
}

static void holder_done(struct session_holder *holder)
{
	/* The socket is removed first: from now on a client finds no session, and starts another.
	 */
	if (holder->has_listened && !holder->is_given)
		session_place_unbind(&holder->place);
	listener_close(&holder->listener);
	fd_close(holder->listen_fd);
	session_guest_free_all(holder);
	if (holder->has_listened) /* errors are in the session's log */
		(void)run_bundle_write(holder->gate.bundle, holder->gate.id, holder->place.name);
	for (size_t i = 0; holder->has_signals && i < ARRAY_SIZE(ending_signals); i++)
		event_del(&holder->signals[i]);
	loop_timer_stop(&holder->idle);
	loop_timer_stop(&holder->ending);
	loop_timer_stop(&holder->sweep);
	gate_close(&holder->gate);
	gate_free(&holder->gate);
	fd_close(holder->lock_fd);
}

static int holder_begin(struct session_holder *holder)
{
	const struct gate_calls calls = { .on_abort = on_abort, .arg = holder };
	struct gate *gate = &holder->gate;
	int status = take_place(holder);

	if (status == CLI_OK)
		status = gate_prepare(gate, &holder->start->options);
	if (status == CLI_OK)
		status = make_image(gate);
	if (status == CLI_OK)
		status = gate_open(gate, &calls);
	if (status == CLI_OK)
		status = gate_view(gate); /* to know the writable paths */
	if (status == CLI_OK)
		status = gate_keep_files(gate);
	if (status == CLI_OK)
		status = listen_here(holder);
	return status;
}

int session_holder_run(struct session_start *start, struct session_place *place, int ready)
{
	struct session_holder holder = {
		.start = start,
		.place = *place,
		.gate = GATE_NONE,
		.lock_fd = -1,
		.listen_fd = -1,
		.since_s = time(NULL),
	};
	auto_close int pipe = ready;

	LIST_INIT(&holder.guests);
	start->options.session = place->name;
	start->options.may_use_tty = false;
	int status = holder_begin(&holder);

	if (status == CLI_OK) {
		gate_watch(&holder.gate);
		/* Each run says which paths its commands may write. */
		gate_forget_writable(&holder.gate);
		watch_signals(&holder);
		session_holder_changed(&holder);
		say_ready(&holder, pipe);
		fd_close(fd_take(&pipe));
		if (loop_run(holder.gate.loop) < 0)
			status = cli_fail(CLI_ERROR, "the event loop failed");
	}
	holder_done(&holder);
	return status;
}
