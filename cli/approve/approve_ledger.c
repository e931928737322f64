/* `sallyport approve list`, `grants`, `live`, `revoke`, `undo` and `cut`. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/approve/approve.h"
#include "cli/cli.h"
#include "cli/options.h"

#define LEDGER_MARK      "-g" /* between a run and the number of its grant */
#define LEDGER_LIVE_MARK "-c" /* between a run and the number of its connection */

/* Sends a request to one run. -ENOENT: the run has ended. */
static int ledger_ask(int dir_fd, const char *run, json_t *request, json_t **ret_reply,
		      struct err *why)
{
	struct approve_link link;
	int r = approve_link_open(dir_fd, run, APPROVE_WAIT_MS, &link, why);

	if (r < 0) {
		json_decref(request);
		return r == -ECONNREFUSED ? -ENOENT : r;
	}
	r = approve_link_request(&link, request, ret_reply, why);
	approve_link_done(&link);
	return r;
}

static long long grant_number(const json_t *grant, const char *name)
{
	return (long long)json_integer_value(json_object_get(grant, name));
}

static void grants_print(const json_t *grant)
{
	auto_free char *id = text_visible_once(approve_text_member(grant, "id"));
	auto_free char *text = text_visible_once(approve_text_member(grant, "text"));
	auto_free char *by = text_visible_once(approve_text_member(grant, "by"));
	auto_free char *from = text_visible_once(approve_text_member(grant, "from"));
	auto_free char *scope = text_visible_once(approve_text_member(grant, "scope"));
	bool is_allow = strcmp(approve_text_member(grant, "action"), "allow") == 0;
	long long until = grant_number(grant, "until"), now = (long long)time(NULL);
	char up[32], down[32];

	text_bytes(up, sizeof(up), (uint64_t)grant_number(grant, "bytes_up"));
	text_bytes(down, sizeof(down), (uint64_t)grant_number(grant, "bytes_down"));
	(void)printf("%s  %s %s\n  %-9s %s, by %s%s%s\n", id, is_allow ? "allow" : "deny", text,
		     "scope", scope, by, from[0] ? ", copied from " : "", from);
	if (until > 0)
		(void)printf("  %-9s %lld s left\n", "until", until > now ? until - now : 0);
	(void)printf("  %-9s %lld connections, %lld open, %s up, %s down\n", "moved",
		     grant_number(grant, "connections"), grant_number(grant, "live"), up, down);
}

static void live_print(const json_t *live)
{
	auto_free char *id = text_visible_once(approve_text_member(live, "id"));
	auto_free char *to = approve_text_destination(live);
	auto_free char *grant = text_visible_once(approve_text_member(live, "grant"));
	auto_free char *rule = text_visible_once(approve_text_member(live, "rule"));

	(void)printf("%s  %s\n  %-9s %s\n  %-9s command %lld, open for %lld s\n", id, to, "by",
		     grant[0]  ? grant
		     : rule[0] ? rule
			       : "an answer for once",
		     "of", grant_number(live, "exec"), grant_number(live, "age_s"));
}

static void question_print(const json_t *question)
{
	approve_text_question(stdout, question);
}

/* One kind of list. @op: the request, and the member of its reply; NULL: the questions, page by
 * page. */
struct ledger_kind {
	const char *op, *mark, *none;
	void (*print)(const json_t *entry);
};
static const struct ledger_kind questions = { NULL, NULL, "no question waits for an answer",
					      question_print };
static const struct ledger_kind grants = { "grants", LEDGER_MARK, "no answer is remembered",
					   grants_print };
static const struct ledger_kind lives = { "live", LEDGER_LIVE_MARK, "no connection is open",
					  live_print };

/* Sets the name that a person uses: "RUN-g7". */
static void ledger_name(json_t *entry, const char *member, const char *run, const char *mark)
{
	auto_free char *name = mem_printf("%s%s%lld", run, mark, grant_number(entry, member));

	(void)json_object_set_new(entry, member, json_string(name)); /* fails only without memory */
}

