/* `sallyport approve grants`, `revoke`, `undo`, `live` and `cut`. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/approve.h"
#include "cli/cli.h"

#define LEDGER_MARK      "-g" /* between a run and the number of its grant */
#define LEDGER_LIVE_MARK "-c" /* and of its connection */

/* A request to one run. -ENOENT: it is over. */
static int ledger_ask(int dir_fd, const char *run, json_t *request, json_t **ret_reply,
		      struct err *why)
{
	struct approve_link link;
	int r = approve_link_open(dir_fd, run, &link, why);

	if (r < 0) {
		json_decref(request);
		return r == -ECONNREFUSED ? -ENOENT : r;
	}
	r = approve_link_request(&link, request, ret_reply, why);
	approve_link_done(&link);
	return r;
}

static int grants_of_run(int dir_fd, const char *run, json_t *all, struct err *why)
{
	json_t *reply = NULL;
	int r = ledger_ask(dir_fd, run, json_pack("{s:s}", "op", "grants"), &reply, why);
	json_t *grants = json_object_get(reply, "grants"), *grant;
	size_t i;

	if (r == 0 && !json_is_array(grants))
		r = err_set(why, -EPROTO, "the gate of run %s sent no list", run);
	json_array_foreach(grants, i, grant)
	{
		auto_free char *id =
			mem_printf("%s" LEDGER_MARK "%lld", run,
				   (long long)json_integer_value(json_object_get(grant, "id")));

		(void)json_object_set_new(grant, "id", json_string(id)); /* OOM only */
		(void)json_object_set_new(grant, "run", json_string(run));
		(void)json_array_append(all, grant);
	}
	json_decref(reply);
	return r == -ENOENT ? 0 : r;
}

static long long grant_number(const json_t *grant, const char *name)
{
	return (long long)json_integer_value(json_object_get(grant, name));
}

