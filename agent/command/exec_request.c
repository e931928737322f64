#include "agent/command/exec_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/session/client.h"
#include "agent/command/exec_run.h"
#include "agent/command/confine.h"
#include "agent/command/extra.h"
#include "agent/command/extra_look.h"
#include "agent/rpc/fields.h"
#include "agent/session/policy_minimum.h"
#include "agent/rpc/limits.h"
#include "agent/command/outcome.h"
#include "agent/command/look.h"
#include "agent/session/received.h"
#include "agent/session/session.h"
#include "agent/command/task.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/exec_sandbox.h"

#define YIELD_MS      1000 /* until a command goes to the background */
#define TERMINAL_SIDE 4096

static const char *const confinements[] = {
	[ORCHESTRATOR_USUAL] = "use_default",
	[ORCHESTRATOR_WITH_ACCESS] = "with_additional_permissions",
	[ORCHESTRATOR_ESCALATED] = "require_escalated",
	NULL,
};
/* In the order of enum preference. */
static const char *const preferences[] = { "auto", "require", "forbid", NULL };
static const char *const denials[] = {
	[ORCHESTRATOR_REPORT] = "report",
	[ORCHESTRATOR_FAIL] = "fail",
	[ORCHESTRATOR_STOP] = "stop",
	NULL,
};
static const char *const modes[] = { "wait", "background", NULL };

enum preference { AUTO, REQUIRE, FORBID };
struct wanted {
	const char **argv, *script, *cwd, *justification;
	const json_t *env, *tty, *extra, *sandbox;
	int64_t timeout_ms, yield_ms;
	int confinement, preference, mode, on_denial;
	bool has_input, must_not_retry, is_polled, is_whole;
};
static const struct fields_entry wanted_fields[] = {
	{ "command", FIELDS_WORDS, offsetof(struct wanted, argv), AGENT_ARGV_MAX, false, NULL },
	{ "script", FIELDS_TEXT, offsetof(struct wanted, script), 1 << 19, false, NULL },
	{ "cwd", FIELDS_TEXT, offsetof(struct wanted, cwd), AGENT_PATH_MAX, false, NULL },
	{ "env", FIELDS_OBJECT, offsetof(struct wanted, env), 0, false, NULL },
	{ "timeout_ms", FIELDS_NUMBER, offsetof(struct wanted, timeout_ms), AGENT_DURATION_MAX,
	  false, NULL },
	{ "tty", FIELDS_OBJECT, offsetof(struct wanted, tty), 0, false, NULL },
	{ "input", FIELDS_FLAG, offsetof(struct wanted, has_input), 0, false, NULL },
	{ "reason", FIELDS_TEXT, offsetof(struct wanted, justification), AGENT_TEXT_MAX, false,
	  NULL },
	{ "sandbox_permissions", FIELDS_CHOICE, offsetof(struct wanted, confinement), 0, false,
	  confinements },
	{ "sandbox_preference", FIELDS_CHOICE, offsetof(struct wanted, preference), 0, false,
	  preferences },
	{ "sandbox", FIELDS_OBJECT, offsetof(struct wanted, sandbox), 0, false, NULL },
	{ "additional_permissions", FIELDS_OBJECT, offsetof(struct wanted, extra), 0, false, NULL },
	{ "mode", FIELDS_CHOICE, offsetof(struct wanted, mode), 0, false, modes },
	{ "yield_ms", FIELDS_NUMBER, offsetof(struct wanted, yield_ms), AGENT_DURATION_MAX, false,
	  NULL },
	{ "polled", FIELDS_FLAG, offsetof(struct wanted, is_polled), 0, false, NULL },
	{ "whole", FIELDS_FLAG, offsetof(struct wanted, is_whole), 0, false, NULL },
	{ "on_denial", FIELDS_CHOICE, offsetof(struct wanted, on_denial), 0, false, denials },
	{ "once", FIELDS_FLAG, offsetof(struct wanted, must_not_retry), 0, false, NULL },
	{ 0 },
};
struct size {
	int64_t rows, columns;
};
static const struct fields_entry size_fields[] = {
	{ "rows", FIELDS_NUMBER, offsetof(struct size, rows), TERMINAL_SIDE, false, NULL },
	{ "cols", FIELDS_NUMBER, offsetof(struct size, columns), TERMINAL_SIDE, false, NULL },
	{ 0 },
};

