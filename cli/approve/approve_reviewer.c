#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/approve/approve.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "gateway/gateway_tools.h"

#define SHORT_DIGEST 12 /* digits of a digest that are shown */

static void print_part(const char *name, uint64_t part, uint64_t all)
{
	if (all == 0)
		(void)printf("  %-10s -\n", name);
	else
		(void)printf("  %-10s %3llu %% (%llu of %llu)\n", name,
			     (unsigned long long)(part * 100 / all), (unsigned long long)part,
			     (unsigned long long)all);
}

static void print_sheet(const char *digest, const char *command, const struct gateway_trust *trust,
			void *arg)
{
	size_t *count = arg;
	/* The command is a user's text, so escape characters that could move the cursor. */
	auto_free char *shown = text_visible_once(command);

	(void)printf("%s%.*s  %s\n", (*count)++ > 0 ? "\n" : "", SHORT_DIGEST, digest, shown);
	print_part("precision", trust->agree_allow, trust->agree_allow + trust->allowed_denied);
	print_part("recall", trust->agree_allow, trust->agree_allow + trust->denied_allowed);
	(void)printf("  both allowed %llu, both denied %llu, it abstained %llu\n",
		     (unsigned long long)trust->agree_allow, (unsigned long long)trust->agree_deny,
		     (unsigned long long)trust->abstained);
	(void)printf("  it denied and a person allowed %llu, "
		     "it allowed and a person denied %llu%s\n",
		     (unsigned long long)trust->denied_allowed,
		     (unsigned long long)trust->allowed_denied,
		     trust->allowed_denied > 0 ? " (dangerous)" : "");
	(void)printf("  %s\n", gateway_trust_is_enough(trust)
				       ? "it may answer (--reviewer-mode answer)"
				       : "it may not answer yet");
}

static void collect_sheet(const char *digest, const char *command,
			  const struct gateway_trust *trust, void *arg)
{
	json_t *sheet = json_pack(
		"{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:b}", "digest", digest, "command", command,
		"agree_allow", (json_int_t)trust->agree_allow, "agree_deny",
		(json_int_t)trust->agree_deny, "reviewer_allowed_person_denied",
		(json_int_t)trust->allowed_denied, "reviewer_denied_person_allowed",
		(json_int_t)trust->denied_allowed, "abstained", (json_int_t)trust->abstained,
		"may_answer", gateway_trust_is_enough(trust) ? 1 : 0);

	(void)json_array_append_new(arg, sheet); /* fails only without memory */
}

static int print_all(const char *dir, bool is_json)
{
	json_t *sheets = json_array();
	struct err why = { 0 };
	size_t count = 0;
	int r = gateway_trust_each(dir, is_json ? collect_sheet : print_sheet,
				   is_json ? (void *)sheets : &count, &why);

	if (is_json) {
		(void)json_dumpf(sheets, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
		(void)putchar('\n');
	} else if (count == 0 && r == 0) {
		(void)puts("no reviewer has been compared with people yet");
	}
	json_decref(sheets);
	return r < 0 ? cli_fail(CLI_ERROR, "%s", why.text) : CLI_OK;
}

int cli_approve_reviewer(const struct options *options)
{
	auto_free char *state = cli_state_dir();

	if (!state)
		return cli_fail(CLI_ERROR, "there is no state folder; set HOME");
	auto_free char *dir = mem_printf("%s/reviewers", state);

	return print_all(dir, options_has(options, OPT_JSON));
}
