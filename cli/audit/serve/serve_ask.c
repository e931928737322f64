/* Answers one question of the page: a process runs the command that a person would type, and its
 * output is the answer. So the page cannot say other than the command does. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/process/aside.h"
#include "cli/audit/serve/serve.h"
#include "cli/cli.h"
#include "cli/options.h"

#define ASK_MS        120000
#define ASK_MAX_BYTES (16U << 20)
#define ASK_WORDS_MAX 16
#define ASK_WORD_MAX  512
#define TOO_LARGE     "the answer is too large; choose fewer records"

/* What is asked, and by which command. */
static const struct ask_kind {
	const char *name;
	enum cli_command command;
	options_run_fn run;
	const char *form;  /* an option; NULL: none */
	bool is_of_record; /* takes the id of a record, and no option */
	bool is_of_log;    /* takes the log, and no option */
} kinds[] = {
	{ "query", CLI_AUDIT_QUERY, cli_audit_query, "--csv", false, false },
	{ "report", CLI_AUDIT_REPORT, cli_audit_report, "--json", false, false },
	{ "summary", CLI_AUDIT_SUMMARY, cli_audit_summary, "--json", false, false },
	{ "show", CLI_AUDIT_SHOW, cli_audit_show, "--json", true, false },
	{ "why", CLI_AUDIT_WHY, cli_audit_why, NULL, true, false },
	{ "verify", CLI_AUDIT_VERIFY, cli_audit_verify, "--json", false, true },
};

/* Options that choose records. Those that name files or a form are not for the page. */
static const char *const options_for_page[] = { "since", "until",   "run",     "host", "domain",
						"rule",  "person",  "program", "user", "session",
						"event", "verdict", "limit",   "by" };

struct asking {
	struct page_client client;
	struct aside *aside;
	bool is_running; /* counted in struct serve */
	const struct ask_kind *kind;
	char **words; /* owned list: the command's words after its name */
};

static bool is_for_page(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(options_for_page); i++) {
		if (strcmp(options_for_page[i], name) == 0)
			return true;
	}
	return false;
}

static const char *text_of(const json_t *value)
{
	const char *text = json_string_value(value);
	size_t len = json_string_length(value);

	return text && len > 0 && len <= ASK_WORD_MAX && strlen(text) == len ? text : NULL;
}

/* Returned owned; NULL: the question is malformed. The first word is the name of the program. */
static char **read_words(const struct ask_kind *kind, const char *log, const json_t *object)
{
	json_t *given = json_object_get(object, "words"), *value;
	const char *record = text_of(json_object_get(object, "record")), *name;
	char **words = NULL;
	bool is_right = kind->is_of_record || kind->is_of_log
				? !given && (kind->is_of_record == (record != NULL))
				: !record && json_is_object(given) &&
					  json_object_size(given) <= ASK_WORDS_MAX;

	is_right = is_right && json_object_size(object) == (kind->is_of_log ? 1 : 2);
	mem_append_list(&words, mem_strdup("sallyport"));
	if (kind->form)
		mem_append_list(&words, mem_strdup(kind->form));
	if (!kind->is_of_log)
		mem_append_list(&words, mem_printf("--audit=%s", log));
	json_object_foreach(given, name, value)
	{
		const char *text = text_of(value);

		is_right = is_right && text && is_for_page(name);
		if (is_right)
			mem_append_list(&words, mem_printf("--%s=%s", name, text));
	}
	mem_append_list(&words, mem_strdup("--"));
	if (kind->is_of_log || record)
		mem_append_list(&words, mem_strdup(kind->is_of_log ? log : record));
	if (is_right)
		return words;
	mem_free_list(words);
	return NULL;
}

static int run_command(const struct asking *asking)
{
	struct options options;
	struct err why = { 0 };
	int status = options_read(&options, asking->kind->command,
				  (int)mem_count_list(asking->words), asking->words, &why) < 0
			     ? options_wrong(asking->kind->command, "%s", why.text)
			     : asking->kind->run(&options);

	options_done(&options);
	return fflush(stdout) == 0 ? status : CLI_ERROR;
}

