#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/policy_layers.h"
#include "cli/run_impl.h"
#include "cli/run_worker.h"
#include "gateway/gateway_tools.h"

#define THE_EXEC     1 /* `run` has one */
#define COMMAND_MAX  512
#define FINISH_MS    2000 /* for the worker to report what was open */
#define EXIT_ABORTED 130
#define EXIT_ASKED   78 /* EX_CONFIG of sysexits.h */
#define RUN_ID_BYTES 3

static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

/* One run: options → policy → worker → gateway → exec, and back. Owns all of them; run_done() frees
 * in reverse. */
struct run {
	struct run_options options;
	char id[RUN_ID_BYTES * 2 + 1];
	struct run_places places;
	struct run_sources sources;
	struct run_loaded loaded;
	struct policy *policy;
	struct run_reload *reload;
	char **writable; /* the working directory, and what was given */
	pid_t worker;
	int worker_socket, tty;
	struct gateway_terminal terminal;
	struct run_helpers *helpers;
	struct gateway_web web;
	struct loop *loop;
	struct gateway *gateway;
	struct run_bundle *bundle;
	struct exec *exec;
	struct run_programs *programs;
	struct event signals[ARRAY_SIZE(forwarded)];
	bool has_signals;
	unsigned int signal_count;
	bool is_aborted, has_result;
	struct exec_result result;
	int64_t started_ms;
};

