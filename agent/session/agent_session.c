#include "agent/session/agent_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/deciders.h"
#include "agent/approval_request.h"
#include "agent/pending.h"
#include "agent/command/exec_run.h"
#include "agent/record.h"
#include "agent/session/policy_writer.h"
#include "agent/session/client.h"
#include "agent/command/confine.h"
#include "agent/session/sandbox_json.h"
#include "agent/command/extra.h"
#include "agent/rpc/fields.h"
#include "agent/session/policy_minimum.h"
#include "agent/rpc/limits.h"
#include "agent/propose.h"
#include "agent/session/received.h"
#include "agent/session/session.h"
#include "agent/command/task.h"
#include "agent/session/tell.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/process/aside.h"
#include "base/text.h"
#include "exec/exec_sandbox.h"

#define LOOK_MS     30000
#define TIMEOUT_MS  (10 * INT64_C(60) * 1000)
#define TASKS_USUAL 256
#define EVENT_BYTES (1 << 20)
#define KEPT_BYTES  (64 << 10)
#define KEPT_MAX    (1 << 20)

struct limits {
	int64_t timeout_ms, execs, event_bytes, kept_bytes, question_ms;
};
static const struct fields_entry limit_fields[] = {
	{ "timeout_ms", FIELDS_NUMBER, offsetof(struct limits, timeout_ms), AGENT_DURATION_MAX,
	  false, NULL },
	{ "execs", FIELDS_NUMBER, offsetof(struct limits, execs), AGENT_TASKS_MAX, false, NULL },
	{ "event_bytes", FIELDS_NUMBER, offsetof(struct limits, event_bytes), INT32_MAX, false,
	  NULL },
	{ "kept_bytes", FIELDS_NUMBER, offsetof(struct limits, kept_bytes), KEPT_MAX, false, NULL },
	{ "question_ms", FIELDS_NUMBER, offsetof(struct limits, question_ms), AGENT_DURATION_MAX,
	  false, NULL },
	{ 0 },
};

struct granular {
	bool sandbox, rules, permissions, elicitation, network;
};
static const struct fields_entry granular_fields[] = {
	{ "sandbox", FIELDS_FLAG, offsetof(struct granular, sandbox), 0, false, NULL },
	{ "rules", FIELDS_FLAG, offsetof(struct granular, rules), 0, false, NULL },
	{ "permissions", FIELDS_FLAG, offsetof(struct granular, permissions), 0, false, NULL },
	{ "elicitation", FIELDS_FLAG, offsetof(struct granular, elicitation), 0, false, NULL },
	{ "network", FIELDS_FLAG, offsetof(struct granular, network), 0, false, NULL },
	{ 0 },
};

struct wanted {
	const char *name, *approval, *cwd;
	const json_t *granular, *sandbox, *env, *limits;
	int on_denial;
	bool must_intercept, is_strict;
};
static const char *const denials[] = {
	[ORCHESTRATOR_REPORT] = "report",
	[ORCHESTRATOR_FAIL] = "fail",
	[ORCHESTRATOR_STOP] = "stop",
	NULL,
};
static const struct fields_entry wanted_fields[] = {
	{ "name", FIELDS_TEXT, offsetof(struct wanted, name), AGENT_NAME_MAX, false, NULL },
	{ "approval", FIELDS_TEXT, offsetof(struct wanted, approval), AGENT_NAME_MAX * 2, false,
	  NULL },
	{ "granular", FIELDS_OBJECT, offsetof(struct wanted, granular), 0, false, NULL },
	{ "cwd", FIELDS_TEXT, offsetof(struct wanted, cwd), AGENT_PATH_MAX, false, NULL },
	{ "sandbox", FIELDS_OBJECT, offsetof(struct wanted, sandbox), 0, false, NULL },
	{ "env", FIELDS_OBJECT, offsetof(struct wanted, env), 0, false, NULL },
	{ "limits", FIELDS_OBJECT, offsetof(struct wanted, limits), 0, false, NULL },
	{ "on_denial", FIELDS_CHOICE, offsetof(struct wanted, on_denial), 0, false, denials },
	{ "intercept_exec", FIELDS_FLAG, offsetof(struct wanted, must_intercept), 0, false, NULL },
	{ "strict", FIELDS_FLAG, offsetof(struct wanted, is_strict), 0, false, NULL },
	{ 0 },
};

struct session *agent_session_find(struct agent *agent, const char *name)
{
	struct session *session;

	TAILQ_FOREACH (session, &agent->sessions, entry) {
		if (!session->is_closing && (!name || strcmp(session->name, name) == 0))
			return session;
	}
	return NULL;
}

static bool has_name(const struct agent *agent, const char *name)
{
	const struct session *session;

	TAILQ_FOREACH (session, &agent->sessions, entry) {
		if (strcmp(session->name, name) == 0)
			return true;
	}
	return false;
}

