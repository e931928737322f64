#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "cli/agent/agent_impl.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/gate/conclude.h"
#include "cli/gate/gate.h"
#include "cli/run/run_policy.h"
#include "cli/report/run_summary.h"
#include "exec/exec_sandbox.h"
#include "exec/orchestrator/orchestrator.h"
#include "gateway/gateway_note.h"
#include "policies/policies_agent.h"

#define FINISH_MS 2000  /* for the worker to report the requests that were open */
#define FILES_MAX 16384 /* descriptors: hundreds of commands take about a dozen each */

static const int endings[] = { SIGINT, SIGTERM, SIGHUP };

/* One client: its gate and its agent, each of which calls the other. */
struct serving {
	struct gate gate;
	struct agent_host host;
	struct agent *agent;
	struct event signals[ARRAY_SIZE(endings)];
	bool has_signals, is_failed;
	char **hidden, **writable, *spill_dir;
};

static void on_abort(uint64_t exec, void *arg)
{
	struct serving *serving = arg;

	agent_abort(serving->agent, exec);
}

static void on_worker_gone(const char *why, void *arg)
{
	struct serving *serving = arg;

	serving->is_failed = true;
	agent_end(serving->agent, why);
}

static void on_policy(const struct policy *policy, void *arg)
{
	struct serving *serving = arg;

	agent_set_policy(serving->agent, policy);
}

static void on_finished(void *arg)
{
	struct serving *serving = arg;

	loop_stop(serving->gate.loop);
}

static void on_end(void *gate)
{
	struct serving *serving = container_of((struct gate *)gate, struct serving, gate);

	gateway_finish(serving->gate.gateway, FINISH_MS, on_finished, serving);
}

static void on_signal(evutil_socket_t signal, short what, void *arg)
{
	struct serving *serving = arg;

	agent_end(serving->agent, "the server received a signal to end");
}

static void watch_signals(struct serving *serving)
{
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		event_assign(&serving->signals[i], loop_base(serving->gate.loop), endings[i],
			     EV_SIGNAL | EV_PERSIST, on_signal, serving);
		event_add(&serving->signals[i], NULL);
	}
	serving->has_signals = true;
	gate_ignore_signals();
}

/* Hundreds of commands at once need many descriptors in this process and in the worker. */
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= FILES_MAX)
		return;
	limit.rlim_cur = limit.rlim_max < FILES_MAX ? limit.rlim_max : FILES_MAX;
	(void)setrlimit(RLIMIT_NOFILE, &limit); /* on failure fewer commands can run at once */
}

/* Output that is too long to keep in memory is written here in full. The folder lies below one that
 * no command can see. */
static void make_spill_dir(struct serving *serving)
{
	const char *state = serving->gate.places.state_dir;

	if (!state)
		return;
	serving->spill_dir = mem_printf("%s/agent/%s", state, serving->gate.id);
	if (cli_make_dirs(serving->spill_dir) < 0)
		free(take(serving->spill_dir));
}

static char **copy_list(char *const *list, const char *more)
{
	char **copy = mem_copy_list((const char *const *)list);
	size_t count = 0;

	while (copy[count])
		count++;
	copy = mem_grow(copy, count + 2, sizeof(*copy));
	copy[count] = more ? mem_strdup(more) : NULL;
	copy[count + 1] = NULL;
	return copy;
}

