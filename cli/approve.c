#include "cli/approve.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "cli/cli.h"

/* Adds the questions of @run to @all. 0 when the run is over, too. */
static int list_run(int dir_fd, const char *run, json_t *all, struct err *why)
{
	struct approve_link link;
	int r = approve_link_open(dir_fd, run, &link, why);

	if (r < 0)
		return r == -ECONNREFUSED || r == -ENOENT ? 0 : r;
	r = approve_link_questions(&link, all, why);
	approve_link_done(&link);
	return r;
}

/* A run that does not answer is named, and the others are listed. */
static int list_all(const char *session, json_t *all)
{
	auto_free_list char **runs = NULL;
	struct err why = { 0 };
	int status = CLI_OK;

	auto_close int dir_fd = approve_dir_open(&why);
	int r = dir_fd < 0 ? -EACCES : approve_dir_runs(dir_fd, session, &runs, &why);

	if (r < 0)
		return approve_dir_fail(r, &why);
	for (char **run = runs; *run; run++) {
		if (list_run(dir_fd, *run, all, &why) < 0)
			status = cli_fail(CLI_ERROR, "%s", why.text);
	}
	return status;
}

static int command_list(int argc, char **argv)
{
	struct approve_options options = { 0 };
	int status =
		approve_options_read(argc, argv, " help json session ", "approve list", &options);

	if (status != 0)
		return status;
	if (options.is_help)
		return approve_help("list") < 0 ? CLI_ERROR : CLI_OK;
	if (optind < argc)
		return cli_usage_error("approve list", CLI_ERROR, "list takes no words");

	json_t *all = json_array();
	status = list_all(options.session, all);
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
	json_t *questions = json_array(), *found = NULL;
	int r = approve_link_questions(link, questions, why);

	for (size_t i = 0; i < json_array_size(questions); i++) {
		json_t *question = json_array_get(questions, i);

		if (strcmp(approve_text_member(question, "id"), id) == 0)
			found = json_incref(question);
	}
	json_decref(questions);
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
	auto_free char *text = approve_text_shown(approve_text_member(reply, "text"));
	const char *code = approve_text_member(reply, "code");

	if (json_is_true(json_object_get(reply, "ok"))) {
		(void)printf("%s  %s  %s\n", answer->id, text[0] ? text : destination, words);
		return CLI_OK;
	}
	if (strcmp(code, "confirm") == 0) {
		auto_free char *command =
			approve_text_command(answer, approve_text_member(question, "typed"));

		return cli_fail(CLI_ERROR, "%s was not answered: %s:\n  %s", answer->id, error,
				command);
	}
	if (strcmp(code, "finished") == 0)
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
	if (r == 0) /* also one that is not there: that it came too late is for the gate's log */
		r = approve_link_request(&link, approve_input_request(answer), &reply, why);
	if (r == 0 && !question && strcmp(approve_text_member(reply, "code"), "finished") == 0)
		r = -ENOENT;
	if (r == 0)
		*ret_status = report_answer(answer, question, reply);
	json_decref(question);
	json_decref(reply);
	approve_link_done(&link);
	return r;
}

static int answer_all(const char *session, const struct approve_answer *answer)
{
	auto_free_list char **runs = NULL;
	struct err why = { 0 };
	int status = CLI_DENIED;

	auto_close int dir_fd = approve_dir_open(&why);
	int r = dir_fd < 0 ? -EACCES : approve_dir_runs(dir_fd, session, &runs, &why);

	if (r < 0)
		return approve_dir_fail(r, &why);
	for (char **run = runs; *run; run++) {
		r = approve_input_is_of(answer->id, *run)
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

static int answer_fill(const char *id, const struct approve_options *options,
		       struct approve_answer *answer, const char *name)
{
	if (!approve_input_is_id(id))
		return cli_usage_error(name, CLI_ERROR, "that is no id; one looks like 7f3a-1");
	approve_options_answer(options, answer);
	answer->is_person = true;
	(void)snprintf(answer->id, sizeof(answer->id), "%s", id); /* fits: it is valid */
	return 0;
}

#define TAKES_ABORT " help session" APPROVE_TAKES_ABORT
#define TAKES_DENY  " help session" APPROVE_TAKES_SCOPE APPROVE_TAKES_DENY
#define TAKES_ALLOW " help session" APPROVE_TAKES_SCOPE APPROVE_TAKES_ALLOW

static int command_answer(int argc, char **argv)
{
	bool is_abort = strcmp(argv[0], "abort") == 0, is_allow = strcmp(argv[0], "allow") == 0;
	auto_free char *name = mem_printf("approve %s", argv[0]);
	struct approve_options options = { 0 };
	struct approve_answer answer = { .op = argv[0] };
	int status = approve_options_read(argc, argv,
					  is_abort   ? TAKES_ABORT
					  : is_allow ? TAKES_ALLOW
						     : TAKES_DENY,
					  name, &options);

	if (status != 0)
		return status;
	if (options.is_help)
		return approve_help(argv[0]) < 0 ? CLI_ERROR : CLI_OK;
	if (optind + 1 != argc)
		return cli_usage_error(name, CLI_ERROR,
				       optind == argc ? "which question?"
						      : "one question at a time");
	status = answer_fill(argv[optind], &options, &answer, name);
	return status != 0 ? status : answer_all(options.session, &answer);
}

static int command_watch(int argc, char **argv)
{
	struct err why = { 0 };
	struct approve_options options = { 0 };
	int status = approve_options_read(argc, argv, " help json plain session ", "approve watch",
					  &options);

	if (status != 0)
		return status;
	if (options.is_help)
		return approve_help("watch") < 0 ? CLI_ERROR : CLI_OK;
	if (optind < argc)
		return cli_usage_error("approve watch", CLI_ERROR, "watch takes no words");

	auto_close int dir_fd = approve_dir_open(&why);
	if (dir_fd < 0)
		return cli_fail(CLI_ERROR, "%s", why.text);
	return approve_watch(dir_fd, &options);
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "list", command_list },
	{ "watch", command_watch },
	{ "allow", command_answer },
	{ "deny", command_answer },
	{ "abort", command_answer },
	{ "grants", approve_ledger_grants },
	{ "revoke", approve_ledger_revoke },
	{ "undo", approve_ledger_undo },
	{ "live", approve_ledger_live },
	{ "cut", approve_ledger_cut },
	{ "bundle", cli_approve_bundle },
	{ "reviewer", approve_reviewer },
	{ "popup", approve_popup }, /* for gates, not for people */
};

/* `--session NAME` in front of the step is as good as behind it. */
static void move_session(int argc, char **argv)
{
	bool is_one = argc > 2 && strncmp(argv[1], "--session=", 10) == 0;
	bool is_two = argc > 3 && strcmp(argv[1], "--session") == 0;
	int step = is_one ? 2 : is_two ? 3 : 1;
	char *moved = argv[step];

	for (; step > 1; step--)
		argv[step] = argv[step - 1];
	argv[1] = moved;
}

int cli_approve(int argc, char **argv)
{
	if (argc < 2)
		return cli_usage_error("approve", CLI_ERROR,
				       "list, watch, allow, deny, abort, grants, revoke, undo, "
				       "live, cut, bundle or reviewer?");
	move_session(argc, argv);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return approve_help("") < 0 ? CLI_ERROR : CLI_OK;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		return commands[i].run(argc - 1, argv + 1);
	}
	return cli_usage_error("approve", CLI_ERROR, "no such subcommand: %s", argv[1]);
}
