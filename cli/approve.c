#include "cli/approve.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "cli/cli.h"

static const char help[] =
	"usage: sallyport approve list [--json]\n"
	"       sallyport approve watch [--json]\n"
	"       sallyport approve allow ID [--scope once|exec|session|always]\n"
	"       sallyport approve deny ID [--scope once|exec|session|always]\n"
	"       sallyport approve abort ID\n"
	"       sallyport approve reviewer [--json]\n"
	"\n"
	"Lists and answers the questions that wait in this user's runs.\n"
	"\n"
	"list   the questions that wait now\n"
	"watch  every question as it comes, until Ctrl-C; while it runs, somebody is there to ask\n"
	"allow  let through: once (those now waiting; the default), for the command that asks\n"
	"       (exec), for the session, or always (one line in the user's policy file)\n"
	"deny   refuse, with the same scopes\n"
	"abort  refuse, and end the commands that wait for it\n"
	"reviewer  how the reviewer programs judged, compared with people\n"
	"\n"
	"`sallyport approve list --help` and so on say more; the manual is sallyport-approve(1).\n";

static const char help_list[] =
	"usage: sallyport approve list [--json]\n"
	"\n"
	"Prints the questions that wait now in all runs of this user, oldest run first to answer.\n"
	"\n"
	"  --json  one array of {id, protocol, host, port, waiting, commands, command_count, "
	"age_s,\n"
	"          left_s, rule, because, private, session, run}\n"
	"\n"
	"Exit status: 0 done (also when none waits), 3 error.\n"
	"\n"
	"  sallyport approve list --json | jq -r '.[].host'\n";

static const char help_watch[] =
	"usage: sallyport approve watch [--json]\n"
	"\n"
	"Prints every question as it comes, in all runs of this user, also those that begin "
	"later,\n"
	"until Ctrl-C. Answers are typed, or piped in, one a line: a letter of the prompt and an "
	"id\n"
	"(y 7f3a-1), or allow, deny or abort, an id and a scope (allow 7f3a-1 session).\n"
	"\n"
	"  --json  one event a line; answers may be "
	"{\"op\":\"allow\",\"question\":ID,\"scope\":\"exec\"}\n"
	"\n"
	"Exit status: 0 ended by a signal, 3 error.\n"
	"\n"
	"  sallyport approve watch\n";

static const char help_answer[] =
	"usage: sallyport approve %s ID%s\n"
	"\n"
	"Answers the question ID, as `sallyport approve list` shows it.\n"
	"%s"
	"\n"
	"Exit status: 0 done, 1 no such question or finished already, 3 error.\n"
	"\n"
	"  sallyport approve %s 7f3a-1%s\n";

static const char help_scope[] =
	"\n"
	"  --scope once     those now waiting (the default)\n"
	"  --scope exec     the command that asks, until it ends\n"
	"  --scope session  the session\n"
	"  --scope always   for good: one line in the user's policy file\n";

enum { OPT_HELP = 1, OPT_JSON, OPT_SCOPE };

struct approve_options {
	bool is_help, is_json;
	const char *scope;
};

/* 0, or the exit status of a usage error. Leaves optind at the first word. */
static int read_options(int argc, char **argv, const struct option *known, const char *name,
			struct approve_options *ret)
{
	optind = 0;
	for (int option; (option = getopt_long(argc, argv, ":h", known, NULL)) != -1;) {
		switch (option) {
		case 'h':
		case OPT_HELP:
			ret->is_help = true;
			break;
		case OPT_JSON:
			ret->is_json = true;
			break;
		case OPT_SCOPE:
			ret->scope = approve_input_scope(optarg);
			if (!ret->scope)
				return cli_usage_error(name, CLI_ERROR,
						       "--scope is once, exec, session or always");
			break;
		case ':':
			return cli_usage_error(name, CLI_ERROR, "%s needs a value",
					       argv[optind - 1]);
		default:
			return cli_usage_error(name, CLI_ERROR, "no such option: %s",
					       argv[optind - 1]);
		}
	}
	return 0;
}

