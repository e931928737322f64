#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/run/run_options.h"
#include "cli/view/run_view.h"
#include "policies/policies_credentials.h"
#include "policies/policies_load.h"

/* Variables that every program expects and that contain no secret. "LC_" and similar entries are
 * prefixes. */
static const char *const usual[] = { "PATH",        "HOME",      "USER",     "LOGNAME", "SHELL",
				     "TERM",        "LANG",      "LANGUAGE", "LC_",     "TZ",
				     "PWD",         "COLORTERM", "COLUMNS",  "LINES",   "NO_COLOR",
				     "FORCE_COLOR", "TMPDIR" };

static bool is_usual(const char *entry)
{
	size_t len = strcspn(entry, "=");

	for (size_t i = 0; i < ARRAY_SIZE(usual); i++) {
		size_t n = strlen(usual[i]);
		bool is_prefix = usual[i][n - 1] == '_';

		if (strncmp(entry, usual[i], n) == 0 && (len == n || (is_prefix && len > n)))
			return true;
	}
	return false;
}

/* Is the variable passed by --env NAME, or by the policy? */
static bool is_passed(const char *entry, const struct policy *policy,
		      const struct run_options *options)
{
	size_t len = strcspn(entry, "=");
	const char *name;

	for (char *const *at = options->env_set; at && *at; at++)
		if (strncmp(*at, entry, len) == 0 && ((*at)[len] == '\0' || (*at)[len] == '='))
			return true;
	for (size_t i = 0; (name = policy_get_path(policy, POLICY_PATH_ENV, i)) != NULL; i++)
		if (strncmp(name, entry, len) == 0 && name[len] == '\0')
			return true;
	return false;
}

static void withhold(struct run_view *view, const char *entry)
{
	auto_free char *name = mem_strndup(entry, strcspn(entry, "="));
	auto_free char *shown = text_visible_dup(name), *before = take(view->withheld);

	view->withheld = before ? mem_printf("%s, %s", before, shown) : mem_strdup(shown);
}

void run_env_find(struct run_view *view, const struct policy *policy,
		  const struct run_options *options)
{
	view->env = mem_new_array(1, sizeof(*view->env));
	for (char *const *at = environ; *at; at++) {
		if (is_passed(*at, policy, options)) {
			mem_append_list(&view->env, mem_strdup(*at));
			continue;
		}
		if (options->has_clean_env && !is_usual(*at))
			continue;
		if (policy_credentials_has(*at))
			withhold(view, *at);
		else
			mem_append_list(&view->env, mem_strdup(*at));
	}
}

void run_env_announce(const struct run_view *view)
{
	if (view->withheld)
		(void)cli_fail(0,
			       "withheld from the command, as they look like credentials: %s (to "
			       "pass one on: --env NAME, or `env NAME` in a policy)",
			       view->withheld);
}
