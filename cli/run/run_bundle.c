#include "cli/run/run_bundle.h"

/* Writes the unanswered questions of this run to a file that can be answered elsewhere. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/bundle_files.h"
#include "cli/cli.h"
#include "cli/run/run_options.h"
#include "cli/view/run_places.h"
#include "gateway/bundle/bundle.h"

struct run_bundle {
	struct bundle *bundle;
	struct bundle_place place; /* folder -1: the questions are only counted */
	struct sign_key key;
};

struct run_bundle *run_bundle_open(const struct run_options *options,
				   const struct run_places *places)
{
	struct run_bundle *ours = mem_new(sizeof(*ours));
	struct err why = { 0 };
	int r = 0;

	ours->bundle = bundle_new();
	ours->place.folder = -1;
	if (options->bundle)
		r = bundle_files_key(places->state_dir, true, &ours->key, &why);
	if (r == 0 && options->bundle)
		r = bundle_files_open(options->bundle, &ours->place, &why);
	if (r == 0)
		return ours;
	(void)cli_fail(CLI_NO_SANDBOX, "%s", why.text);
	run_bundle_free(ours);
	return NULL;
}

struct bundle *run_bundle_get(struct run_bundle *ours)
{
	return ours ? ours->bundle : NULL;
}

bool run_bundle_has_any(const struct run_bundle *ours)
{
	return ours && bundle_count(ours->bundle) > 0;
}

int run_bundle_write(struct run_bundle *ours, const char *run, const char *session)
{
	struct bundle_source source = { .run = run, .session = session, .at_s = time(NULL) };
	struct err why = { 0 };
	auto_free char *text = NULL;

	if (!ours || ours->place.folder < 0)
		return CLI_OK;
	memcpy(source.key, ours->key.public, sizeof(source.key));
	bundle_add_source(ours->bundle, &source);
	int r = bundle_file_write(ours->bundle, &ours->key, &text, &why);

	if (r == 0)
		r = bundle_files_write(&ours->place, text, 0600, &why);
	return r < 0 ? cli_fail(CLI_NO_SANDBOX, "%s", why.text) : CLI_OK;
}

void run_bundle_free(struct run_bundle *ours)
{
	if (!ours)
		return;
	bundle_free(ours->bundle);
	bundle_files_close(&ours->place);
	sign_key_forget(&ours->key);
	free(ours);
}