/* Adds the questions of @run to @all. 0 when the run is over, too. */
static int list_run(int dir_fd, const char *run, json_t *all, struct err *why)
{
	struct approve_link link;
	json_t *reply = NULL;
	int r = approve_link_open(dir_fd, run, &link, why);

	if (r < 0)
		return r == -ECONNREFUSED || r == -ENOENT ? 0 : r;
	r = approve_link_request(&link, json_pack("{s:s}", "op", "list"), &reply, why);
	if (r == 0 && json_array_extend(all, json_object_get(reply, "questions")) < 0)
		r = err_set(why, -EPROTO, "the gate of run %s sent no list", run);
	json_decref(reply);
	approve_link_done(&link);
	return r;
}

/* A run that does not answer is named, and the others are listed. */
static int list_all(json_t *all)
{
	auto_free_list char **runs = NULL;
	struct err why = { 0 };
	int status = CLI_OK;

	auto_close int dir_fd = approve_dir_open(&why);
	if (dir_fd < 0 || approve_dir_runs(dir_fd, &runs, &why) < 0)
		return cli_fail(CLI_ERROR, "%s", why.text);
	for (char **run = runs; *run; run++) {
		if (list_run(dir_fd, *run, all, &why) < 0)
			status = cli_fail(CLI_ERROR, "%s", why.text);
	}
	return status;
}