static void grants_print(const json_t *grant)
{
	auto_free char *id = approve_text_shown(approve_text_member(grant, "id"));
	auto_free char *text = approve_text_shown(approve_text_member(grant, "text"));
	auto_free char *by = approve_text_shown(approve_text_member(grant, "by"));
	auto_free char *from = approve_text_shown(approve_text_member(grant, "from"));
	auto_free char *scope = approve_text_shown(approve_text_member(grant, "scope"));
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

/* One of the lists. */
struct ledger_kind {
	const char *name, *usage, *none;
	int (*of_run)(int dir_fd, const char *run, json_t *all, struct err *why);
	void (*print)(const json_t *entry);
};

static int ledger_list(int argc, char **argv, const struct ledger_kind *kind)
{
	struct approve_options options = { 0 };
	auto_free_list char **runs = NULL;
	struct err why = { 0 };
	auto_free char *name = mem_printf("approve %s", kind->name);
	int status = approve_options_read(argc, argv, " help json session ", name, &options);

	if (status != 0)
		return status;
	if (options.is_help)
		return approve_help(kind->name) < 0 ? CLI_ERROR : CLI_OK;
	if (optind < argc)
		return cli_usage_error(name, CLI_ERROR, "%s", kind->usage);
	auto_close int dir_fd = approve_dir_open(&why);
	json_t *all = json_array();

	int r = dir_fd < 0 ? -EACCES : approve_dir_runs(dir_fd, options.session, &runs, &why);

	if (r < 0)
		status = approve_dir_fail(r, &why);
	for (char **run = runs; run && *run; run++) {
		if (kind->of_run(dir_fd, *run, all, &why) < 0)
			status = cli_fail(CLI_ERROR, "%s", why.text);
	}
	if (options.is_json) {
		(void)json_dumpf(all, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
		(void)putchar('\n');
	} else if (json_array_size(all) == 0 && status == CLI_OK) {
		(void)puts(kind->none);
	}
	for (size_t i = 0; !options.is_json && i < json_array_size(all); i++)
		kind->print(json_array_get(all, i));
	json_decref(all);
	return fflush(stdout) == EOF ? cli_fail(CLI_ERROR, "cannot write the list") : status;
}

int approve_ledger_grants(int argc, char **argv)
{
	return ledger_list(argc, argv,
			   &(const struct ledger_kind){
				   .name = "grants",
				   .usage = "grants takes no words",
				   .none = "no answer is remembered",
				   .of_run = grants_of_run,
				   .print = grants_print,
			   });
}

static int live_of_run(int dir_fd, const char *run, json_t *all, struct err *why)
{
	json_t *reply = NULL;
	int r = ledger_ask(dir_fd, run, json_pack("{s:s}", "op", "live"), &reply, why);
	json_t *list = json_object_get(reply, "live"), *live;
	size_t i;

	if (r == 0 && !json_is_array(list))
		r = err_set(why, -EPROTO, "the gate of run %s sent no list", run);
	json_array_foreach(list, i, live)
	{
		auto_free char *id =
			mem_printf("%s" LEDGER_LIVE_MARK "%lld", run, grant_number(live, "id"));
		long long grant = grant_number(live, "grant");
		auto_free char *by = mem_printf("%s" LEDGER_MARK "%lld", run, grant);

		(void)json_object_set_new(live, "id", json_string(id)); /* OOM only */
		(void)json_object_set_new(live, "run", json_string(run));
		(void)json_object_set_new(live, "grant", grant > 0 ? json_string(by) : json_null());
		(void)json_array_append(all, live);
	}
	json_decref(reply);
	return r == -ENOENT ? 0 : r;
}

static void live_print(const json_t *live)
{
	auto_free char *id = approve_text_shown(approve_text_member(live, "id"));
	auto_free char *to = approve_text_destination(live);
	auto_free char *grant = approve_text_shown(approve_text_member(live, "grant"));
	auto_free char *rule = approve_text_shown(approve_text_member(live, "rule"));

	(void)printf("%s  %s\n  %-9s %s\n  %-9s command %lld, open for %lld s\n", id, to, "by",
		     grant[0]  ? grant
		     : rule[0] ? rule
			       : "an answer for once",
		     "of", grant_number(live, "exec"), grant_number(live, "age_s"));
}

int approve_ledger_live(int argc, char **argv)
{
	return ledger_list(argc, argv,
			   &(const struct ledger_kind){
				   .name = "live",
				   .usage = "live takes no words",
				   .none = "no connection is open",
				   .of_run = live_of_run,
				   .print = live_print,
			   });
}

/* The exit status of one reply. @what: that was to be taken back. */
static int ledger_report(const char *what, const json_t *reply)
{
	auto_free char *error = approve_text_shown(approve_text_member(reply, "error"));
	auto_free char *text = approve_text_shown(approve_text_member(reply, "text"));
	long long cut = grant_number(reply, "cut");

	if (json_is_true(json_object_get(reply, "ok"))) {
		(void)printf("%s  taken back%s%s, %lld connection%s cut\n", what,
			     text[0] ? ": " : "", text, cut, cut == 1 ? "" : "s");
		return CLI_OK;
	}
	if (strcmp(approve_text_member(reply, "code"), "unknown") == 0)
		return cli_fail(CLI_DENIED, "%s: %s", what, error);
	return cli_fail(CLI_ERROR, "%s was not taken back: %s", what, error);
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

int approve_ledger_revoke(int argc, char **argv)
{
	struct approve_options options = { 0 };
	struct err why = { 0 };
	uint64_t number;
	int status = approve_options_read(argc, argv, " help session ", "approve revoke", &options);

	if (status != 0)
		return status;
	if (options.is_help)
		return approve_help("revoke") < 0 ? CLI_ERROR : CLI_OK;
	if (optind + 1 != argc)
		return cli_usage_error("approve revoke", CLI_ERROR, "which answer?");
	const char *mark = strstr(argv[optind], LEDGER_MARK);
	auto_free char *run = mem_strndup(argv[optind], mark ? (size_t)(mark - argv[optind]) : 0);

	if (!mark || !approve_input_is_run(run) ||
	    text_to_u64(mark + strlen(LEDGER_MARK), strlen(mark + strlen(LEDGER_MARK)), INT64_MAX,
			&number) < 0)
		return cli_usage_error("approve revoke", CLI_ERROR,
				       "that names no answer; one looks like 7f3a-g1");
	auto_close int dir_fd = approve_dir_open(&why);

	if (dir_fd < 0)
		return cli_fail(CLI_ERROR, "%s", why.text);
	status = approve_dir_check(dir_fd, options.session, run, argv[optind]);
	if (status != CLI_OK)
		return status;
	return ledger_take_back(
		dir_fd, run, json_pack("{s:s, s:I}", "op", "revoke", "grant", (json_int_t)number),
		argv[optind]);
}

int approve_ledger_undo(int argc, char **argv)
{
	struct approve_options options = { 0 };
	auto_free_list char **runs = NULL;
	struct err why = { 0 };
	int status = approve_options_read(argc, argv, " help session ", "approve undo", &options);

	if (status != 0)
		return status;
	if (options.is_help)
		return approve_help("undo") < 0 ? CLI_ERROR : CLI_OK;
	if (optind + 1 < argc || (optind < argc && !approve_input_is_run(argv[optind])))
		return cli_usage_error("approve undo", CLI_ERROR, "undo takes one run, or none");
	auto_close int dir_fd = approve_dir_open(&why);

	int r = dir_fd < 0 ? -EACCES : approve_dir_runs(dir_fd, options.session, &runs, &why);

	if (r < 0)
		return approve_dir_fail(r, &why);
	const char *run = optind < argc ? argv[optind] : runs[0];

	if (!run)
		return cli_fail(CLI_DENIED, "there is no sallyport run");
	if (optind == argc && runs[1])
		return cli_fail(CLI_ERROR,
				"there is more than one run: say which, such as "
				"sallyport approve undo %s",
				run);
	status = approve_dir_check(dir_fd, options.session, run, run);
	if (status != CLI_OK)
		return status;
	return ledger_take_back(dir_fd, run, json_pack("{s:s}", "op", "undo"), run);
}

int approve_ledger_cut(int argc, char **argv)
{
	struct approve_options options = { 0 };
	struct err why = { 0 };
	json_t *reply = NULL;
	uint64_t number;
	int status = approve_options_read(argc, argv, " help session ", "approve cut", &options);

	if (status != 0)
		return status;
	if (options.is_help)
		return approve_help("cut") < 0 ? CLI_ERROR : CLI_OK;
	if (optind + 1 != argc)
		return cli_usage_error("approve cut", CLI_ERROR, "which connection?");
	const char *id = argv[optind], *mark = strstr(id, LEDGER_LIVE_MARK);
	const char *digits = mark ? mark + strlen(LEDGER_LIVE_MARK) : "";
	auto_free char *run = mem_strndup(id, mark ? (size_t)(mark - id) : 0);

	if (!approve_input_is_run(run) ||
	    text_to_u64(digits, strlen(digits), INT64_MAX, &number) < 0)
		return cli_usage_error("approve cut", CLI_ERROR,
				       "that names no connection; one looks like 7f3a-c1");
	auto_close int dir_fd = approve_dir_open(&why);

	if (dir_fd < 0)
		return cli_fail(CLI_ERROR, "%s", why.text);
	status = approve_dir_check(dir_fd, options.session, run, id);
	if (status != CLI_OK)
		return status;
	int r = ledger_ask(dir_fd, run,
			   json_pack("{s:s, s:I}", "op", "cut", "live", (json_int_t)number), &reply,
			   &why);
	auto_free char *error = approve_text_shown(approve_text_member(reply, "error"));

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
