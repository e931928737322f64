#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/audit/selection.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "gateway/gateway.h"
#include "gateway/gateway_tools.h"

/* The result of verifying one file. */
struct audited {
	const char *path;
	int status; /* enum cli_exit */
	uint64_t records;
	struct err words; /* the error message, or a note */
};

static const char *state_of(const struct audited *audited)
{
	return audited->status == CLI_OK       ? "unbroken"
	       : audited->status == CLI_DENIED ? "broken"
					       : "unreadable";
}

/* A path need not be UTF-8, but a JSON string must be. */
static void print_json(const struct audited *audited)
{
	auto_free char *path = text_visible_dup(audited->path);
	auto_free char *words = text_visible_dup(audited->words.text);
	json_t *object = json_pack("{s:s, s:s}", "file", path, "state", state_of(audited));

	if (audited->status == CLI_OK)
		(void)json_object_set_new(object, "records",
					  json_integer((json_int_t)audited->records));
	if (words[0] != '\0')
		(void)json_object_set_new(object, audited->status == CLI_OK ? "note" : "error",
					  json_string(words));
	(void)json_dumpf(object, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
	(void)fputc('\n', stdout);
	json_decref(object);
}

static void print_text(const struct audited *audited)
{
	auto_free char *path = text_visible_dup(audited->path);
	auto_free char *words = text_visible_dup(audited->words.text);

	if (audited->status != CLI_OK) {
		(void)cli_fail(0, "%s", words);
		return;
	}
	(void)printf("%s: unbroken, %" PRIu64 " record%s\n", path, audited->records,
		     audited->records == 1 ? "" : "s");
	if (words[0] != '\0')
		(void)printf("%s: note: %s\n", path, words);
}

static int audit_file(const char *path, bool is_json)
{
	struct audited audited = { .path = path };
	auto_free char *dir = cli_audit_dir();
	int r = gateway_audit_verify(path, dir, &audited.records, &audited.words);

	audited.status = r == 0 ? CLI_OK : r == -EBADMSG ? CLI_DENIED : CLI_ERROR;
	if (is_json)
		print_json(&audited);
	else
		print_text(&audited);
	return audited.status;
}

/* The more serious status of the two: a broken file counts for more than an unreadable one. */
static int worse(int left, int right)
{
	if (left == CLI_DENIED || right == CLI_DENIED)
		return CLI_DENIED;
	return left != CLI_OK ? left : right;
}

int cli_audit_verify(const struct options *options)
{
	bool is_json = options_has(options, OPT_JSON);
	int status = CLI_OK;

	for (char **path = options->operands; *path; path++)
		status = worse(status, audit_file(*path, is_json));
	return status;
}

static int merge_file(const char *path)
{
	auto_free char *dir = cli_audit_dir(), *shown = text_visible_dup(path);
	struct err why = { 0 };
	int r = dir && access(path, F_OK) < 0 ? err_errno(&why, errno, "cannot open %s", path) : 0;

	if (r == 0 && dir)
		r = gateway_audit_merge(path, dir, &why);
	if (r == 0) {
		(void)printf("%s: merged\n", shown);
		return CLI_OK;
	}
	auto_free char *words = text_visible_dup(why.text);

	return cli_fail(r == -EBADMSG ? CLI_DENIED : CLI_ERROR, "%s", words);
}

int cli_audit_merge(const struct options *options)
{
	int status = CLI_OK;

	for (char **path = options->operands; *path; path++)
		status = worse(status, merge_file(*path));
	return status;
}

static int prune(const struct selection *selection)
{
	auto_free char *dir = cli_audit_dir(), *shown = text_visible_dup(selection->path);
	char time[SELECTION_TIME_MAX];
	struct err why = { 0 };
	uint64_t removed;
	int r = gateway_audit_prune(selection->path, dir, selection->until_us, &removed, &why);

	if (r < 0) {
		auto_free char *words = text_visible_dup(why.text);

		return cli_fail(r == -EBADMSG ? CLI_DENIED : CLI_ERROR, "%s", words);
	}
	(void)printf("%s: removed %" PRIu64 " record%s from before %s\n", shown, removed,
		     removed == 1 ? "" : "s", selection_local(selection->until_us, time));
	return CLI_OK;
}

int cli_audit_prune(const struct options *options)
{
	struct selection selection;
	int status = selection_take(&selection, options, SELECTION_ALL);

	if (status == CLI_OK && !options_has(options, OPT_UNTIL))
		status = options_wrong(options->command, "say with --until up to what time");
	if (status == CLI_OK)
		status = prune(&selection);
	selection_done(&selection);
	return status;
}