/* Writes the flags as words of the orchestrator's own language. Owned; NULL with @why. */
static char *approval_text(const struct wanted *wanted, struct err *why)
{
	const char *approval = wanted->approval ? wanted->approval : "on-request";
	struct granular flags = { 0 };

	if (!wanted->granular)
		return mem_strdup(approval);
	if (strcmp(approval, "granular") != 0) {
		(void)err_set(why, -EINVAL,
			      "\"granular\" is allowed only with the approval `granular`");
		return NULL;
	}
	if (fields_read(wanted->granular, granular_fields, true, &flags, why) < 0)
		return NULL;
	auto_free char *text = mem_printf(
		"granular:%s%s%s%s%s", flags.sandbox ? "sandbox," : "", flags.rules ? "rules," : "",
		flags.permissions ? "permissions," : "", flags.elicitation ? "elicitation," : "",
		flags.network ? "network," : "");
	size_t len = strlen(text);

	if (text[len - 1] == ',')
		text[len - 1] = '\0';
	return take(text);
}

static int read_mode(const struct agent *agent, const struct wanted *wanted,
		     enum orchestrator_mode *ret_mode, unsigned int *ret_categories,
		     struct err *why)
{
	auto_free char *text = approval_text(wanted, why);
	int r = text ? orchestrator_mode_parse(text, ret_mode, ret_categories, why) : -EINVAL;

	return r == 0 ? policy_minimum_approvals(agent, ret_mode, ret_categories, why) : r;
}

/* The operations of a session's orchestrator; their argument is the session. */
static const struct orchestrator_ops operations = {
	.ask = approval_request_ask,
	.changed = approval_request_changed,
	.retract = approval_request_retract,
	.decide = deciders_ask,
	.decided = record_decided,
	.start = exec_run_start,
	.stop = exec_run_stop,
	.pause = exec_run_pause,
	.store = policy_writer_append,
};

static int make_orchestrator(struct session *session, const struct wanted *wanted,
			     const struct limits *limits, struct err *why)
{
	struct orchestrator_config config = {
		.ops = &operations,
		.arg = session,
		.mode = session->mode,
		.categories = session->categories,
		.last_exec = &session->agent->last_exec,
		.rules = session->agent->rules,
		.may_unconfine = session->agent->config.may_unconfine,
		.may_leave_by_rule = session->agent->config.may_unconfine,
		.judges_programs = session->must_intercept,
		.is_strict = wanted->is_strict,
		.question_ms = limits->question_ms,
	};

	session->deciders = deciders_new(session);
	config.deciders = deciders_list(session->deciders, &config.decider_count);
	session->orchestrator = orchestrator_new(session->agent->loop, &config, why);
	return session->orchestrator ? 0 : -EINVAL;
}

/* Checks everything that can be wrong before anything is kept. */
static int fill(struct session *session, const struct wanted *wanted, struct err *why)
{
	struct agent *agent = session->agent;
	static const char *const none[] = { NULL };
	struct limits limits = { TIMEOUT_MS, TASKS_USUAL, EVENT_BYTES, KEPT_BYTES, 0 };
	int r = wanted->limits ? fields_read(wanted->limits, limit_fields, true, &limits, why) : 0;

	if (r == 0)
		r = read_mode(agent, wanted, &session->mode, &session->categories, why);
	if (r < 0)
		return r;
	session->timeout_ms = limits.timeout_ms;
	session->tasks_max = limits.execs;
	session->event_bytes_max = limits.event_bytes;
	session->kept_max = limits.kept_bytes;
	session->question_ms = limits.question_ms;
	session->on_denial = (enum orchestrator_on_denial)wanted->on_denial;
	session->must_intercept = wanted->must_intercept || agent->config.must_intercept;
	session->cwd = confine_path(agent->config.cwd, wanted->cwd ? wanted->cwd : ".", why);
	if (!session->cwd)
		return -EINVAL;
	if (!wanted->cwd)
		session->cwd[strlen(agent->config.cwd)] = '\0';
	session->env = confine_env(wanted->env, none, why);
	if (!session->env)
		return -EINVAL;
	r = confine_new(agent, wanted->sandbox, session->cwd, &session->sandbox, why);
	return r == 0 ? make_orchestrator(session, wanted, &limits, why) : r;
}

static const char *const modes[] = {
	[ORCHESTRATOR_NEVER] = "never",           [ORCHESTRATOR_UNTRUSTED] = "untrusted",
	[ORCHESTRATOR_ON_REQUEST] = "on-request", [ORCHESTRATOR_ON_FAILURE] = "on-failure",
	[ORCHESTRATOR_GRANULAR] = "granular",
};