static int ledger_entries(struct approve_link *link, const char *run,
			  const struct ledger_kind *kind, json_t *all, struct err *why)
{
	json_t *reply = NULL, *entry;
	int r = approve_link_request(link, json_pack("{s:s}", "op", kind->op), &reply, why);
	json_t *list = json_object_get(reply, kind->op);
	size_t i;

	if (r == 0 && !json_is_array(list))
		r = err_set(why, -EPROTO, "the gate of run %s sent a malformed list", run);
	json_array_foreach(list, i, entry)
	{
		ledger_name(entry, "id", run, kind->mark);
		(void)json_object_set_new(entry, "run",
					  json_string(run)); /* fails only without memory */
		if (grant_number(entry, "grant") > 0)        /* of a connection */
			ledger_name(entry, "grant", run, LEDGER_MARK);
		else if (json_object_get(entry, "grant"))
			(void)json_object_set_new(entry, "grant", json_null());
		(void)json_array_append(all, entry);
	}
	json_decref(reply);
	return r;
}

/* Adds the entries of @run to @all. Returns 0 also if the run has ended. */
static int ledger_run(int dir_fd, const char *run, const struct ledger_kind *kind, json_t *all,
		      struct err *why)
{
	struct approve_link link;
	int r = approve_link_open(dir_fd, run, APPROVE_WAIT_MS, &link, why);

	if (r < 0)
		return r == -ECONNREFUSED || r == -ENOENT ? 0 : r;
	r = kind->op ? ledger_entries(&link, run, kind, all, why)
		     : approve_link_questions(&link, all, why);
	approve_link_done(&link);
	return r;
}

/* A run that does not answer is named, and the others are listed. */
static int ledger_collect(const char *session, const struct ledger_kind *kind, json_t *all)
{
	auto_free_list char **runs = NULL;
	struct err why = { 0 };
	int status = CLI_OK;

	auto_close int dir_fd = approve_dir_open(&why);
	int r = dir_fd < 0 ? -EACCES : approve_dir_runs(dir_fd, session, &runs, &why);

	if (r < 0)
		return approve_dir_fail(r, &why);
	for (char **run = runs; *run; run++) {
		if (ledger_run(dir_fd, *run, kind, all, &why) < 0)
			status = cli_fail(CLI_ERROR, "%s", why.text);
	}
	return status;
}

