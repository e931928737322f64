#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/gate/gate.h"
#include "cli/profiles/profiles.h"
#include "cli/view/run_commands.h"
#include "cli/run/run_gateway.h"
#include "cli/run/run_into.h"
#include "cli/run/run_join.h"
#include "cli/report/run_junit.h"
#include "cli/report/run_lock.h"
#include "cli/view/run_made.h"
#include "cli/run/run_observe.h"
#include "cli/run/run_options.h"
#include "cli/gate/run_own.h"
#include "cli/run/run_policy.h"
#include "cli/view/run_programs.h"
#include "cli/report/run_refused.h"
#include "cli/report/run_report.h"
#include "cli/report/run_status.h"
#include "cli/report/run_summary.h"
#include "exec/exec_probe.h"
#include "exec/exec_process.h"
#include "exec/exec_sandbox.h"
#include "exec/orchestrator/orchestrator_judge.h"
#include "gateway/gateway_tools.h"
#include "policies/commands/commands.h"
#include "policies/policies_gate.h"
#include "policies/policies_limits.h"

#define EXIT_ABORTED 130
#define TERM_MS      10000 /* from SIGTERM to SIGKILL */

static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

/* One run, from options to gate to process. It owns all of them; run_done() frees in reverse order.
 */
struct run {
	struct run_options options;
	struct gate gate;
	struct command_file program; /* path "": the sandbox looks the name up */
	struct run_gateway *gateway; /* after prepare() */
	struct exec_process *process;
	struct run_into *into; /* NULL: it accepts no other command */
	struct run_programs *programs;
	struct run_made made;
	struct run_refused refused;
	struct run_lock lock;
	struct bundle_place junit; /* where it is written */
	struct event signals[ARRAY_SIZE(forwarded)];
	bool has_signals;
	unsigned int signal_count;
	struct loop_timer term;
	bool is_aborted, has_result, is_overdue;
	struct exec_process_result result;
	int64_t started_ms;
};

static void on_hold(void *arg)
{
	struct run *run = arg;

	if (run->process)
		exec_process_hold_terminal(run->process);
}

static void on_release(void *arg)
{
	struct run *run = arg;

	if (run->process)
		exec_process_release_terminal(run->process);
}

static void on_kill(const char *why, bool is_by_person, void *arg)
{
	struct run *run = arg;

	run->is_aborted = run->is_aborted || is_by_person;
	if (run->process && !run->has_result)
		exec_process_kill(run->process, why);
}

static int on_egress(int *fds, size_t count, void *arg)
{
	struct run *run = arg;

	return run->gateway->ops->open_way(run->gateway, fds, count);
}

static void on_program(uint64_t id, const struct exec_program *program, const char *const *argv,
		       const char *cwd, void *arg)
{
	struct run *run = arg;

	run_programs_judge(run->programs, &(struct orchestrator_judged){ id, program, argv, cwd });
}

static void on_judged(uint64_t id, bool is_allowed, void *arg)
{
	struct run *run = arg;

	/* -ENOENT: the process that waits for the answer has ended. */
	(void)exec_process_answer(run->process, id, is_allowed);
}

static void on_refused(const struct exec_evidence *evidence, void *arg)
{
	struct run *run = arg;

	if (evidence->what == EXEC_REFUSED_PROGRAM) { /* a decision, with its own record */
		if (run->programs)
			run_programs_refuse(run->programs, evidence->path);
		return;
	}
	auto_free char *text = exec_evidence_text(evidence);

	run->gateway->ops->note(
		run->gateway,
		exec_evidence_is_network(evidence) ? GATEWAY_CUT_OFF : GATEWAY_REFUSED, NULL, text);
	run_refused_add(&run->refused, evidence, getenv("HOME"));
}

/* The gateway, here or in a session, records it. */
static void on_program_refused(const struct gateway_refused *refused, void *arg)
{
	struct run *run = arg;

	run->gateway->ops->refused(run->gateway, refused);
}