/* A memory file in place of @fd, which is a standard stream. -errno: there is none. */
static int catch_stream(int fd)
{
	int file = memfd_create("answer", MFD_CLOEXEC);

	if (file < 0)
		return -errno;
	return dup2(file, fd) < 0 ? -errno : file;
}

/* Returned owned: what was written to @file; NULL: it is too large. */
static char *caught_text(int file)
{
	struct err why = { 0 };
	char *text = NULL;

	if (lseek(file, 0, SEEK_SET) < 0)
		return NULL;
	return fd_read_all(file, ASK_MAX_BYTES, &text, NULL, &why) < 0 ? NULL : text;
}

/* In a process of its own. Without output it has failed. */
static void run_apart(FILE *out, void *arg)
{
	int printed = catch_stream(STDOUT_FILENO), said = catch_stream(STDERR_FILENO);

	if (printed < 0 || said < 0)
		return;
	int status = run_command(arg);
	auto_free char *text = caught_text(printed), *notes = caught_text(said);
	json_t *answer = text && notes ? json_pack("{s:i, s:s, s:s}", "status", status, "out", text,
						   "notes", notes)
				       : json_pack("{s:i, s:s, s:s}", "status", CLI_ERROR, "out",
						   "", "notes", TOO_LARGE);

	if (answer)
		(void)json_dumpf(answer, out, JSON_COMPACT | JSON_ENSURE_ASCII); /* memory */
	json_decref(answer);
}

static void stop_counting(struct asking *asking)
{
	struct serve *serve = asking->client.page->owner;

	serve->asking -= asking->is_running;
	asking->is_running = false;
}

static void done(int result, const char *bytes, size_t len, void *arg)
{
	struct asking *asking = arg;
	struct page_client *client = &asking->client;

	stop_counting(asking);
	if (result == 0 && len > 0)
		page_reply(client, 200, "application/json", "", bytes, len);
	else
		page_reply_error(client, 500, "failed",
				 json_string(result == -E2BIG ? TOO_LARGE
					     : result == 0 ? "the command printed what is not UTF-8"
							   : aside_words(result)));
}

void serve_ask(struct page_client *client, const json_t *object)
{
	struct asking *asking = (struct asking *)client;
	struct serve *serve = client->page->owner;
	const char *name = text_of(json_object_get(object, "ask"));

	for (size_t i = 0; name && i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(kinds[i].name, name) == 0)
			asking->kind = &kinds[i];
	}
	asking->words = asking->kind ? read_words(asking->kind, serve->log, object) : NULL;
	if (!asking->words)
		return page_reply_error(client, 400, "malformed",
					json_string("this version does not answer this"));
	if (serve->asking == SERVE_ASKING_MAX)
		return page_reply_error(
			client, 503, "overloaded",
			json_string("other answers are still being made; try again"));
	const struct aside_config config = { .name = "audit-answer",
					     .run = run_apart,
					     .run_arg = asking,
					     .limit_ms = ASK_MS,
					     .max_bytes = ASK_MAX_BYTES + 4096,
					     .done = done,
					     .arg = asking };

	serve->asking++;
	asking->is_running = true;
	served_wait(&client->served, ASK_MS + SERVED_REQUEST_MS);
	asking->aside = aside_start(serve->loop, &config);
}

static void on_bytes(struct served *served)
{
	if (!((struct asking *)served)->aside) /* else it is being answered */
		page_serve(served);
}

static void free_asking(struct served *served)
{
	struct asking *asking = (struct asking *)served;

	stop_counting(asking);
	aside_free(asking->aside);
	mem_free_list(asking->words);
	served_done(served);
	free(asking);
}

void serve_ask_admit(struct page *page, int fd)
{
	static const struct served_calls calls = { .on_bytes = on_bytes, .free = free_asking };
	struct asking *asking = mem_new(sizeof(*asking));

	page_client_init(&asking->client, &calls, page, fd);
}
