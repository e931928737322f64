/* `audit serve`: a page on loopback that shows the audit log. Everything that it shows is the
 * output of another command of `sallyport audit`, which a process of its own runs (serve_ask.c). */
#include "cli/audit/serve/serve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/audit/selection.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "audit_files_text.h"

static void serve_about(struct page_client *client, const json_t *object)
{
	const struct serve *serve = client->page->owner;
	auto_free char *shown = text_visible_dup(serve->log);
	json_t *reply = json_object_size(object) == 0 ? json_pack("{s:s, s:s}", "log", shown,
								  "version", SALLYPORT_VERSION)
						      : NULL;

	if (reply)
		page_reply_json(client, 200, "", reply);
	else
		page_reply_error(client, 400, "malformed",
				 json_string("this request has no members"));
	json_decref(reply);
}

static const struct page_step steps[] = {
	{ "/api/about", serve_about },
	{ "/api/ask", serve_ask },
};

static int take_port(const struct options *options, uint16_t *ret)
{
	const char *port = options_get(options, OPT_SERVE_PORT);
	uint64_t number = 0;

	if (port && (text_to_u64(port, strlen(port), UINT16_MAX, &number) < 0 || number == 0)) {
		auto_free char *shown = text_visible_dup(port);

		return options_wrong(options->command, "--port: `%s` is not a number from 1 to %d",
				     shown, UINT16_MAX);
	}
	*ret = (uint16_t)number;
	return CLI_OK;
}

/* Returned owned: absolute, because processes that answer may run elsewhere. NULL after an error
 * was printed. */
static char *take_log(const struct options *options)
{
	auto_free char *path = selection_path(options);
	auto_free char *log = path ? realpath(path, NULL) : NULL;

	if (path && (!log || access(log, R_OK) < 0)) {
		int error = errno;
		auto_free char *shown = text_visible_dup(path);

		(void)cli_fail(0, "cannot read the audit log %s: %s", shown, strerror(error));
		return NULL;
	}
	return take(log);
}

static int serve_until_signal(struct serve *serve, uint16_t port)
{
	static const struct page_config config = { .admit = serve_ask_admit,
						   .files = page_files,
						   .steps = steps,
						   .file_count = ARRAY_SIZE(page_files),
						   .step_count = ARRAY_SIZE(steps) };
	struct err why = { 0 };
	int status = CLI_OK;

	serve->loop = loop_new();
	if (page_open(&serve->page, serve->loop, &config, port, serve, &why) < 0) {
		status = cli_fail(CLI_ERROR, "%s", why.text);
	} else {
		(void)cli_fail(0, "the page of the audit log is here until Ctrl-C; the address is "
				  "a secret, and only programs of this user can open it");
		if (printf("%s\n", serve->page.url) < 0 || fflush(stdout) != 0)
			status = CLI_ERROR; /* main() prints it */
		else if (loop_run(serve->loop) < 0)
			status = cli_fail(CLI_ERROR, "cannot wait for requests");
	}
	page_close(&serve->page);
	loop_free(serve->loop);
	return status;
}

int cli_audit_serve(const struct options *options)
{
	uint16_t port = 0;
	int status = take_port(options, &port);
	auto_free char *log = status == CLI_OK ? take_log(options) : NULL;
	struct serve *serve = log ? mem_new_secret(sizeof(*serve)) : NULL;

	if (serve) {
		serve->log = log;
		status = serve_until_signal(serve, port);
		mem_free_secret(serve, sizeof(*serve));
	} else if (status == CLI_OK) {
		status = log ? cli_fail(CLI_ERROR,
					"this kernel cannot keep the page's keys from other "
					"processes (MADV_WIPEONFORK); use Linux 4.14 or newer")
			     : CLI_ERROR;
	}
	return status;
}