/* It is recorded before the command starts. */
static void on_probed(const struct exec_probe *probe, void *arg)
{
	struct run *run = arg;
	auto_free char *text = exec_probe_text(probe);

	run->gateway->ops->note(run->gateway, GATEWAY_PROBED, NULL, text);
}

static void on_started(void *arg)
{
	struct run *run = arg;

	run->into = run_into_new(&run->gate, run->process);
}

static void on_over(void *arg)
{
	struct run *run = arg;

	loop_stop(run->gate.loop);
}

static void on_made(const char *path, const char *what, void *arg)
{
	struct run *run = arg;

	run->gateway->ops->note(run->gateway, GATEWAY_MADE, path, what);
}

static void on_done(const struct exec_process_result *result, void *arg)
{
	struct run *run = arg;
	struct exec_plan_config config = { .argv = run->options.command };

	run->result = *result;
	run->has_result = true;
	run_programs_end(run->programs);
	gate_apply(&run->gate, &config);
	run_made_find(&run->made, run->process, &config, on_made, run);
	run_made_explain(&run->made, run->process, result, run->options.command);
	run->gateway->ops->end(run->gateway, result);
}

static void on_overdue(void *arg)
{
	struct run *run = arg;

	run->is_overdue = true;
	if (run->process && !run->has_result)
		exec_process_kill(run->process,
				  "the command was killed, because it did not end after SIGTERM");
}

/* The command gets the first two signals, as if there were no gate; the third kills it. SIGTERM is
 * followed by SIGCONT, because a stopped process would not handle it, and after a time by SIGKILL,
 * because the sender of SIGTERM has no other process to signal. */
static void on_signal(evutil_socket_t signal, short what, void *arg)
{
	struct run *run = arg;

	if (!run->process || run->has_result)
		return;
	if (++run->signal_count >= 3)
		exec_process_kill(run->process, "the command was killed after three interrupts");
	else
		exec_process_signal(run->process, (int)signal);
	if (signal != SIGTERM || run->signal_count >= 3)
		return;
	exec_process_signal(run->process, SIGCONT);
	if (!run->term.is_armed)
		loop_timer_start(run->gate.loop, &run->term, TERM_MS, on_overdue, run);
}

static void on_program_abort(void *arg)
{
	on_kill("an approver aborted the command", true, arg);
}

static struct run_programs *new_programs(struct run *run)
{
	struct run_programs_config config = {
		.loop = run->gate.loop,
		.command = run->options.command,
		.path = run_commands_path(&run->options),
		.writable = run->gate.view.writable,
		.cwd = run->gate.places.cwd,
		.policy = &run->gate.policy,
		.exec = RUN_EXEC,
		.question_ms = run->options.prompt_timeout_ms,
		.may_wait = gate_patience_ms(&run->options) < 0,
		.answer = on_judged,
		.on_abort = on_program_abort,
		.on_refused = on_program_refused,
		.arg = run,
	};

	/* A joined run's gateway is in another process, and has no questions about programs. */
	if (!run->options.join && !run->options.must_fail_on_ask)
		config.gateway = run->gate.gateway;
	return run_programs_new(&config);
}

static bool is_unconfined(const struct run *run)
{
	return run->gate.view.sandbox && exec_sandbox_is_unconfined(run->gate.view.sandbox);
}

static void note_published(struct run *run)
{
	const struct run_options *options = &run->options;

	if (options->published_count == 0)
		return;
	auto_free char *text = run_published_text(options->published, options->published_count);

	run->gateway->ops->note(run->gateway, GATEWAY_PUBLISHED, NULL, text);
}

/* What is refused has no command, which could write anything. */
static int on_planned(void *arg, struct err *why)
{
	struct run *run = arg;

	return run_policy_note_reach(&run->options, &run->gate.places, &run->gate.loaded,
				     run->gate.view.writable, why);
}

