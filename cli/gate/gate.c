#include "cli/gate/gate.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/gate/grants_of.h"
#include "cli/policy/policy_reach.h"
#include "cli/run/run_bundle.h"
#include "cli/gate/run_helpers.h"
#include "cli/view/run_names.h"
#include "cli/run/run_options.h"
#include "cli/run/run_policy.h"
#include "cli/gate/run_reload.h"
#include "cli/gate/run_upstream.h"
#include "cli/view/trusted.h"
#include "exec/exec_plan.h"
#include "gateway/gateway.h"

/* `approve watch` detects a new run with inotify and attaches within milliseconds, later on a busy
 * machine. */
#define ATTACH_MS 1000

#define PAGE_LINE_MAX 192 /* an address has less than 128 bytes */

static int make_id(struct gate *gate)
{
	uint8_t bytes[GATE_ID_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(gate->id + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

int gate_prepare(struct gate *gate, struct run_options *options)
{
	gate->options = options;
	if (make_id(gate) < 0)
		return cli_fail(CLI_NO_SANDBOX,
				"cannot make an id: the kernel gave no random numbers");
	int status = run_places_find(&gate->places, options->audit);

	if (status != CLI_OK)
		return status;
	if (!options->join)
		gate->control = mem_printf("%s/%s.sock", gate->places.control_dir, gate->id);
	status = run_policy_load(options, &gate->places, &gate->sources, &gate->loaded);
	gate->policy = take(gate->loaded.policy);
	return status;
}

int64_t gate_patience_ms(const struct run_options *options)
{
	if (options->must_fail_on_ask)
		return 0;
	if (options->has_prompt_timeout ||
	    (options->has_default && options->default_action == POLICY_ASK))
		return -1;
	return ATTACH_MS;
}

int gate_find_tmux(struct gate *gate)
{
	auto_free_list char **writable = NULL;
	int status = run_policy_paths(gate->policy, &gate->places, POLICY_PATH_WRITE,
				      gate->options->writable, &writable);

	if (status == CLI_OK && !gate->tmux && getenv("TMUX"))
		gate->tmux = run_helpers_find("tmux", &gate->places, writable);
	return status;
}

static int find_helpers(struct gate *gate)
{
	auto_free_list char **writable = NULL;
	int status = run_policy_paths(gate->policy, &gate->places, POLICY_PATH_WRITE,
				      gate->options->writable, &writable);

	return status == CLI_OK ? run_helpers_make(&gate->options->helpers, &gate->places, writable,
						   gate->policy, &gate->helpers)
				: status;
}

const char *gate_session(const struct gate *gate)
{
	return gate->options->session ? gate->options->session : gate->id;
}

const char *gate_policy_path(const struct gate *gate)
{
	const char *path = gate->options->asks_nobody ? NULL : gate->places.answers_path;

	for (char *const *at = gate->options->policies; !path && at && *at; at++)
		if (!at[1])
			path = *at;
	return path;
}

/* Prints the address of the page, which is all that is needed to answer questions. It goes to the
 * terminal @tty, where a command cannot read it from a file; without one (-1), to stderr. */
static void announce_page(int tty, const char *url)
{
	char line[PAGE_LINE_MAX]; /* no heap: the address is a secret, and the worker copies that */
	int len = snprintf(line, sizeof(line), "sallyport: answer questions at %s\n", url);

	if (fd_write_all(tty >= 0 ? tty : STDERR_FILENO, line, (size_t)len) < 0)
		log_warn("the address of the page could not be printed");
	explicit_bzero(line, sizeof(line));
}

static void on_abort(uint64_t exec, void *arg)
{
	const struct gate *gate = arg;

	if (gate->calls.on_abort)
		gate->calls.on_abort(exec, gate->calls.arg);
}

static int open_gateway(struct gate *gate)
{
	struct err why = { 0 };
	const struct gateway_terminal *terminal = NULL;

	if (!gate->loop)
		gate->loop = loop_new();
	if (gate->options->may_use_tty)
		gate->tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (gate->tty >= 0) {
		gate->terminal = (struct gateway_terminal){
			gate->tty,
			gate->calls.hold,
			gate->calls.release,
			gate->calls.arg,
		};
		terminal = &gate->terminal;
	}
	struct gateway_config config = {
		.policy = gate->policy,
		.session = gate_session(gate),
		.run = gate->id,
		.audit_path = gate->places.audit_path,
		.audit_dir = gate->places.audit_dir,
		.key_dir = gate->places.state_dir,
		.syslog = gate->options->has_syslog ? &gate->options->syslog : NULL,
		.cwd = gate->places.cwd,
		.version = SALLYPORT_VERSION,
		.digest = gate->loaded.digest,
		.answers_path = gate->places.answers_path,
		.keeps_aside = true,
		.observes = gate->options->is_observing,
		.counts_egress = gate->options->lock != RUN_LOCK_NONE,
		.seen_path = gate->places.seen_path,
		.control_dir = gate->options->asks_nobody ? NULL : gate->places.control_dir,
		.terminal = terminal,
		.tmux = gate->tmux,
		.helpers = run_helpers_get(gate->helpers),
		.web = gate->options->has_web ? &gate->web : NULL,
		.metrics = &gate->metrics.gateway,
		.prompt_timeout_ms = gate->options->prompt_timeout_ms,
		.bundle = run_bundle_get(gate->bundle),
		.patience_ms = gate_patience_ms(gate->options),
		.on_abort = on_abort,
		.on_worker_gone = gate_workers_gone,
		.embedded = gate->calls.embedded,
		.arg = gate,
	};
	gate->web.port = gate->options->web_port;
	gate->web.answer_origin = gate->options->helpers.webhook_answer;
	int status = run_metrics_open(gate->options->metrics, gate->places.cwd, &gate->metrics);

	if (status != CLI_OK)
		return status;
	gate->gateway = gateway_new(gate->loop, &config, &why);
	if (!gate->gateway)
		return cli_fail(CLI_NO_SANDBOX, "%s", why.text);
	if (gate->options->has_web)
		announce_page(gate->tty, gate->web.url);
	return CLI_OK;
}

/* The grants are asked for first: if that fails, no gateway is opened and nothing is recorded. */
static int open_with_grants(struct gate *gate)
{
	struct grants_of grants = { 0 };
	int status = grants_of_ask(gate->options->grants_of, &grants);

	if (status == CLI_OK)
		status = open_gateway(gate);
	if (status == CLI_OK)
		status = grants_of_put(&grants, gate->gateway);
	grants_of_free(&grants);
	return status;
}

int gate_open_bundle(struct gate *gate)
{
	if (!gate->options->must_fail_on_ask && !gate->options->bundle)
		return CLI_OK;
	gate->bundle = run_bundle_open(gate->options, &gate->places);
	return gate->bundle ? CLI_OK : CLI_NO_SANDBOX;
}

int gate_open(struct gate *gate, const struct gate_calls *calls)
{
	gate->calls = *calls;
	int status = gate_open_bundle(gate);

	if (status == CLI_OK)
		status = run_upstream_find(gate->policy, &gate->places, &gate->upstreams);
	if (status == CLI_OK)
		status = find_helpers(gate);
	if (status == CLI_OK)
		status = gate_find_tmux(gate);
	if (status != CLI_OK)
		return status;
	status = gate->options->grants_of ? open_with_grants(gate) : open_gateway(gate);
	if (status == CLI_OK)
		gate_keep_start(&gate->keep, gate->loop, &gate->places, &gate->policy);
	return status;
}

int gate_view(struct gate *gate)
{
	const struct run_view_config config = {
		.options = gate->options,
		.places = &gate->places,
		.policy = gate->policy,
		.loaded = &gate->loaded,
	};

	if (gate->view.hidden)
		return CLI_OK;
	int status = run_view_make(&gate->view, &config);

	for (char *const *name = gate->view.socket_names; name && *name; name++)
		mem_append_list(&gate->options->env_set, *name);
	return status;
}

void gate_apply(const struct gate *gate, struct exec_plan_config *ret)
{
	ret->cwd = gate->places.cwd;
	ret->writable = (const char *const *)gate->view.writable;
	ret->theirs = (const char *const *)gate->view.theirs;
	ret->follows_theirs = true;
	ret->hidden = (const char *const *)gate->view.hidden;
	ret->read_only = (const char *const *)gate->view.read_only;
	ret->sandbox = gate->view.sandbox;
	ret->protection = &gate->view.protection;
	ret->limits = &gate->view.limits;
	ret->sockets = (const char *const *)gate->view.sockets;
	ret->env = (const char *const *)gate->view.env;
	ret->control = gate->control;
}

void gate_watch(struct gate *gate)
{
	run_view_add_cwd(&gate->view, &gate->places);

	struct run_reload_config config = {
		.loop = gate->loop,
		.gateway = gate->gateway,
		.sources = &gate->sources,
		.policy = &gate->policy,
		.loaded = &gate->loaded,
		.writable = gate->view.writable,
		.has_prompt_timeout = gate->options->has_prompt_timeout,
		.kinds = gate->options->helpers.kinds,
		.on_policy = gate->calls.on_policy,
		.on_read = gate->calls.on_read,
		.arg = gate->calls.arg,
	};

	gate->reload = run_reload_new(&config);
	gate->names = run_names_new(gate->loop, gate->gateway, gate->view.writable,
				    gate->loaded.since_us);
}

static bool has_path(char *const *list, const char *path)
{
	for (; *list; list++) {
		if (strcmp(*list, path) == 0)
			return true;
	}
	return false;
}

static char **programs_of(const struct gate *gate)
{
	char **programs = run_helpers_programs(gate->helpers);

	if (gate->tmux)
		mem_append_list(&programs, mem_strdup(gate->tmux));
	return programs;
}

char **gate_guarded(const struct gate *gate)
{
	char **files = programs_of(gate);
	const char *file;

	for (size_t i = 0; (file = policy_configured_file(gate->policy, i)); i++)
		mem_append_list(&files, mem_strdup(file));
	return files;
}

/* A program that decides for people must not lie where commands may write. Returns the path that
 * contains one; NULL: none does. */
static const char *find_helper_in(const struct gate *gate, char *const *paths)
{
	auto_free_list char **programs = programs_of(gate);

	for (char **program = programs; *program; program++) {
		for (char *const *path = paths; *path; path++) {
			if (trusted_is_within(*program, *path))
				return *path;
		}
	}
	return NULL;
}

void gate_set_writable(struct gate *gate)
{
	run_reload_set_writable(gate->reload, gate->view.writable);
	run_names_set_writable(gate->names, gate->view.writable);
}

void gate_forget_writable(struct gate *gate)
{
	mem_free_list(gate->view.writable);
	gate->view.writable = mem_new(sizeof(*gate->view.writable));
	gate_set_writable(gate);
}

int gate_note_reach(const struct gate *gate, char *const *paths, struct err *why)
{
	auto_free char *objection = run_policy_objection(gate->policy, paths);
	const char *held = objection ? NULL : find_helper_in(gate, paths);

	if (objection)
		return err_set(why, -EPERM, "%s", objection);
	if (held)
		return err_set(why, -EPERM,
			       "%s holds a program that decides for people, so commands must not "
			       "write there",
			       held);
	const struct policy_reach reach = { gate->places.state_dir, gate->places.cwd,
					    gate->places.config_dir, paths, NULL };

	if (policy_reach_check_paths(gate->places.state_dir, paths, why) < 0)
		return -EPERM;
	return policy_reach_note(&reach, why) < 0 ? -EIO : 0;
}

int gate_keep_files(const struct gate *gate)
{
	struct err why = { 0 };

	return policy_reach_keep(gate->places.state_dir, &gate->loaded, &why) < 0
		       ? cli_fail(CLI_NO_SANDBOX, "%s", why.text)
		       : CLI_OK;
}

void gate_widen(struct gate *gate, char *const *paths)
{
	for (; *paths; paths++) {
		if (!has_path(gate->view.writable, *paths))
			mem_append_list(&gate->view.writable, mem_strdup(*paths));
	}
	if (gate->reload)
		gate_set_writable(gate);
}

void gate_ignore_signals(void)
{
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
}

void gate_close(struct gate *gate)
{
	gate_workers_kill(gate);
	run_names_free(take(gate->names));
	run_reload_free(take(gate->reload));
	gateway_free(take(gate->gateway)); /* the kernel takes down the sandbox meanwhile */
	gate_keep_end(&gate->keep);
	run_helpers_free(take(gate->helpers));
}

void gate_free(struct gate *gate)
{
	gate_workers_reap(gate);
	loop_free(gate->loop);
	run_published_close(gate->published, &gate->published_count);
	fd_close(gate->worker_socket);
	fd_close(gate->tty);
	run_metrics_close(&gate->metrics);
	run_bundle_free(gate->bundle);
	policy_free(gate->policy);
	run_sources_forget(&gate->loaded);
	run_view_done(&gate->view);
	run_sources_done(&gate->sources);
	run_places_free(&gate->places);
	free(gate->control);
	free(gate->tmux);
	free(gate->upstreams);
	*gate = GATE_NONE;
}
