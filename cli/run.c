#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/gate.h"
#include "cli/run_join.h"
#include "cli/run_impl.h"
#include "cli/run_programs.h"
#include "policies/commands/commands.h"

#define THE_EXEC     1 /* `run` has one */
#define COMMAND_MAX  512
#define FINISH_MS    2000 /* for the worker to report what was open */
#define JOIN_MS      1000 /* for a session to say that it did */
#define EXIT_ABORTED 130
#define EXIT_ASKED   78    /* EX_CONFIG of sysexits.h */
#define TERM_MS      10000 /* from SIGTERM to SIGKILL */

static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

/* One run: options → gate → exec, and back. Owns all of them; run_done() frees in reverse. */
struct run {
	struct run_options options;
	struct gate gate;
	struct command_file program; /* path "": the command's name is looked up inside */
	struct run_join *join;       /* has the gateway, in a session's process; NULL: it is ours */
	struct exec *exec;
	struct run_programs *programs;
	struct event signals[ARRAY_SIZE(forwarded)];
	bool has_signals;
	unsigned int signal_count;
	struct loop_timer term;
	bool is_aborted, has_result, is_overdue;
	struct exec_result result;
	int64_t started_ms;
};

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

static int on_egress(int *fds, size_t count, void *arg)
{
	struct run *run = arg;

	return run->join ? run_join_open_way(run->join, fds, count)
			 : gateway_open_way(run->gate.gateway, THE_EXEC, fds, count);
}

static void on_program(uint64_t id, const struct exec_program *program, const char *const *argv,
		       const char *cwd, void *arg)
{
	struct run *run = arg;
	bool is_allowed = run_programs_judge(run->programs, run->gate.policy, program, argv, cwd);

	(void)exec_program_answer(run->exec, id, is_allowed); /* it is asked just now */
}

static void on_refused(const struct exec_evidence *evidence, void *arg)
{
	struct run *run = arg;

	run_programs_refuse(run->programs, evidence->path);
}

/* Written down where the gateway is. */
static void on_program_refused(const struct gateway_refused *refused, void *arg)
{
	struct run *run = arg;

	if (run->join)
		run_join_refused(run->join, refused);
	else
		gateway_exec_refused(run->gate.gateway, THE_EXEC, refused);
}

static void on_finished(void *arg)
{
	struct run *run = arg;

	loop_stop(run->gate.loop);
}

static void on_done(const struct exec_result *result, void *arg)
{
	struct run *run = arg;

	run->result = *result;
	run->has_result = true;
	if (run->join)
		return run_join_end(run->join, result->status, FINISH_MS + JOIN_MS);
	gateway_exec_end(run->gate.gateway, THE_EXEC, result->status);
	gateway_finish(run->gate.gateway, FINISH_MS, on_finished, run);
}

static void on_overdue(void *arg)
{
	struct run *run = arg;

	run->is_overdue = true;
	if (run->exec && !run->has_result)
		exec_kill(run->exec, "killed: it did not end by SIGTERM");
}

/* The first goes to the command, as if there were no gate. Whoever sends a third means it. What is
 * stopped would not hear of its end, and what ignores it ends all the same: whoever sends SIGTERM
 * has nobody else to send it to. */
static void on_signal(evutil_socket_t signal, short what, void *arg)
{
	struct run *run = arg;

	if (!run->exec || run->has_result)
		return;
	if (++run->signal_count >= 3)
		exec_kill(run->exec, "killed: interrupted three times");
	else
		exec_signal(run->exec, (int)signal);
	if (signal != SIGTERM || run->signal_count >= 3)
		return;
	exec_signal(run->exec, SIGCONT);
	if (!run->term.is_armed)
		loop_timer_start(run->gate.loop, &run->term, TERM_MS, on_overdue, run);
}

static bool has_terminal(void)
{
	return isatty(STDIN_FILENO) || isatty(STDOUT_FILENO) || isatty(STDERR_FILENO);
}

static int begin_exec(struct run *run)
{
	if (run->join)
		return run_join_begin(run->join, &run->gate);
	auto_free char *command = text_command_line(run->options.command, COMMAND_MAX);

	gateway_exec_begin(run->gate.gateway, THE_EXEC, command);
	gateway_exec_set_argv(run->gate.gateway, THE_EXEC, run->options.command);
	return CLI_OK;
}

static int start_exec(struct run *run, char **ret_plan)
{
	struct err why = { 0 };
	int status = gate_view(&run->gate);

	if (status != CLI_OK)
		return status;
	run_env_announce(&run->gate.view);
	if (run->join)
		run_join_prepare_view(run->join, &run->gate.view);
	struct exec_plan_config config = {
		.argv = run->options.command,
		.env_set = (const char *const *)run->options.env_set,
		.has_terminal = has_terminal(),
	};

	gate_apply(&run->gate, &config);
	if (run->options.must_judge_programs) {
		run->programs =
			run_programs_new(run->options.command, run_commands_path(&run->options),
					 run->gate.view.writable, run->gate.places.cwd);
		run_programs_on_refused(run->programs, on_program_refused, run);
		config.on_program = on_program;
		config.on_refused = on_refused;
		config.tells_programs = true;
	}
	if (run->program.path[0])
		config.program = (struct exec_program){ run->program.path, run->program.device,
							run->program.inode };
	if (ret_plan) {
		*ret_plan = exec_plan_text(&config);
		return CLI_OK;
	}
	status = begin_exec(run);
	if (status != CLI_OK)
		return status;
	run->exec = exec_start(run->gate.loop, &config, on_egress, on_done, run, &why);
	if (!run->exec)
		return cli_fail(CLI_NO_SANDBOX, "%s", why.text);
	return CLI_OK;
}

