/* What a session goes by, and whether a run may go by it as well. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/run_join_impl.h"
#include "cli/trusted.h"
#include "policies/policies_tools.h"

#define RETRY_MS 100
#define SAME_MS  3000 /* for the session to read what changed */

/* What a session has decided already is not passed over in silence. */
int run_join_prepare_options(const struct run_options *options)
{
	const struct {
		bool is_given;
		const char *name;
	} of_session[] = {
		{ options->policies, "--policy" },
		{ options->has_default, "--default" },
		{ options->has_prompt_timeout, "--prompt-timeout" },
		{ options->audit, "--audit" },
		{ options->session, "--session" },
		{ options->has_web, "--web" },
		{ options->helpers.reviewer || options->helpers.may_answer, "--reviewer" },
		{ options->helpers.has_notify, "--notify" },
		{ options->helpers.webhook || options->helpers.webhook_key ||
			  options->helpers.webhook_answer,
		  "--webhook" },
		{ options->grants_of, "--grants-of" },
		/* They stand beside the policy's own answers, and one question has one policy. */
		{ options->answers, "--answers" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(of_session); i++) {
		if (of_session[i].is_given)
			return cli_usage_error(options->name, CLI_USAGE,
					       "--join and %s: that is the session's to have; see "
					       "`sallyport session start --help`",
					       of_session[i].name) +
			       1;
	}
	return 0;
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
			return run_join_refuse(join, why.text);
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
			auto_free char *words = mem_printf(
				"the session asks %s, which the command could write", *program);

			return run_join_refuse(join, words);
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
		return run_join_refuse(join, why.text);
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

void run_join_prepare_view(const struct run_join *join, struct run_view *view)
{
	view->read_only = run_join_prepare_append(view->read_only, join->terms.guarded);
	view->hidden = run_join_prepare_append(view->hidden, join->terms.hidden);
}