static void tell_configured(const struct session *session, const char *id)
{
	json_t *told = tell_of_session(session);

	tell_add(told, "cwd", tell_text(session->cwd));
	tell_add(told, "run", tell_text(session->agent->config.id));
	tell_add(told, "approval", json_string(modes[session->mode]));
	tell_add(told, "sandbox", sandbox_json(session->sandbox));
	tell_add(told, "intercept_exec", json_boolean(session->must_intercept));
	tell_add(told, "may_unconfine", json_boolean(session->agent->config.may_unconfine));
	tell_reply(session->agent, id, told);
}

static int name_it(struct session *session, const char *name, struct err *why)
{
	struct agent *agent = session->agent;

	session->number = ++agent->last_session;
	if (name && (name[0] == '\0' || has_name(agent, name)))
		return err_set(why, -EBUSY, "a session with this name exists; choose another name");
	session->name =
		name ? mem_strdup(name) : mem_printf("s%llu", (unsigned long long)session->number);
	if (!name && has_name(agent, session->name))
		return err_set(why, -EBUSY, "give the session a name");
	return 0;
}

/* Finds, in a separate process, whether the session's commands may have what it wants. */
static void look(FILE *out, void *arg)
{
	const struct session *session = arg;
	const struct agent_config *config = &session->agent->config;
	auto_free_list char **writable =
		confine_writable(session->next ? session->next : session->sandbox);
	struct err why = { 0 };

	if (config->host->note_reach(writable, &why, config->arg) < 0)
		(void)fputs(why.text, out); /* into memory */
}

static void drop(struct session *session)
{
	TAILQ_REMOVE(&session->agent->sessions, session, entry);
	session->agent->session_count--;
	agent_session_free(session);
}

/* Commands that start from now on have it. */
static void take_next(struct session *session)
{
	if (!session->next)
		return;
	exec_sandbox_free(session->sandbox);
	session->sandbox = take(session->next);
	free(session->cwd);
	session->cwd = take(session->next_cwd);
	session->mode = session->next_mode;
	session->categories = session->next_categories;
	orchestrator_set_mode(session->orchestrator, session->mode, session->categories);
}

static void on_look(int result, const char *bytes, size_t len, void *arg)
{
	struct session *session = arg;
	struct agent *agent = session->agent;
	struct aside *aside = take(session->look); /* owns the bytes */
	auto_free char *id = take(session->id);
	json_t *held = take(session->held);

	if (result == 0 && len == 0) {
		take_next(session);
		auto_free_list char **writable = confine_writable(session->sandbox);

		agent->config.host->widen(writable, agent->config.arg);
		tell_configured(session, id);
	} else {
		auto_free char *why =
			result == 0 ? mem_strdup(bytes)
				    : mem_printf("cannot examine the paths of the sandbox: %s",
						 aside_words(result));

		tell_failure(agent, id, result == 0 ? -EPERM : -EIO, why);
		if (session->next) {
			exec_sandbox_free(take(session->next));
			free(take(session->next_cwd));
		} else {
			drop(session);
		}
	}
	aside_free(aside);
	agent->on_configured(agent, held);
}

static void start_look(struct session *session, const char *id)
{
	const struct aside_config config = {
		.name = "sallyport-paths",
		.run = look,
		.run_arg = session,
		.limit_ms = LOOK_MS,
		.max_bytes = ERR_MAX_BYTES,
		.done = on_look,
		.arg = session,
	};

	session->id = mem_strdup(id);
	session->look = aside_start(session->agent->loop, &config);
}

bool agent_session_is_pending(const struct agent *agent)
{
	const struct session *session;

	TAILQ_FOREACH (session, &agent->sessions, entry) {
		if (session->look)
			return true;
	}
	return false;
}

int agent_session_configure(struct agent *agent, const struct submission *submission,
			    struct err *why)
{
	struct wanted wanted = { .on_denial = ORCHESTRATOR_REPORT };
	int r = fields_read(submission->body, wanted_fields, false, &wanted, why);

	if (r < 0)
		return r;
	if (agent->session_count == AGENT_SESSIONS_MAX)
		return err_set(why, -EBUSY, "%d sessions exist; end one first", AGENT_SESSIONS_MAX);
	struct session *session = mem_new(sizeof(*session));

	session->agent = agent;
	TAILQ_INIT(&session->tasks);
	TAILQ_INIT(&session->proposals);
	r = name_it(session, wanted.name, why);
	if (r == 0)
		r = fill(session, &wanted, why);
	if (r < 0) {
		agent_session_free(session);
		return r;
	}
	TAILQ_INSERT_TAIL(&agent->sessions, session, entry);
	agent->session_count++;
	start_look(session, submission->id);
	return 0;
}