static int open_all(struct serving *serving, struct agent_options *options, int in, int out,
		    const char *hidden)
{
	struct gate *gate = &serving->gate;
	struct err why = { 0 };

	gate->loop = loop_new();
	int status = gate_view(gate);

	if (status == CLI_OK && run_policy_note_reach(&options->run, &gate->places, &gate->loaded,
						      gate->view.writable, &why) < 0)
		status = cli_fail(CLI_NO_SANDBOX, "%s", why.text);
	if (status != CLI_OK)
		return status;
	run_env_announce(&gate->view);
	/* The root of all caches is known from here on. */
	(void)run_caches_of(&gate->view, gate->places.cwd, gate->policy, &options->run,
			    &gate->places);
	serving->hidden = copy_list(gate->view.hidden, hidden);
	for (char *const *path = gate->view.denied; path && *path; path++)
		mem_append_list(&serving->hidden, mem_strdup(*path));
	/* A copy: sessions add paths to the gate's own list, which are not for every session. */
	serving->writable = copy_list(gate->view.writable, NULL);
	make_spill_dir(serving);
	serving->host = agent_host_of_gate;
	serving->host.on_end = on_end;
	const struct agent_config config = {
		.loop = gate->loop,
		.in = in,
		.out = out,
		.id = gate->id,
		.version = SALLYPORT_VERSION,
		.cwd = gate->places.cwd,
		.readable = (const char *const *)gate->view.readable,
		.writable = (const char *const *)serving->writable,
		.hidden = (const char *const *)serving->hidden,
		.read_only = (const char *const *)gate->view.read_only,
		.protection = &gate->view.protection,
		.limits = &gate->view.limits,
		.sockets = (const char *const *)gate->view.sockets,
		.env = (const char *const *)gate->view.env,
		.env_set = (const char *const *)options->run.env_set,
		.cache_root = gate->view.cache_root,
		.control = gate->control,
		.has_no_probe = options->run.has_no_probe,
		.must_intercept = options->run.must_judge_programs,
		.spill_dir = serving->spill_dir,
		.may_unconfine = options->may_unconfine,
		.host = &serving->host,
		.arg = gate,
	};

	serving->agent = agent_new(&config, &why);
	if (!serving->agent)
		return cli_fail(CLI_NO_SANDBOX, "%s", why.text);
	const struct gate_calls calls = {
		.on_abort = on_abort,
		.on_worker_gone = on_worker_gone,
		.on_policy = on_policy,
		.arg = serving,
		.embedded = agent_embedded(serving->agent),
	};

	status = gate_open(gate, &calls);
	if (status == CLI_OK && gate->view.withheld)
		gateway_exec_note(gate->gateway, 0, GATEWAY_WITHHELD, NULL, gate->view.withheld);
	agent_set_helpers(serving->agent, run_helpers_get(gate->helpers));
	return status == CLI_OK ? gate_workers_start(gate) : status;
}

/* What a run prints about its one command, the client has been told of each of its own. */
static int conclude_serving(const struct serving *serving, const struct agent_front *front,
			    int64_t started_ms)
{
	const struct agent_denials denials = agent_denials(serving->agent);
	struct run_summary summary = { .denied = denials.denied, .unanswered = denials.unanswered };
	int status = front && front->status ? front->status(front->arg) : CLI_OK;

	return conclude(&serving->gate, &summary, serving->is_failed, status, started_ms);
}

static int perform(struct serving *serving, const struct agent_front *front)
{
	struct gate *gate = &serving->gate;
	int64_t started_ms = loop_now_ms(gate->loop);

	gate_watch(gate);
	watch_signals(serving); /* after the fork: the worker inherits no handlers */
	agent_start(serving->agent, gate->gateway, gate->policy);
	if (front) {
		int status = front->open(gate, front->arg);

		if (status != CLI_OK)
			return status;
	}
	if (loop_run(gate->loop) < 0)
		return cli_fail(CLI_NO_SANDBOX, "the event loop failed; all commands were ended");
	return conclude_serving(serving, front, started_ms);
}

static void serving_done(struct serving *serving)
{
	for (size_t i = 0; serving->has_signals && i < ARRAY_SIZE(endings); i++)
		event_del(&serving->signals[i]);
	gate_close(&serving->gate);
	agent_free(serving->agent);
	if (serving->spill_dir)
		cli_remove_dir(serving->spill_dir);
	free(serving->spill_dir);
	mem_free_list(serving->hidden);
	mem_free_list(serving->writable);
	gate_free(&serving->gate);
}

int agent_serve(struct agent_options *options, int in, int out, const char *hidden,
		const struct agent_front *front)
{
	struct serving serving = { .gate = GATE_NONE };
	int status;

	raise_limit();
	status = gate_prepare(&serving.gate, &options->run);
	if (status == CLI_OK)
		status = open_all(&serving, options, in, out, hidden);
	if (status == CLI_OK)
		status = perform(&serving, front);
	if (front)
		front->close(front->arg);
	serving_done(&serving);
	return status;
}