static void watch_signals(struct run *run)
{
	for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++) {
		event_assign(&run->signals[i], loop_base(run->gate.loop), forwarded[i],
			     EV_SIGNAL | EV_PERSIST, on_signal, run);
		event_add(&run->signals[i], NULL);
	}
	run->has_signals = true;
	gate_ignore_signals();
}

static void run_done(struct run *run)
{
	for (size_t i = 0; run->has_signals && i < ARRAY_SIZE(forwarded); i++)
		event_del(&run->signals[i]);
	loop_timer_stop(&run->term);
	run_join_free(run->join);
	gate_close(&run->gate);
	exec_free(run->exec);
	run_programs_free(run->programs);
	gate_free(&run->gate);
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
		return run->is_aborted                             ? EXIT_ABORTED
		       : run->signal_count >= 3 || run->is_overdue ? 128 + SIGKILL
								   : CLI_NO_SANDBOX;
	}
}

/* Of the run: the command's, unless it went without what somebody should have been asked about.
 * What the gate itself did to the command is said first. */
static int whole_status(const struct run *run, int command_status)
{
	bool is_of_command = run->result.end == EXEC_EXITED || run->result.end == EXEC_SIGNALLED;

	return is_of_command && run->options.must_fail_on_ask &&
			       run_bundle_has_any(run->gate.bundle)
		       ? EXIT_ASKED
		       : command_status;
}

static void report_own(const struct run *run, struct run_summary *ret)
{
	ret->trips = gateway_trips(run->gate.gateway, &ret->trip_count);
	ret->others = gateway_trips_others(run->gate.gateway);
}

static int conclude(struct run *run)
{
	int command_status = exit_status(run);
	struct run_summary summary = {
		.run = run->join ? run_join_id(run->join) : run->gate.id,
		.session = gate_session(&run->gate),
		.programs = run->programs,
		.result = run->result,
		.exit_status = whole_status(run, command_status),
		.command_status = command_status,
		.duration_ms = loop_now_ms(run->gate.loop) - run->started_ms,
		.bundle = run->options.bundle,
	};
	if (run->join)
		run_join_report(run->join, &summary);
	else
		report_own(run, &summary);
	int status = run_bundle_write(run->gate.bundle, summary.run, summary.session);

	if (status != CLI_OK)
		summary.exit_status = status;
	if (run->gate.gateway)
		gateway_ends_with(run->gate.gateway, summary.exit_status);
	if (run->result.why[0])
		(void)cli_fail(0, "%s", run->result.why);
	else if (run->join && run_join_failure(run->join))
		summary.exit_status = cli_fail(CLI_NO_SANDBOX, "%s", run_join_failure(run->join));
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
	int status = run->options.join ? run_join_prepare(&run->gate, &run->options, &run->join)
				       : gate_prepare(&run->gate, &run->options);

	if (status == CLI_OK)
		status = run_commands_check(&run->options, &run->gate.places, run->gate.policy,
					    &run->program);
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

static bool has_host_network(const struct run *run)
{
	return run->gate.view.sandbox &&
	       exec_sandbox_network(run->gate.view.sandbox) == EXEC_NETWORK_ENABLED;
}

static void on_join_kill(const char *why, bool is_by_person, void *arg)
{
	struct run *run = arg;

	run->is_aborted = run->is_aborted || is_by_person;
	if (run->exec && !run->has_result)
		exec_kill(run->exec, why);
}

static int open_gate(struct run *run)
{
	const struct gate_calls calls = {
		.hold = on_hold,
		.release = on_release,
		.on_abort = on_abort,
		.on_worker_gone = on_worker_gone,
		.arg = run,
	};
	const struct run_join_calls joined = { on_join_kill, on_hold, on_release, on_finished,
					       run };

	return run->join ? run_join_open(run->join, &run->gate, &joined)
			 : gate_open(&run->gate, &calls);
}

static int start_worker(struct run *run)
{
	return run->join ? run_join_start_worker(run->join, &run->gate)
			 : gate_start_worker(&run->gate);
}

/* From the moment there is something to end until nothing is left. */
static int perform(struct run *run)
{
	int status = open_gate(run);

	if (status != CLI_OK)
		return status;
	run->started_ms = loop_now_ms(run->gate.loop);
	status = start_exec(run, NULL);
	/* On the host's network nothing would come to it. */
	if (status == CLI_OK && !has_host_network(run))
		status = start_worker(run);
	if (status != CLI_OK)
		return status;
	if (!run->join) /* a session watches its own */
		gate_watch(&run->gate);
	watch_signals(run); /* after the fork: the worker must not inherit handlers that write to
			       our pipe */
	if (loop_run(run->gate.loop) < 0 || !run->has_result)
		return cli_fail(CLI_NO_SANDBOX, "the event loop failed; the command was ended");
	return conclude(run);
}

int cli_run(int argc, char **argv)
{
	struct run run = { .gate = GATE_NONE };
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
