/* Reads the session's settings, and checks that they hold for this run as well. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/gate/gate.h"
#include "cli/policy/policy_layers.h"
#include "cli/run/run_join_impl.h"
#include "cli/run/run_options.h"
#include "cli/run/run_policy.h"
#include "cli/view/trusted.h"
#include "policies/policies_tools.h"

#define RETRY_MS 100
#define SAME_MS  3000 /* for the session to read a changed file */

static int ask_terms(struct run_join *join, struct err *why)
{
	struct frame frame;
	int fds[FD_PASS_MAX];
	size_t count = 0;

	session_wire_free_terms(&join->terms);
	if (session_wire_say(join->socket, SESSION_JOIN) < 0)
		return err_set(why, -EPIPE, "the session closed the connection");
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
		return err_set(
			why, r,
			"the session does not exist; start it with `sallyport session start %s`",
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

/* A project's file can only narrow, and the session uses those of the folder where it began. A file
 * that the session does not know would be ignored, so it is an error. */
static int check_projects(const struct run_join *join, const struct run_places *places)
{
	auto_free_list char **projects = policy_layers_projects(places->cwd);

	for (char **file = projects; *file; file++) {
		if (access(*file, F_OK) < 0 || is_listed(join->terms.projects, *file))
			continue;
		auto_free char *words = mem_printf("%s applies in this folder, but not in the "
						   "session; start a session in this folder",
						   *file);

		return run_join_refuse(join, words);
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

/* Reads the policy again here: the run itself applies the rules for commands and the hidden and
 * writable paths. The digest covers all files, so both processes have the same ones. The session
 * reads a file that has just changed, for example by an answer for always, again after a short
 * time. */
static int load(struct run_join *join, struct gate *gate)
{
	const struct timespec pause = { .tv_nsec = RETRY_MS * 1000000L };
	struct err why = { 0 };

	read_policy(join, gate);
	for (int64_t waited = 0; !is_same_policy(join, gate) && waited < SAME_MS;
	     waited += RETRY_MS) {
		(void)nanosleep(&pause, NULL); /* a shorter wait does no harm */
		if (ask_terms(join, &why) < 0)
			return run_join_refuse(join, why.text);
		read_policy(join, gate);
	}
	if (is_same_policy(join, gate))
		return CLI_OK;
	if (!gate->loaded.is_good)
		(void)fputs(policy_errors(gate->policy), stderr);
	auto_free char *words = mem_printf(
		"the policy %s; the session's messages about it are in %s/session-%s.log",
		gate->loaded.is_good ? "differs from the session's" : "has errors now",
		join->terms.facts[SESSION_STATE_DIR], join->name);

	return run_join_refuse(join, words);
}

static int check_writable(const struct run_join *join, const struct gate *gate)
{
	auto_free_list char **writable = NULL;
	size_t count = 0;
	int status = run_policy_paths(gate->policy, &gate->places, POLICY_PATH_WRITE,
				      gate->options->writable, &writable);

	if (status != CLI_OK)
		return status;
	while (writable[count])
		count++;
	writable = mem_grow(writable, count + 2, sizeof(*writable));
	writable[count] = mem_strdup(gate->places.cwd);
	writable[count + 1] = NULL;
	auto_free char *objection = run_policy_objection(gate->policy, writable);

	if (objection)
		return run_join_refuse(join, objection);
	for (char **program = join->terms.programs; *program; program++) {
		for (char **folder = writable; *folder; folder++) {
			if (!trusted_is_within(*program, *folder))
				continue;
			auto_free char *words = mem_printf("the session asks %s, which the command "
							   "could write; move that program",
							   *program);

			return run_join_refuse(join, words);
		}
	}
	return CLI_OK;
}

/* The session keeps the records. */
static void place_audit(const struct run_join *join, struct run_places *places)
{
	free(places->audit_path);
	free(places->audit_head);
	places->audit_path = mem_strdup(join->terms.facts[SESSION_AUDIT]);
	places->audit_head = mem_strdup(join->terms.facts[SESSION_AUDIT_HEAD]);
}

int run_join_prepare(struct gate *gate, struct run_options *options, struct run_gateway **ret)
{
	struct run_join *join = mem_new(sizeof(*join));
	struct err why = { 0 };

	*ret = &join->base;
	join->base.ops = &run_join_ops;
	join->gate = gate;
	join->socket = -1;
	join->name = options->join;
	gate->options = options;
	if (connect_to(join, &why) < 0)
		return run_join_refuse(join, why.text);
	options->session = join->name;
	(void)snprintf(gate->id, sizeof(gate->id), "%s",
		       join->terms.facts[SESSION_ID]); /* it lives as long as @join */
	gate->web.port = join->terms.web_port;
	gate->metrics.port = join->terms.metrics_port;
	int status = run_places_find(&gate->places, join->terms.facts[SESSION_AUDIT]);

	if (status != CLI_OK)
		return status;
	place_audit(join, &gate->places);
	status = check_projects(join, &gate->places);
	if (status == CLI_OK)
		status = load(join, gate);
	/* The session may have been started with other writable paths: check ours. */
	join->id = mem_printf("%s.%llu", gate->id, (unsigned long long)join->terms.exec);
	return status == CLI_OK ? check_writable(join, gate) : status;
}

char **run_join_prepare_append(char **list, char *const *more)
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

void run_join_prepare_view(struct run_gateway *self)
{
	const struct run_join *join = container_of(self, struct run_join, base);
	struct run_view *view = &join->gate->view;

	view->read_only = run_join_prepare_append(view->read_only, join->terms.guarded);
	view->hidden = run_join_prepare_append(view->hidden, join->terms.hidden);
}