static int command_list(int argc, char **argv)
{
	static const struct option known[] = {
		{ "help", no_argument, NULL, OPT_HELP },
		{ "json", no_argument, NULL, OPT_JSON },
		{ 0 },
	};
	struct approve_options options = { 0 };
	int status = read_options(argc, argv, known, "approve list", &options);

	if (status != 0)
		return status;
	if (options.is_help)
		return fputs(help_list, stdout) < 0 ? CLI_ERROR : CLI_OK;
	if (optind < argc)
		return cli_usage_error("approve list", CLI_ERROR, "list takes no words");

	json_t *all = json_array();
	status = list_all(all);
	if (options.is_json) {
		(void)json_dumpf(all, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
		(void)putchar('\n');
	} else if (json_array_size(all) == 0 && status == CLI_OK) {
		(void)puts("no sallyport run is waiting for an answer");
	}
	for (size_t i = 0; !options.is_json && i < json_array_size(all); i++)
		approve_text_question(stdout, json_array_get(all, i));
	json_decref(all);
	if (fflush(stdout) == EOF)
		return cli_fail(CLI_ERROR, "cannot write the list");
	return status;
}

/* The open question @id of @link. Owned; NULL: there is none. */
static json_t *find_question(struct approve_link *link, const char *id, int *ret_result,
			     struct err *why)
{
	json_t *reply = NULL, *found = NULL;
	int r = approve_link_request(link, json_pack("{s:s}", "op", "list"), &reply, why);
	const json_t *questions = json_object_get(reply, "questions");

	for (size_t i = 0; i < json_array_size(questions); i++) {
		json_t *question = json_array_get(questions, i);

		if (strcmp(approve_text_member(question, "id"), id) == 0)
			found = json_incref(question);
	}
	json_decref(reply);
	*ret_result = r;
	return found;
}

/* The exit status of one reply; says what happened to what. */
static int report_answer(const struct approve_answer *answer, const json_t *question,
			 const json_t *reply)
{
	auto_free char *destination = approve_text_destination(question);
	auto_free char *error = approve_text_shown(approve_text_member(reply, "error"));
	auto_free char *words = approve_text_answer(answer);

	if (json_is_true(json_object_get(reply, "ok"))) {
		(void)printf("%s  %s  %s\n", answer->id, destination, words);
		return CLI_OK;
	}
	if (strcmp(approve_text_member(reply, "code"), "finished") == 0)
		return cli_fail(CLI_DENIED, "%s is finished already", answer->id);
	return cli_fail(CLI_ERROR, "%s was not answered: %s", answer->id, error);
}

/* -ENOENT: not a question of this run. */
static int answer_run(int dir_fd, const char *run, const struct approve_answer *answer,
		      int *ret_status, struct err *why)
{
	struct approve_link link;
	json_t *question, *reply = NULL;
	int r = approve_link_open(dir_fd, run, &link, why);

	if (r < 0)
		return r == -ECONNREFUSED ? -ENOENT : r;
	question = find_question(&link, answer->id, &r, why);
	if (r == 0 && !question)
		r = -ENOENT;
	if (r == 0)
		r = approve_link_request(&link, approve_input_request(answer), &reply, why);
	if (r == 0)
		*ret_status = report_answer(answer, question, reply);
	json_decref(question);
	json_decref(reply);
	approve_link_done(&link);
	return r;
}

static int answer_all(const struct approve_answer *answer)
{
	auto_free_list char **runs = NULL;
	struct err why = { 0 };
	int status = CLI_DENIED;

	auto_close int dir_fd = approve_dir_open(&why);
	if (dir_fd < 0 || approve_dir_runs(dir_fd, &runs, &why) < 0)
		return cli_fail(CLI_ERROR, "%s", why.text);
	for (char **run = runs; *run; run++) {
		int r = approve_input_is_of(answer->id, *run)
				? answer_run(dir_fd, *run, answer, &status, &why)
				: -ENOENT;

		if (r == 0)
			return status;
		if (r != -ENOENT)
			return cli_fail(CLI_ERROR, "%s", why.text);
	}
	if (!runs[0])
		return cli_fail(CLI_DENIED, "no such question: no sallyport run is waiting");
	return cli_fail(CLI_DENIED, "no such question: %s is unknown, or finished already",
			answer->id);
}

static int command_answer(int argc, char **argv)
{
	static const struct option known[] = {
		{ "help", no_argument, NULL, OPT_HELP },
		{ "scope", required_argument, NULL, OPT_SCOPE },
		{ 0 },
	};
	bool is_abort = strcmp(argv[0], "abort") == 0;
	auto_free char *name = mem_printf("approve %s", argv[0]);
	struct approve_options options = { 0 };
	struct approve_answer answer = { .op = argv[0] };
	int status = read_options(argc, argv, known, name, &options);

	if (status != 0)
		return status;
	if (options.is_help) {
		(void)printf(help_answer, argv[0], is_abort ? "" : " [--scope SCOPE]",
			     is_abort ? "The connections are refused and their commands ended.\n"
				      : help_scope,
			     argv[0], is_abort ? "" : " --scope session");
		return CLI_OK;
	}
	if (optind + 1 != argc)
		return cli_usage_error(name, CLI_ERROR,
				       optind == argc ? "which question?"
						      : "one question at a time");
	if (!approve_input_is_id(argv[optind]))
		return cli_usage_error(name, CLI_ERROR, "that is no id; one looks like 7f3a-1");
	if (is_abort && options.scope)
		return cli_usage_error(name, CLI_ERROR, "abort has no scope");
	answer.scope = options.scope;
	(void)snprintf(answer.id, sizeof(answer.id), "%s", argv[optind]); /* fits: it is valid */
	return answer_all(&answer);
}

static int command_watch(int argc, char **argv)
{
	static const struct option known[] = {
		{ "help", no_argument, NULL, OPT_HELP },
		{ "json", no_argument, NULL, OPT_JSON },
		{ 0 },
	};
	struct err why = { 0 };
	struct approve_options options = { 0 };
	int status = read_options(argc, argv, known, "approve watch", &options);

	if (status != 0)
		return status;
	if (options.is_help)
		return fputs(help_watch, stdout) < 0 ? CLI_ERROR : CLI_OK;
	if (optind < argc)
		return cli_usage_error("approve watch", CLI_ERROR, "watch takes no words");

	auto_close int dir_fd = approve_dir_open(&why);
	if (dir_fd < 0)
		return cli_fail(CLI_ERROR, "%s", why.text);
	return approve_watch(dir_fd, options.is_json);
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "list", command_list },   { "watch", command_watch },  { "allow", command_answer },
	{ "deny", command_answer }, { "abort", command_answer }, { "reviewer", approve_reviewer },
};

int cli_approve(int argc, char **argv)
{
	if (argc < 2)
		return cli_usage_error("approve", CLI_ERROR,
				       "list, watch, allow, deny, abort or reviewer?");
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return fputs(help, stdout) < 0 ? CLI_ERROR : CLI_OK;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		return commands[i].run(argc - 1, argv + 1);
	}
	return cli_usage_error("approve", CLI_ERROR, "no such subcommand: %s", argv[1]);
}
