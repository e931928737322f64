/* `sallyport approve allow`, `deny`, `abort` and `watch`. */
#include "cli/approve/approve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"

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

/* Prints the result of one reply; returns the exit status. */
static int report_answer(const struct approve_answer *answer, const json_t *question,
			 const json_t *reply)
{
	auto_free char *destination = approve_text_destination(question);
	auto_free char *error = text_visible_once(approve_text_member(reply, "error"));
	auto_free char *words = approve_text_answer(answer);
	auto_free char *text = text_visible_once(approve_text_member(reply, "text"));
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
		return cli_fail(CLI_DENIED, "%s has been answered or withdrawn", answer->id);
	return cli_fail(CLI_ERROR, "%s was not answered: %s", answer->id, error);
}

/* -ENOENT: not a question of this run. */
static int answer_run(int dir_fd, const char *run, const struct approve_answer *answer,
		      int *ret_status, struct err *why)
{
	struct approve_link link;
	json_t *question, *reply = NULL;
	int r = approve_link_open(dir_fd, run, APPROVE_WAIT_MS, &link, why);

	if (r < 0)
		return r == -ECONNREFUSED ? -ENOENT : r;
	question = find_question(&link, answer->id, &r, why);
	if (r == 0) /* sent also if it is not open: the gate logs an answer that came too late */
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
		return cli_fail(CLI_DENIED, "no such question: no run has an open question");
	return cli_fail(CLI_DENIED, "no such question: %s is unknown, answered or withdrawn",
			answer->id);
}

int cli_approve_answer(const struct options *options)
{
	static const char *const ops[CLI_COMMANDS] = {
		[CLI_APPROVE_ALLOW] = "allow",
		[CLI_APPROVE_DENY] = "deny",
		[CLI_APPROVE_ABORT] = "abort",
	};
	struct approve_answer answer = { .op = ops[options->command], .is_person = true };
	const char *id = options->operands[0];
	struct err why = { 0 };

	if (!approve_input_is_id(id))
		return options_wrong(options->command,
				     "`%s` is not the ID of a question (example: 7f3a-1)", id);
	if (approve_options_answer(options, &answer, &why) < 0 ||
	    approve_options_scope(options, answer.scope, &why) < 0)
		return options_wrong(options->command, "%s", why.text);
	(void)snprintf(answer.id, sizeof(answer.id), "%s", id); /* fits, because it is valid */
	return answer_all(options_get(options, OPT_OF_SESSION), &answer);
}

int cli_approve_watch(const struct options *options)
{
	struct err why = { 0 };

	auto_close int dir_fd = approve_dir_open(&why);
	if (dir_fd < 0)
		return cli_fail(CLI_ERROR, "%s", why.text);
	return approve_watch(dir_fd, options);
}