/* Opens a file description of our own: O_NONBLOCK belongs to the description, so setting it on a
 * shared one would change it for every process that holds it. *@ret_owned must be closed. */
int agent_own_end(int fd, int flags, int *ret_owned)
{
	auto_free char *path = mem_printf("/proc/self/fd/%d", fd);
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (S_ISREG(status.st_mode))
		return fd;
	if (!S_ISSOCK(status.st_mode))
		*ret_owned = open(path, flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (*ret_owned >= 0)
		return *ret_owned;
	int r = fd_set_nonblocking(fd, true);

	return r < 0 ? r : fd;
}

int agent_own_ends(int *ret_in, int *ret_out)
{
	int own_in = -1, own_out = -1;

	*ret_in = agent_own_end(STDIN_FILENO, O_RDONLY, &own_in);
	*ret_out = agent_own_end(STDOUT_FILENO, O_WRONLY, &own_out);
	return *ret_in < 0 || *ret_out < 0
		       ? cli_fail(CLI_NO_SANDBOX,
				  "stdin and stdout must be open, because the client speaks there")
		       : CLI_OK;
}

static int serve_here(struct agent_options *options)
{
	int in = -1, out = -1;
	int status = agent_own_ends(&in, &out);

	if (status == CLI_OK)
		status = agent_serve(options, in, out, NULL, NULL);
	if (in > STDERR_FILENO)
		fd_close(in);
	if (out > STDERR_FILENO)
		fd_close(out);
	return status;
}

int agent_options_take(struct agent_options *options, const struct options *given)
{
	/* The name of the gate in records; this command is never run. */
	static const char *const command[] = { "sallyport-agent", NULL };

	*options = (struct agent_options){
		.socket = options_get(given, OPT_SOCKET),
		.may_unconfine = options_has(given, OPT_ALLOW_UNCONFINED),
		.approval = options_get(given, OPT_APPROVAL),
		.sandbox = options_get(given, OPT_SERVER_SANDBOX),
	};
	int status = run_options_take(&options->run, given);

	/* Standard error is the client's, so nothing is printed there without a wish. */
	if (options->run.report == RUN_REPORT_AUTO)
		options->run.report = RUN_REPORT_NONE;
	/* Stdin carries the protocol, not a person's answers. */
	options->run.may_use_tty = false;
	options->run.helpers.kinds = POLICY_HELPS_ALL;
	options->run.command = command;
	return status;
}

int agent_options_check(const struct agent_options *options, enum cli_command command)
{
	enum orchestrator_mode approval;
	enum exec_mode sandbox = EXEC_MODE_WORKSPACE_WRITE;
	unsigned int categories;
	struct err why = { 0 };

	if (options->approval &&
	    orchestrator_mode_parse(options->approval, &approval, &categories, &why) < 0)
		return options_wrong(command, "--approval: %s", why.text);
	if (options->sandbox)
		(void)exec_mode_parse(options->sandbox,
				      &sandbox); /* options.def has checked the word */
	if (sandbox == EXEC_MODE_FULL_ACCESS && !options->may_unconfine)
		return options_wrong(command,
				     "--sandbox danger-full-access needs --allow-unconfined");
	return CLI_OK;
}

/* The gate of each client ends by itself, so the server has no status, file or port for them. */
static int check_options(const struct agent_options *options)
{
	const struct run_options *run = &options->run;

	return options->socket && (run->must_fail_on_ask || run->must_fail_on_deny || run->bundle ||
				   run->metrics)
		       ? options_wrong(CLI_AGENT,
				       "--fail-on-ask, --fail-on-deny, --bundle and --metrics are "
				       "about one client; --socket serves several")
		       : CLI_OK;
}

int cli_agent(const struct options *given)
{
	struct agent_options options;
	int status = agent_options_take(&options, given);

	if (status == CLI_OK)
		status = check_options(&options);
	if (status == CLI_OK)
		status = options.socket ? agent_listen(&options) : serve_here(&options);
	run_options_free(&options.run);
	return status;
}