static int set_argv(struct task *task, const struct wanted *wanted, struct err *why)
{
	const char *const script[] = { "sh", "-c", wanted->script, NULL };
	bool has_argv = wanted->argv != NULL;

	if (has_argv == (wanted->script != NULL) || (has_argv && !wanted->argv[0]))
		return err_set(why, -EINVAL,
			       "give either \"command\", with at least one word, or \"script\"");
	task->argv = mem_copy_list(has_argv ? wanted->argv : script);
	if (task->argv[0][0] == '\0')
		return err_set(why, -EINVAL, "the program's name is empty");
	return 0;
}

static int set_tty(struct task *task, const struct wanted *wanted, struct err *why)
{
	struct size size = { 24, 80 };
	int r = wanted->tty ? fields_read(wanted->tty, size_fields, true, &size, why) : 0;

	task->has_pty = wanted->tty != NULL;
	task->size = (struct exec_size){ (uint16_t)size.rows, (uint16_t)size.columns };
	return r;
}

/* Replaces the session's sandbox by one of the command's own, exactly. */
static int narrow(struct task *task, const json_t *wanted, struct err *why)
{
	const struct session *session = task->session;
	struct exec_sandbox *own = NULL;
	int r = confine_new(session->agent, wanted, session->cwd, &own, why);

	if (r < 0)
		return r;
	if (!exec_sandbox_covers(task->sandbox, own)) {
		exec_sandbox_free(own);
		return err_set(why, -EPERM,
			       "\"sandbox\" permits more than the session's; ask for the rest with "
			       "\"additional_permissions\"");
	}
	exec_sandbox_free(task->sandbox);
	task->sandbox = own;
	return 0;
}

static int fill(struct task *task, const struct wanted *wanted, struct err *why)
{
	static const char *const nothing[] = { NULL };
	const struct session *session = task->session;
	int r = set_argv(task, wanted, why);

	if (r == 0)
		r = set_tty(task, wanted, why);
	if (r < 0)
		return r;
	task->cwd = wanted->cwd ? confine_path(session->cwd, wanted->cwd, why)
				: mem_strdup(session->cwd);
	if (!task->cwd)
		return -EINVAL;
	task->env = confine_env(wanted->env, (const char *const *)session->env, why);
	if (!task->env)
		return -EINVAL;
	task->own_env = confine_env(wanted->env, nothing, why);
	if (!task->own_env)
		return -EINVAL;
	if (wanted->justification)
		task->justification = mem_strdup(wanted->justification);
	task->timeout_ms = wanted->timeout_ms;
	task->yield_ms = wanted->yield_ms;
	task->is_background = wanted->mode == 1;
	task->is_streamed = !wanted->is_polled;
	task->is_whole = wanted->is_whole;
	task->has_input = wanted->has_input;
	r = wanted->sandbox ? narrow(task, wanted->sandbox, why) : 0;
	if (r < 0)
		return r;
	task->world_writable = confine_writable(task->sandbox);
	task->world = task_world_new(task, task->cwd);
	return 0;
}

/* A command that must not have a sandbox is asked about as one that leaves it. */
static int apply_preference(const struct session *session, struct wanted *wanted, struct err *why)
{
	bool is_open = exec_sandbox_is_unconfined(session->sandbox);

	if (wanted->preference == FORBID && wanted->confinement == ORCHESTRATOR_USUAL && !is_open)
		wanted->confinement = ORCHESTRATOR_ESCALATED;
	if (wanted->preference == REQUIRE &&
	    (wanted->confinement == ORCHESTRATOR_ESCALATED || (is_open && !wanted->sandbox)))
		return err_set(why, -EINVAL,
			       "a sandbox is required for this command, but it would have none");
	if (wanted->sandbox && wanted->confinement == ORCHESTRATOR_ESCALATED)
		return err_set(why, -EINVAL,
			       "a command without a sandbox cannot have \"sandbox\"; give one of "
			       "the two");
	if (wanted->preference == FORBID && wanted->confinement == ORCHESTRATOR_WITH_ACCESS)
		return err_set(why, -EINVAL,
			       "additional permissions are for a command with a sandbox; use "
			       "either these or the preference `forbid`");
	return 0;
}