/* *@ret_plan: returned owned, instead of a start. */
static int start_exec(struct run *run, char **ret_plan)
{
	bool is_refused = false;
	struct err why = { 0 };
	int status = gate_view(&run->gate);

	if (status != CLI_OK)
		return status;
	run_env_announce(&run->gate.view);
	run->gateway->ops->narrow(run->gateway);
	struct exec_plan_config config = {
		.argv = run->options.command,
		.env_set = (const char *const *)run->options.env_set,
	};

	gate_apply(&run->gate, &config);
	const struct run_caches *caches =
		run_caches_of(&run->gate.view, run->gate.places.cwd, run->gate.policy,
			      &run->options, &run->gate.places);

	config.caches = caches->list;
	config.cache_count = caches->count;
	config.cache_root = run->gate.view.cache_root;
	config.on_planned = on_planned;
	config.on_refused = on_refused;
	config.tells_briefly = true;
	config.captures_udp = policy_wants_udp(run->gate.policy);
	config.on_started = on_started;
	config.on_probed = run->options.has_no_probe ? NULL : on_probed;
	if (run->options.must_judge_programs) {
		run->programs = new_programs(run);
		config.on_program = on_program;
	}
	if (run->program.path[0])
		config.program = (struct exec_program){ run->program.path, run->program.device,
							run->program.inode };
	if (ret_plan) {
		*ret_plan = exec_plan_text(&config, &is_refused);
		return is_refused ? CLI_NO_SANDBOX : CLI_OK;
	}
	run_observe_begin(&run->options);
	status = run->gateway->ops->begin(run->gateway);
	if (status != CLI_OK)
		return status;
	note_published(run);
	if (run->gate.view.withheld)
		run->gateway->ops->note(run->gateway, GATEWAY_WITHHELD, NULL,
					run->gate.view.withheld);
	if (run->options.has_no_probe || is_unconfined(run))
		run->gateway->ops->note(run->gateway, GATEWAY_PROBED, NULL,
					exec_probe_absent(run->options.has_no_probe));
	run->process = exec_process_start(run->gate.loop, &config, on_egress, on_done, run, &why);
	if (!run->process)
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
}

static void run_done(struct run *run)
{
	for (size_t i = 0; run->has_signals && i < ARRAY_SIZE(forwarded); i++)
		event_del(&run->signals[i]);
	loop_timer_stop(&run->term);
	run_into_free(run->into);
	run_programs_end(run->programs); /* it has questions at the gateway */
	run->gateway->ops->close(run->gateway);
	exec_process_free(run->process);
	run_programs_free(run->programs);
	run_made_done(&run->made);
	run_refused_done(&run->refused);
	run_lock_done(&run->lock);
	bundle_files_close(&run->junit);
	gate_free(&run->gate);
	run_options_free(&run->options);
}

static int exit_status(const struct run *run)
{
	switch (run->result.end) {
	case EXEC_PROCESS_EXITED:
	case EXEC_PROCESS_NOT_STARTED:
		return run->result.status;
	case EXEC_PROCESS_SIGNALLED:
		return 128 + run->result.status;
	case EXEC_PROCESS_KILLED:
	default:
		return run->is_aborted                                        ? EXIT_ABORTED
		       : (run->result.limits & BIT(POLICY_LIMIT_MEMORY)) != 0 ? 128 + SIGKILL
		       : run->signal_count >= 3 || run->is_overdue            ? 128 + SIGKILL
									      : CLI_NO_SANDBOX;
	}
}