static int make_id(struct run *run)
{
	uint8_t bytes[RUN_ID_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(run->id + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static void on_hold(void *arg)
{
	struct run *run = arg;

	if (run->exec)
		exec_hold_terminal(run->exec);
}

static void on_release(void *arg)
{
	struct run *run = arg;

	if (run->exec)
		exec_release_terminal(run->exec);
}

static void on_abort(uint64_t exec, void *arg)
{
	struct run *run = arg;

	run->is_aborted = true;
	if (run->exec)
		exec_kill(run->exec, "a person aborted the command");
}

static void on_worker_gone(void *arg)
{
	struct run *run = arg;

	if (run->exec && !run->has_result)
		exec_kill(run->exec, "the proxy worker died, so the way out is closed");
}

/* Is there to be somebody soon? */
static bool is_patient(const struct run_options *options)
{
	return !options->must_fail_on_ask &&
	       (options->has_prompt_timeout ||
		(options->has_default && options->default_action == POLICY_ASK));
}

static int find_helpers(struct run *run)
{
	auto_free_list char **writable = NULL;
	int status = run_policy_paths(run->policy, &run->places, false, run->options.writable,
				      &writable);

	return status == CLI_OK ? run_helpers_make(&run->options.helpers, &run->places, writable,
						   &run->helpers)
				: status;
}

static int open_gateway(struct run *run)
{
	struct err why = { 0 };
	const struct gateway_terminal *terminal = NULL;

	run->loop = loop_new();
	if (run->options.may_use_tty)
		run->tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (run->tty >= 0) {
		run->terminal = (struct gateway_terminal){ run->tty, on_hold, on_release, run };
		terminal = &run->terminal;
	}
	struct gateway_config config = {
		.policy = run->policy,
		.session = run->options.session ? run->options.session : run->id,
		.run = run->id,
		.audit_path = run->places.audit_path,
		.answers_path = run->places.answers_path,
		.seen_path = run->places.seen_path,
		.control_dir = run->places.control_dir,
		.terminal = terminal,
		.helpers = run_helpers_get(run->helpers),
		.web = run->options.has_web ? &run->web : NULL,
		.prompt_timeout_ms = run->options.prompt_timeout_ms,
		.bundle = run_bundle_get(run->bundle),
		.is_patient = is_patient(&run->options),
		.on_abort = on_abort,
		.on_worker_gone = on_worker_gone,
		.arg = run,
	};
	run->web.port = run->options.web_port;
	run->web.answer_origin = run->options.helpers.webhook_answer;
	run->gateway = gateway_new(run->loop, &config, &why);
	if (!run->gateway)
		return cli_fail(CLI_NO_SANDBOX, "%s", why.text);
	if (run->options.has_web)
		run_web_announce(run->tty, run->web.url);
	return CLI_OK;
}

/* While the kernel builds the sandbox. Nothing can reach the listeners before the gateway has
 * handed them on. */
static int start_worker(struct run *run)
{
	struct proxy_config config = {
		.policy = run->policy,
		.resolves = run->options.resolves,
		.resolve_count = run->options.resolve_count,
		.dns_addr = run->options.dns_addr,
		.dns_port = run->options.dns_port,
		.own_port = run->options.has_web ? run->web.port : 0,
	};
	struct err why = { 0 };

	if (run_worker_start(&config, &run->worker, &run->worker_socket, &why) < 0)
		return cli_fail(CLI_NO_SANDBOX, "%s", why.text);
	if (gateway_serve(run->gateway, fd_take(&run->worker_socket)) < 0)
		return cli_fail(CLI_NO_SANDBOX, "the proxy worker cannot be reached");
	return CLI_OK;
}

static int on_egress(int *fds, size_t count, void *arg)
{
	struct run *run = arg;

	return gateway_open_way(run->gateway, THE_EXEC, fds, count);
}

static void on_program(uint64_t id, const struct exec_program *program, const char *const *argv,
		       const char *cwd, void *arg)
{
	struct run *run = arg;
	bool is_allowed = run_programs_judge(run->programs, run->policy, program, argv, cwd);

	(void)exec_program_answer(run->exec, id, is_allowed); /* it is asked just now */
}

static void on_finished(void *arg)
{
	struct run *run = arg;

	loop_stop(run->loop);
}

static void on_done(const struct exec_result *result, void *arg)
{
	struct run *run = arg;

	run->result = *result;
	run->has_result = true;
	gateway_exec_end(run->gateway, THE_EXEC, result->status);
	gateway_finish(run->gateway, FINISH_MS, on_finished, run);
}

/* The first goes to the command, as if there were no gate. Whoever sends a third means it. */
static void on_signal(evutil_socket_t signal, short what, void *arg)
{
	struct run *run = arg;

	if (!run->exec || run->has_result)
		return;
	if (++run->signal_count >= 3)
		exec_kill(run->exec, "killed: interrupted three times");
	else
		exec_signal(run->exec, (int)signal);
}

static bool has_terminal(void)
{
	return isatty(STDIN_FILENO) || isatty(STDOUT_FILENO) || isatty(STDERR_FILENO);
}

/* What the command may not change where it may write. A list, returned owned. */
static char **read_only_paths(const struct run *run)
{
	char **paths = policy_layers_projects(run->places.cwd);
	char *const *policies = run->options.policies;
	size_t count = 0, policy_count = 0;

	while (paths[count])
		count++;
	while (policies && policies[policy_count])
		policy_count++;
	paths = mem_grow(paths, count + policy_count + run->loaded.file_count + 3, sizeof(*paths));
	for (size_t i = 0; i < policy_count; i++)
		paths[count++] = run_places_absolute(&run->places, policies[i]);
	/* With what they include. */
	for (size_t i = 0; i < run->loaded.file_count; i++) {
		if (run->loaded.files[i].path[0] == '/')
			paths[count++] = mem_strdup(run->loaded.files[i].path);
	}
	paths[count++] = mem_strdup(run->places.audit_path);
	paths[count++] = mem_strdup(run->places.audit_head);
	paths[count] = NULL;
	return paths;
}

/* What it may not see. As run_policy_paths(). */
static int hidden_paths(const struct run *run, char ***ret_paths)
{
	char *own[5] = { NULL };
	size_t count = 0;
	const char *given = run->options.helpers.webhook_key;
	auto_free char *key = given ? run_places_absolute(&run->places, given) : NULL;

	own[count++] = run->places.control_dir;
	if (run->places.config_dir)
		own[count++] = run->places.config_dir;
	if (run->places.state_dir)
		own[count++] = run->places.state_dir;
	if (key)
		own[count++] = key; /* who has it can make questions up */
	return run_policy_paths(run->policy, &run->places, true, own, ret_paths);
}

static int start_exec(struct run *run, char **ret_plan)
{
	auto_free_list char **hidden = NULL, **read_only = read_only_paths(run);
	struct err why = { 0 };
	int status = run_policy_paths(run->policy, &run->places, false, run->options.writable,
				      &run->writable);

	if (status == CLI_OK)
		status = hidden_paths(run, &hidden);
	if (status != CLI_OK)
		return status;
	struct exec_plan_config config = {
		.argv = run->options.command,
		.env_set = (const char *const *)run->options.env_set,
		.cwd = run->places.cwd,
		.writable = (const char *const *)run->writable,
		.hidden = (const char *const *)hidden,
		.read_only = (const char *const *)read_only,
		.has_terminal = has_terminal(),
	};
	if (run->options.must_judge_programs) {
		run->programs =
			run_programs_new(run->options.command, run_commands_path(&run->options),
					 run->writable, run->places.cwd);
		config.on_program = on_program;
	}
	if (ret_plan) {
		*ret_plan = exec_plan_text(&config);
		return CLI_OK;
	}
	auto_free char *command = text_command_line(run->options.command, COMMAND_MAX);

	gateway_exec_begin(run->gateway, THE_EXEC, command);
	gateway_exec_set_argv(run->gateway, THE_EXEC, run->options.command);
	run->exec = exec_start(run->loop, &config, on_egress, on_done, run, &why);
	if (!run->exec)
		return cli_fail(CLI_NO_SANDBOX, "%s", why.text);
	return CLI_OK;
}

/* After the fork, too: the worker has no use for it. */
static void watch_policy(struct run *run)
{
	size_t count = 0;

	while (run->writable[count])
		count++;
	run->writable = mem_grow(run->writable, count + 2, sizeof(*run->writable));
	run->writable[count] = mem_strdup(run->places.cwd);
	run->writable[count + 1] = NULL;

	struct run_reload_config config = {
		.loop = run->loop,
		.gateway = run->gateway,
		.sources = &run->sources,
		.policy = &run->policy,
		.loaded = &run->loaded,
		.writable = run->writable,
		.has_prompt_timeout = run->options.has_prompt_timeout,
	};

	run->reload = run_reload_new(&config);
}

static void watch_signals(struct run *run)
{
	for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++) {
		event_assign(&run->signals[i], loop_base(run->loop), forwarded[i],
			     EV_SIGNAL | EV_PERSIST, on_signal, run);
		event_add(&run->signals[i], NULL);
	}
	run->has_signals = true;
	/* A full file or a reader that left is an error of the write, not the end of the gate. */
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
}

/* It has reported all it had; gone already is fine. Dying takes it as long as our own farewell, so
 * the one overlaps the other. */
static void kill_worker(const struct run *run)
{
	if (run->worker > 0)
		(void)kill(run->worker, SIGKILL);
}

static void reap_worker(struct run *run)
{
	while (run->worker > 0 && waitpid(run->worker, NULL, 0) < 0 && errno == EINTR)
		;
	run->worker = 0;
}

static void run_done(struct run *run)
{
	kill_worker(run);
	for (size_t i = 0; run->has_signals && i < ARRAY_SIZE(forwarded); i++)
		event_del(&run->signals[i]);
	run_reload_free(run->reload);
	gateway_free(run->gateway); /* while the kernel takes the sandbox down */
	run_helpers_free(run->helpers);
	exec_free(run->exec);
	run_programs_free(run->programs);
	reap_worker(run);
	loop_free(run->loop);
	fd_close(run->worker_socket);
	fd_close(run->tty);
	run_bundle_free(run->bundle);
	policy_free(run->policy);
	run_sources_forget(&run->loaded);
	mem_free_list(run->writable);
	run_sources_done(&run->sources);
	run_places_free(&run->places);
	run_options_free(&run->options);
}

static int exit_status(const struct run *run)
{
	switch (run->result.end) {
	case EXEC_EXITED:
	case EXEC_NOT_STARTED:
		return run->result.status;
	case EXEC_SIGNALLED:
		return 128 + run->result.status;
	case EXEC_KILLED:
	default:
		return run->is_aborted          ? EXIT_ABORTED
		       : run->signal_count >= 3 ? 128 + SIGKILL
						: CLI_NO_SANDBOX;
	}
}

/* Of the run: the command's, unless it went without what somebody should have been asked about.
 * What the gate itself did to the command is said first. */
static int whole_status(const struct run *run, int command_status)
{
	bool is_of_command = run->result.end == EXEC_EXITED || run->result.end == EXEC_SIGNALLED;

	return is_of_command && run->options.must_fail_on_ask && run_bundle_has_any(run->bundle)
		       ? EXIT_ASKED
		       : command_status;
}

static int conclude(struct run *run)
{
	int command_status = exit_status(run);
	struct run_summary summary = {
		.run = run->id,
		.session = run->options.session ? run->options.session : run->id,
		.gateway = run->gateway,
		.programs = run->programs,
		.result = run->result,
		.exit_status = whole_status(run, command_status),
		.command_status = command_status,
		.duration_ms = loop_now_ms(run->loop) - run->started_ms,
	};
	int status = run_bundle_write(run->bundle, run->id, summary.session);

	if (status != CLI_OK)
		summary.exit_status = status;
	if (run->result.why[0])
		(void)cli_fail(0, "%s", run->result.why);
	run_report_print(&summary, run->options.report);
	if (run->options.json_fd >= 0) {
		int r = run_report_json(&summary, run->options.json_fd);

		if (r < 0)
			return cli_fail(CLI_NO_SANDBOX, "cannot write the result of --json: %s",
					strerror(-r));
	}
	return summary.exit_status;
}

static int prepare(struct run *run)
{
	int status = make_id(run) < 0 ? cli_fail(CLI_NO_SANDBOX, "no random numbers")
				      : run_places_find(&run->places, run->options.audit);

	if (status == CLI_OK)
		status = run_policy_load(&run->options, &run->places, &run->sources, &run->loaded);
	run->policy = take(run->loaded.policy);
	if (status == CLI_OK)
		status = run_commands_check(&run->options, &run->places, run->policy);
	return status;
}

static int dry_run(struct run *run)
{
	auto_free char *plan = NULL;
	int status = start_exec(run, &plan);

	if (status == CLI_OK)
		(void)fputs(plan, stdout);
	return status;
}

/* From the moment there is something to end until nothing is left. */
static int perform(struct run *run)
{
	/* Now, while no path is the command's yet. */
	if (run->options.must_fail_on_ask || run->options.bundle) {
		run->bundle = run_bundle_open(&run->options, &run->places);
		if (!run->bundle)
			return CLI_NO_SANDBOX;
	}
	int status = find_helpers(run);

	if (status == CLI_OK)
		status = open_gateway(run);
	if (status != CLI_OK)
		return status;
	run->started_ms = loop_now_ms(run->loop);
	status = start_exec(run, NULL);
	if (status == CLI_OK)
		status = start_worker(run);
	if (status != CLI_OK)
		return status;
	watch_policy(run);
	watch_signals(run); /* after the fork: the worker must not inherit handlers that write to
			       our pipe */
	if (loop_run(run->loop) < 0 || !run->has_result)
		return cli_fail(CLI_NO_SANDBOX, "the event loop failed; the command was ended");
	return conclude(run);
}

int cli_run(int argc, char **argv)
{
	struct run run = { .worker_socket = -1, .tty = -1 };
	int status = run_options_parse(&run.options, argc, argv);

	if (status > 0) {
		run_options_free(&run.options);
		return status - 1;
	}
	status = prepare(&run);
	if (status == CLI_OK)
		status = run.options.is_dry_run ? dry_run(&run) : perform(&run);
	run_done(&run);
	return status;
}