static int check_confinement(const struct session *session, const struct wanted *wanted,
			     struct err *why)
{
	if (wanted->confinement == ORCHESTRATOR_ESCALATED && !session->agent->config.may_unconfine)
		return err_set(why, -EPERM,
			       "a command without a sandbox is refused; start the server with "
			       "`--allow-unconfined` to allow it");
	if ((wanted->confinement == ORCHESTRATOR_WITH_ACCESS) != (wanted->extra != NULL))
		return err_set(why, -EINVAL,
			       "\"additional_permissions\" and the sandbox_permissions "
			       "with_additional_permissions must be given together");
	if (session->task_count >= (size_t)session->tasks_max)
		return err_set(why, -EBUSY,
			       "%zu tasks of this session are open; wait for one to end",
			       session->task_count);
	return 0;
}

static int begin_exec(struct task *task, struct err *why)
{
	struct orchestrator_request request = {
		.kind = ORCHESTRATOR_EXEC,
		.cwd = task->cwd,
		.argv = (const char *const *)task->argv,
		.env = (const char *const *)task->own_env,
		.world = &task->look.world,
		.has_tty = task->has_pty,
		.confinement = task->confinement,
		.accesses = task->permits.list,
		.access_count = task->permits.count,
		.granted = task->given.list,
		.granted_count = task->given.count,
		.may_retry = task->may_retry,
		.must_confine = task->must_confine,
		.justification = task->justification,
		.on_denial = task->on_denial,
	};

	int r = extra_look_read(task, why);

	if (r < 0)
		return r;
	look_world_init(task);
	task->number = ++task->session->agent->last_task;
	return task_begin(task, &request, why);
}

static void look(FILE *out, const struct task *task)
{
	look_words(out, task);
	extra_look(out, task);
}

/* Destinations that answers for the session grant. */
static void give_one(const struct orchestrator_approval *approval, void *arg)
{
	struct task *task = arg;
	struct extra one = { 0 };

	if (approval->is_denial || !approval->access ||
	    approval->access->what != ORCHESTRATOR_DESTINATION)
		return;
	extra_put(&one, approval->access);
	/* What is denied now is not given, and the command is denied it, as without the answer. */
	if (extra_check(&one, task->session->agent->gateway, (const char *const *)task->argv,
			NULL) == 0)
		extra_add(&task->given, &one);
	extra_done(&one);
}

/* Permissions that were approved before are used for this command. */
static void look_at_words(struct task *task, const struct wanted *wanted)
{
	struct session *session = task->session;

	task->confinement = (enum orchestrator_confinement)wanted->confinement;
	task->may_retry = !wanted->must_not_retry;
	task->on_denial = policy_minimum_on_denial(session->agent,
						   (enum orchestrator_on_denial)wanted->on_denial);
	task->must_confine = wanted->preference == REQUIRE || wanted->sandbox;
	orchestrator_approvals(session->orchestrator, give_one, task);
	if (!wanted->sandbox) { /* one of its own is exact */
		extra_add(&task->given, &session->permits);
		extra_done(&session->permits);
	}
	look_task(task, look, begin_exec);
}

int exec_request_serve(struct agent *agent, const struct submission *submission, struct err *why)
{
	struct session *session = submission->session;
	struct wanted wanted = {
		.confinement = ORCHESTRATOR_USUAL,
		.timeout_ms = session->timeout_ms,
		.yield_ms = YIELD_MS,
		.on_denial = (int)session->on_denial,
	};
	int r = fields_read(submission->body, wanted_fields, false, &wanted, why);

	if (r == 0)
		r = apply_preference(session, &wanted, why);
	if (r == 0)
		r = check_confinement(session, &wanted, why);
	if (r == 0) {
		struct task *task = task_new(session, &exec_run_ops, submission->id);
		struct extra *extra = &task->permits;

		r = fill(task, &wanted, why);
		if (r == 0 && wanted.extra)
			r = extra_read(extra, wanted.extra, task->cwd, why);
		if (r == 0)
			r = extra_check(extra, agent->gateway, (const char *const *)task->argv,
					why);
		if (r == 0)
			look_at_words(task, &wanted);
		else
			task_free(task);
	}
	fields_forget(wanted_fields, &wanted);
	return r;
}