static int conclude(struct run *run)
{
	struct run_summary summary = {
		.session = gate_session(&run->gate),
		.programs = run->programs,
		.made = &run->made,
		.result = run->result,
		.refused = &run->refused,
		.policy_path = gate_policy_path(&run->gate),
		.asks_nobody = run->options.asks_nobody,
		.command_status = exit_status(run),
		.has_failed = run->result.end != EXEC_PROCESS_EXITED || run->result.status != 0,
		.duration_ms = loop_now_ms(run->gate.loop) - run->started_ms,
		.bundle = run->options.bundle,
		.limits = run->result.limits,
		.policy = run->gate.policy,
		.lock = &run->lock,
	};
	run->gateway->ops->report(run->gateway, &summary);
	run_lock_compare(&run->lock, run->gate.gateway);
	run_status_settle(&run->gate, &summary);
	int status = run_lock_write(&run->lock, summary.exit_status);

	if (status == CLI_OK)
		status = run_junit_write(&run->junit, &summary);
	if (status != CLI_OK)
		summary.exit_status = status;
	const char *failure = run->gateway->ops->conclude(run->gateway, summary.exit_status);

	if (run->result.why[0])
		(void)cli_fail(0, "%s", run->result.why);
	else if (failure)
		summary.exit_status = cli_fail(CLI_NO_SANDBOX, "%s", failure);
	run_report_print(&summary, run->options.report);
	run_observe_end(&run->options, summary.run);
	if (run->options.json_fd >= 0) {
		int r = run_report_json(&summary, run->options.json_fd);

		if (r < 0)
			return cli_fail(CLI_NO_SANDBOX, "cannot write the result of --json: %s",
					strerror(-r));
	}
	return summary.exit_status;
}

static int open_junit(struct run *run)
{
	const char *path = run->options.junit;
	struct err why = { 0 };

	return path && bundle_files_open(path, &run->junit, &why) < 0
		       ? cli_fail(CLI_NO_SANDBOX, "%s", why.text)
		       : CLI_OK;
}

static int prepare(struct run *run)
{
	int status = run->options.join ? run_join_prepare(&run->gate, &run->options, &run->gateway)
				       : run_own_prepare(&run->gate, &run->options, &run->gateway);

	if (status == CLI_OK)
		status = run_lock_open(&run->lock, run->options.lock, run->options.lock_file);
	if (status == CLI_OK)
		status = open_junit(run);
	if (status == CLI_OK)
		status = run_commands_check(&run->options, &run->gate.places, run->gate.policy,
					    &run->program);
	return status;
}

static int dry_run(struct run *run)
{
	auto_free char *plan = NULL;
	int status = start_exec(run, &plan);

	if (plan)
		(void)fputs(plan, stdout);
	return status;
}

static bool has_host_network(const struct run *run)
{
	return run->gate.view.sandbox &&
	       exec_sandbox_network(run->gate.view.sandbox) == EXEC_NETWORK_ENABLED;
}

/* From the first step that needs clean-up until nothing is left. */
static int perform(struct run *run)
{
	const struct run_gateway_calls calls = { on_hold, on_release, on_kill, on_over, run };

	gate_ignore_signals();
	int status = run_published_open(run->options.published, run->options.published_count,
					run->gate.published, &run->gate.published_count);

	if (status == CLI_OK)
		status = run->gateway->ops->open(run->gateway, &calls);
	if (status != CLI_OK)
		return status;
	run->started_ms = loop_now_ms(run->gate.loop);
	status = start_exec(run, NULL);
	/* A command on the host's network does not use the proxy. */
	if (status == CLI_OK && !has_host_network(run))
		status = run->gateway->ops->start_worker(run->gateway);
	if (status != CLI_OK)
		return status;
	run->gateway->ops->watch(run->gateway);
	watch_signals(run); /* after the fork: the worker must not inherit handlers that write to
			       our pipe */
	if (loop_run(run->gate.loop) < 0 || !run->has_result)
		return cli_fail(CLI_NO_SANDBOX, "the event loop failed; the command was ended");
	return conclude(run);
}

int cli_run(const struct options *options)
{
	struct run run = { .gate = GATE_NONE, .lock = RUN_LOCK_EMPTY, .junit.folder = -1 };
	int status = run_options_take(&run.options, options);

	if (status == CLI_OK)
		status = run_observe_check(&run.options, options);
	if (status == CLI_OK)
		status = profiles_take(&run.options, options);
	if (status != CLI_OK) {
		run_options_free(&run.options);
		return status;
	}
	status = prepare(&run);
	if (status == CLI_OK)
		status = run.options.is_dry_run ? dry_run(&run) : perform(&run);
	run_done(&run);
	return status;
}