static int ledger_list(const struct options *options, const struct ledger_kind *kind)
{
	bool is_json = options_has(options, OPT_JSON);
	json_t *all = json_array();
	int status = ledger_collect(options_get(options, OPT_OF_SESSION), kind, all);

	if (is_json) {
		(void)json_dumpf(all, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
		(void)putchar('\n');
	} else if (json_array_size(all) == 0 && status == CLI_OK) {
		(void)puts(kind->none);
	}
	for (size_t i = 0; !is_json && i < json_array_size(all); i++)
		kind->print(json_array_get(all, i));
	json_decref(all);
	return status;
}

int cli_approve_list(const struct options *options)
{
	return ledger_list(options, &questions);
}

int cli_approve_grants(const struct options *options)
{
	return ledger_list(options, &grants);
}

int cli_approve_live(const struct options *options)
{
	return ledger_list(options, &lives);
}

char **cli_approve_ids(void)
{
	json_t *all = json_array();
	char **ids = NULL;

	(void)ledger_collect(NULL, &questions, all); /* it prints errors itself */
	for (size_t i = 0; i < json_array_size(all); i++)
		mem_append_list(&ids,
				mem_strdup(approve_text_member(json_array_get(all, i), "id")));
	json_decref(all);
	return ids;
}

/* Prints the result of one reply; returns the exit status. @what: the grant to revoke. */
static int ledger_report(const char *what, const json_t *reply)
{
	auto_free char *error = text_visible_once(approve_text_member(reply, "error"));
	auto_free char *text = text_visible_once(approve_text_member(reply, "text"));
	long long cut = grant_number(reply, "cut");

	if (json_is_true(json_object_get(reply, "ok"))) {
		(void)printf("%s  revoked%s%s, %lld connection%s cut\n", what, text[0] ? ": " : "",
			     text, cut, cut == 1 ? "" : "s");
		return CLI_OK;
	}
	if (strcmp(approve_text_member(reply, "code"), "unknown") == 0)
		return cli_fail(CLI_DENIED, "%s: %s", what, error);
	return cli_fail(CLI_ERROR, "%s was not revoked: %s", what, error);
}

static int ledger_take_back(int dir_fd, const char *run, json_t *request, const char *what)
{
	json_t *reply = NULL;
	struct err why = { 0 };
	int r = ledger_ask(dir_fd, run, request, &reply, &why);
	int status;

	if (r == -ENOENT)
		status = cli_fail(CLI_DENIED, "%s: there is no such run", what);
	else if (r < 0)
		status = cli_fail(CLI_ERROR, "%s", why.text);
	else
		status = ledger_report(what, reply);
	json_decref(reply);
	return status;
}

/* Splits @id into RUN, @mark and a number. -EINVAL: it does not have this form. */
static int ledger_split(const char *id, const char *mark, char **ret_run, json_int_t *ret_number)
{
	const char *at = strstr(id, mark);
	const char *digits = at ? at + strlen(mark) : "";
	auto_free char *run = mem_strndup(id, at ? (size_t)(at - id) : 0);
	uint64_t number;

	if (!approve_input_is_run(run) ||
	    text_to_u64(digits, strlen(digits), INT64_MAX, &number) < 0)
		return -EINVAL;
	*ret_run = take(run);
	*ret_number = (json_int_t)number;
	return 0;
}

/* Opens the folder, if @what of @run belongs to the session that was named: a descriptor, or -1
 * with the exit status. */
static int ledger_open(const struct options *options, const char *run, const char *what,
		       int *ret_status)
{
	struct err why = { 0 };
	auto_close int dir_fd = approve_dir_open(&why);

	*ret_status = dir_fd < 0 ? cli_fail(CLI_ERROR, "%s", why.text)
				 : approve_dir_check(dir_fd, options_get(options, OPT_OF_SESSION),
						     run, what);
	return *ret_status == CLI_OK ? fd_take(&dir_fd) : -1;
}

int cli_approve_revoke(const struct options *options)
{
	const char *id = options->operands[0];
	auto_free char *run = NULL;
	json_int_t number;
	int status;

	if (ledger_split(id, LEDGER_MARK, &run, &number) < 0)
		return options_wrong(options->command,
				     "`%s` is not the ID of a remembered answer (example: 7f3a-g1)",
				     id);
	auto_close int dir_fd = ledger_open(options, run, id, &status);

	if (dir_fd < 0)
		return status;
	return ledger_take_back(dir_fd, run,
				json_pack("{s:s, s:I}", "op", "revoke", "grant", number), id);
}

int cli_approve_undo(const struct options *options)
{
	const char *session = options_get(options, OPT_OF_SESSION), *named = options->operands[0];
	auto_free_list char **runs = NULL;
	struct err why = { 0 };

	if (named && !approve_input_is_run(named))
		return options_wrong(options->command,
				     "`%s` is not the ID of a run (example: 7f3a)", named);
	auto_close int dir_fd = approve_dir_open(&why);

	int r = dir_fd < 0 ? -EACCES : approve_dir_runs(dir_fd, session, &runs, &why);

	if (r < 0)
		return approve_dir_fail(r, &why);
	const char *run = named ? named : runs[0];

	if (!run)
		return cli_fail(CLI_DENIED, "no sallyport run is active");
	if (!named && runs[1])
		return cli_fail(
			CLI_ERROR,
			"more than one run is active; name one, as in `sallyport approve undo %s`",
			run);
	int status = approve_dir_check(dir_fd, session, run, run);

	if (status != CLI_OK)
		return status;
	return ledger_take_back(dir_fd, run, json_pack("{s:s}", "op", "undo"), run);
}

int cli_approve_cut(const struct options *options)
{
	const char *id = options->operands[0];
	auto_free char *run = NULL;
	struct err why = { 0 };
	json_t *reply = NULL;
	json_int_t number;
	int status;

	if (ledger_split(id, LEDGER_LIVE_MARK, &run, &number) < 0)
		return options_wrong(options->command,
				     "`%s` is not the ID of a connection (example: 7f3a-c1)", id);
	auto_close int dir_fd = ledger_open(options, run, id, &status);

	if (dir_fd < 0)
		return status;
	int r = ledger_ask(dir_fd, run, json_pack("{s:s, s:I}", "op", "cut", "live", number),
			   &reply, &why);
	auto_free char *error = text_visible_once(approve_text_member(reply, "error"));

	if (r == -ENOENT)
		status = cli_fail(CLI_DENIED, "%s: there is no such run", id);
	else if (r < 0)
		status = cli_fail(CLI_ERROR, "%s", why.text);
	else if (json_is_true(json_object_get(reply, "ok")))
		(void)printf("%s  cut\n", id);
	else if (strcmp(approve_text_member(reply, "code"), "unknown") == 0)
		status = cli_fail(CLI_DENIED, "%s: %s", id, error);
	else
		status = cli_fail(CLI_ERROR, "%s was not cut: %s", id, error);
	json_decref(reply);
	return status;
}
