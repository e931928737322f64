#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "gateway/gateway.h"
#include "gateway/gateway_tools.h"

static const char help[] =
	"usage: sallyport audit verify [--json] FILE...\n"
	"       sallyport audit merge FILE...\n"
	"\n"
	"verify "
	"reads each audit log from its first record to its last and checks the chain of hashes "
	"and\n"
	"FILE.head: an edit, a deletion, an insertion, a reorder, a cut tail and a half-written "
	"line\n"
	"are named by FILE:LINE.\n"
	"\n"
	"merge puts what runs that were killed left behind into FILE; the next run does so, too.\n"
	"\n"
	"  --json   one JSON object per file on stdout\n"
	"\n"
	"Exit status: 0 unbroken, 1 not, 2 usage, 3 a file cannot be read (and none is broken).\n"
	"\n"
	"  sallyport audit verify ~/.local/state/sallyport/audit.jsonl\n";

enum { OPT_JSON = 1, OPT_HELP };

/* What became of one file. */
struct audited {
	const char *path;
	int status; /* enum cli_exit */
	uint64_t records;
	struct err words; /* the error, or a note */
};

static const char *state_of(const struct audited *audited)
{
	return audited->status == CLI_OK       ? "unbroken"
	       : audited->status == CLI_DENIED ? "broken"
					       : "unreadable";
}

/* Paths need not be UTF-8, and JSON has to be. */
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

/* What is broken weighs more than what cannot be read. */
static int worse(int left, int right)
{
	if (left == CLI_DENIED || right == CLI_DENIED)
		return CLI_DENIED;
	return left != CLI_OK ? left : right;
}

static int verify(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, OPT_JSON },
		{ "help", no_argument, NULL, OPT_HELP },
		{ 0 },
	};
	bool is_json = false;
	int option, status = CLI_OK;

	optind = 0; /* getopt_long(3): start afresh */
	opterr = 0;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == OPT_HELP) {
			(void)fputs(help, stdout);
			return CLI_OK;
		}
		if (option != OPT_JSON)
			return cli_usage_error("audit", CLI_USAGE, "unknown option %s",
					       argv[optind - 1]);
		is_json = true;
	}
	if (optind == argc)
		return cli_usage_error("audit", CLI_USAGE, "which FILE?");
	for (int i = optind; i < argc; i++)
		status = worse(status, audit_file(argv[i], is_json));
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

static int merge(int argc, char **argv)
{
	int status = CLI_OK, i = 1;

	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		(void)fputs(help, stdout);
		return CLI_OK;
	}
	if (argc > 1 && strcmp(argv[1], "--") == 0)
		i++;
	else if (argc > 1 && argv[1][0] == '-')
		return cli_usage_error("audit", CLI_USAGE, "unknown option %s", argv[1]);
	if (i == argc)
		return cli_usage_error("audit", CLI_USAGE, "which FILE?");
	for (; i < argc; i++)
		status = worse(status, merge_file(argv[i]));
	return status;
}

int cli_audit(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "verify") == 0)
		return verify(argc - 1, argv + 1);
	if (strcmp(what, "merge") == 0)
		return merge(argc - 1, argv + 1);
	if (strcmp(what, "--help") == 0 || strcmp(what, "-h") == 0) {
		(void)fputs(help, stdout);
		return CLI_OK;
	}
	return cli_usage_error("audit", CLI_USAGE,
			       what[0] ? "unknown subcommand %s" : "verify what?%s", what);
}