static const struct fields_entry override_fields[] = {
	{ "approval", FIELDS_TEXT, offsetof(struct wanted, approval), AGENT_NAME_MAX * 2, false,
	  NULL },
	{ "granular", FIELDS_OBJECT, offsetof(struct wanted, granular), 0, false, NULL },
	{ "cwd", FIELDS_TEXT, offsetof(struct wanted, cwd), AGENT_PATH_MAX, false, NULL },
	{ "sandbox", FIELDS_OBJECT, offsetof(struct wanted, sandbox), 0, false, NULL },
	{ 0 },
};

/* The working folder of the session from then on: owned; NULL with @why. Most sandboxes name it. */
static char *read_cwd(const struct session *session, const struct wanted *wanted, struct err *why)
{
	if (!wanted->cwd)
		return mem_strdup(session->cwd);
	if (wanted->sandbox)
		return confine_path(session->agent->config.cwd, wanted->cwd, why);
	(void)err_set(why, -EINVAL, "\"cwd\" is allowed only with \"sandbox\"");
	return NULL;
}

static int read_next(struct session *session, const struct wanted *wanted, struct err *why)
{
	auto_free char *cwd = read_cwd(session, wanted, why);
	int r = cwd ? 0 : -EINVAL;

	session->next_mode = session->mode;
	session->next_categories = session->categories;
	if (r == 0 && (wanted->approval || wanted->granular))
		r = read_mode(session->agent, wanted, &session->next_mode,
			      &session->next_categories, why);
	if (r == 0 && wanted->sandbox)
		r = confine_new(session->agent, wanted->sandbox, cwd, &session->next, why);
	else if (r == 0)
		session->next = exec_sandbox_copy(session->sandbox);
	if (r == 0)
		session->next_cwd = take(cwd);
	return r;
}

int agent_session_override(struct agent *agent, const struct submission *submission,
			   struct err *why)
{
	struct session *session = submission->session;
	struct wanted wanted = { 0 };
	int r = fields_read(submission->body, override_fields, false, &wanted, why);

	if (r == 0)
		r = read_next(session, &wanted, why);
	fields_forget(override_fields, &wanted);
	if (r < 0)
		return r;
	start_look(session, submission->id);
	return 0;
}

struct ending {
	bool must_wait;
};
static const struct fields_entry ending_fields[] = {
	{ "wait", FIELDS_FLAG, offsetof(struct ending, must_wait), 0, false, NULL },
	{ 0 },
};

int agent_session_serve_end(struct agent *agent, const struct submission *submission,
			    struct err *why)
{
	struct ending ending = { 0 };
	int r = fields_read(submission->body, ending_fields, false, &ending, why);

	if (r < 0)
		return r;
	tell_accepted(agent, submission, NULL);
	submission->session->is_closing = true;
	if (!ending.must_wait)
		agent_session_end(submission->session, "the client ended the session");
	client_look(agent);
	return 0;
}

void agent_session_end(struct session *session, const char *why)
{
	struct task *task, *next;

	session->is_closing = true;
	(void)orchestrator_client_gone(session->orchestrator, session->number);
	for (task = TAILQ_FIRST(&session->tasks); task; task = next) {
		next = TAILQ_NEXT(task, entry);
		task_cancel(task, why);
	}
	propose_drop_all(session);
	client_look(session->agent);
}

static void tell_ended(const struct session *session)
{
	json_t *event = tell_of_session(session);

	tell_add(event, "decisions", tally_json(&session->tally, pending_kind_words));
	tell_send(session->agent, TELL_SESSION_ENDED, event);
}

bool agent_session_sweep(struct session *session)
{
	struct agent *agent = session->agent;

	if (!session->is_closing || !TAILQ_EMPTY(&session->tasks) ||
	    !TAILQ_EMPTY(&session->proposals))
		return false;
	TAILQ_REMOVE(&agent->sessions, session, entry);
	agent->session_count--;
	if (session->look)
		tell_failure(agent, session->id, -EBUSY, "the client has disconnected");
	if (!session->look || session->next)
		tell_ended(session);
	if (agent->gateway)
		gateway_session_end(agent->gateway, session->number);
	agent_session_free(session);
	return true;
}

void agent_session_free(struct session *session)
{
	struct task *task;

	if (!session)
		return;
	/* A question about a program of the command is withdrawn with the command. */
	while ((task = TAILQ_FIRST(&session->tasks)))
		task_free(task);
	orchestrator_free(session->orchestrator);
	deciders_free(session->deciders);
	propose_drop_all(session);
	pending_forget_session(session);
	aside_free(session->look);
	json_decref(session->held);
	free(session->id);
	extra_done(&session->permits);
	mem_free_list(session->patches);
	exec_sandbox_free(session->sandbox);
	exec_sandbox_free(session->next);
	free(session->next_cwd);
	mem_free_list(session->env);
	free(session->name);
	free(session->cwd);
	free(session);
}
