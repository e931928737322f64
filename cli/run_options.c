#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/run_help.h"
#include "cli/run_impl.h"
#include "cli/run_join.h"
#include "cli/session.h"
#include "policies/policies_agent.h"

#define PROMPT_TIMEOUT_DEFAULT_MS (5 * 60 * 1000)
#define RESOLVES_MAX              4096

static const char help[] =
	"usage: sallyport run [options] -- COMMAND [ARGUMENT...]\n"
	"\n"
	"Runs COMMAND in a network sandbox whose only way out is the gate. What no rule answers "
	"is\n"
	"asked: on this terminal, or through `sallyport approve` from another.\n"
	"\n" RUN_HELP_POLICY
	"  --default ask|deny|allow what no rule matches (default: ask with somebody to ask, else "
	"deny)\n" RUN_HELP_PROMPT_TIMEOUT
	"  --no-tty                 never prompt on this terminal\n" RUN_HELP_HELPERS
	"  --session NAME           the name in records (default: the run's id)\n"
	"  --join NAME              be part of that session; see `sallyport session "
	"--help`\n" RUN_HELP_GRANTS_OF RUN_HELP_AUDIT
	"  --report text|json|none  the trip report on stderr (default: text on a terminal)\n"
	"  --json[=FD]              the result as one JSON line on stderr, or on FD\n"
	"  --fail-on-ask[=FILE]     deny at once what nobody is there to answer, and exit 78 if "
	"there was\n"
	"                           any; FILE: as --bundle\n"
	"  --bundle FILE            write what nobody answered to FILE, for `sallyport approve "
	"bundle`\n" RUN_HELP_ANSWERS "  --resolve NAME:ADDRESS   NAME is at ADDRESS (repeatable)\n"
	"  --dns ADDRESS[:PORT]     ask this resolver only\n"
	"  --write DIR              DIR is writable too (repeatable; the working directory is)\n"
	"  --read PATH              nothing can be seen but PATH (repeatable), the working "
	"directory, what\n"
	"                           may be written, and what programs need of the system\n"
	"  --deny-read PATH         PATH can be neither read nor written (repeatable)\n"
	"  --sandbox MODE           what may be touched: read-only; workspace-write, which also "
	"has the\n"
	"                           host's /tmp and $TMPDIR (workspace-write:own-tmp: an empty "
	"/tmp);\n"
	"                           external, all files, since somebody else confines them\n"
	"                           (external:network: the network too); danger-full-access\n"
	"  --env NAME[=VALUE]       set NAME, or pass the caller's through, also where it looks "
	"like a\n"
	"                           credential (repeatable)\n"
	"  --clean-env              pass nothing else on but PATH, HOME, TERM, LANG, USER and the "
	"like\n"
	"  --intercept-exec         judge every program COMMAND starts by the policy's rules for "
	"commands\n"
	"  --dry-run                print the plan of the sandbox, run nothing\n"
	"  --verbose                say more on stderr; twice: everything\n"
	"\n"
	"The exit status is COMMAND's; 128+N when signal N ended it; 127 not found, 126 not\n"
	"executable, 125 no sandbox could be made (nothing ran), 2 usage, 3 bad policy, 78 see\n"
	"--fail-on-ask.\n";

enum run_option {
	OPT_HELP = 256,
	OPT_POLICY,
	OPT_DEFAULT,
	OPT_AUDIT,
	OPT_REPORT,
	OPT_SESSION,
	OPT_JOIN,
	OPT_GRANTS_OF,
	OPT_PROMPT_TIMEOUT,
	OPT_NO_TTY,
	OPT_WEB,
	OPT_REVIEWER,
	OPT_REVIEWER_MODE,
	OPT_REVIEWER_TIMEOUT,
	OPT_NOTIFY,
	OPT_WEBHOOK,
	OPT_WEBHOOK_KEY,
	OPT_WEBHOOK_ANSWER,
	OPT_RESOLVE,
	OPT_DNS,
	OPT_JSON,
	OPT_WRITE,
	OPT_READ,
	OPT_DENY_READ,
	OPT_SANDBOX,
	OPT_ENV,
	OPT_CLEAN_ENV,
	OPT_INTERCEPT_EXEC,
	OPT_DRY_RUN,
	OPT_VERBOSE,
	OPT_FAIL_ON_ASK,
	OPT_BUNDLE,
	OPT_ANSWERS,
};

static const struct option long_options[] = {
	{ "help", no_argument, NULL, OPT_HELP },
	{ "policy", required_argument, NULL, OPT_POLICY },
	{ "default", required_argument, NULL, OPT_DEFAULT },
	{ "audit", required_argument, NULL, OPT_AUDIT },
	{ "report", required_argument, NULL, OPT_REPORT },
	{ "session", required_argument, NULL, OPT_SESSION },
	{ "join", required_argument, NULL, OPT_JOIN },
	{ "grants-of", required_argument, NULL, OPT_GRANTS_OF },
	{ "prompt-timeout", required_argument, NULL, OPT_PROMPT_TIMEOUT },
	{ "no-tty", no_argument, NULL, OPT_NO_TTY },
	{ "web", optional_argument, NULL, OPT_WEB },
	{ "reviewer", required_argument, NULL, OPT_REVIEWER },
	{ "reviewer-mode", required_argument, NULL, OPT_REVIEWER_MODE },
	{ "reviewer-timeout", required_argument, NULL, OPT_REVIEWER_TIMEOUT },
	{ "notify", no_argument, NULL, OPT_NOTIFY },
	{ "webhook", required_argument, NULL, OPT_WEBHOOK },
	{ "webhook-key", required_argument, NULL, OPT_WEBHOOK_KEY },
	{ "webhook-answer", required_argument, NULL, OPT_WEBHOOK_ANSWER },
	{ "resolve", required_argument, NULL, OPT_RESOLVE },
	{ "dns", required_argument, NULL, OPT_DNS },
	{ "json", optional_argument, NULL, OPT_JSON },
	{ "write", required_argument, NULL, OPT_WRITE },
	{ "read", required_argument, NULL, OPT_READ },
	{ "deny-read", required_argument, NULL, OPT_DENY_READ },
	{ "sandbox", required_argument, NULL, OPT_SANDBOX },
	{ "env", required_argument, NULL, OPT_ENV },
	{ "clean-env", no_argument, NULL, OPT_CLEAN_ENV },
	{ "intercept-exec", no_argument, NULL, OPT_INTERCEPT_EXEC },
	{ "dry-run", no_argument, NULL, OPT_DRY_RUN },
	{ "verbose", no_argument, NULL, OPT_VERBOSE },
	{ "fail-on-ask", optional_argument, NULL, OPT_FAIL_ON_ASK },
	{ "bundle", required_argument, NULL, OPT_BUNDLE },
	{ "answers", required_argument, NULL, OPT_ANSWERS },
	{ 0 },
};

static int wrong(const struct run_options *options, const char *option, const char *value,
		 const char *want)
{
	auto_free char *shown = text_visible_dup(value);

	return cli_usage_error(options->name, -EINVAL, "%s: `%s` is not %s", option, shown, want);
}

static int set_default(struct run_options *options, const char *value)
{
	static const enum policy_action actions[] = { POLICY_ASK, POLICY_DENY, POLICY_ALLOW };

	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		if (strcmp(value, policy_action_name(actions[i])) != 0)
			continue;
		options->has_default = true;
		options->default_action = actions[i];
		return 0;
	}
	return wrong(options, "--default", value, "ask, deny or allow");
}

static int set_report(struct run_options *options, const char *value)
{
	static const char *const forms[] = {
		[RUN_REPORT_TEXT] = "text",
		[RUN_REPORT_JSON] = "json",
		[RUN_REPORT_NONE] = "none",
	};

	for (size_t i = RUN_REPORT_TEXT; i < ARRAY_SIZE(forms); i++) {
		if (strcmp(value, forms[i]) == 0) {
			options->report = (enum run_report)i;
			return 0;
		}
	}
	return wrong(options, "--report", value, "text, json or none");
}

/* An address with or without brackets. */
static int parse_address(const char *text, size_t len, struct addr *ret)
{
	if (len > 2 && text[0] == '[' && text[len - 1] == ']')
		return addr_parse(text + 1, len - 2, ret);
	return addr_parse(text, len, ret);
}

/* NAME:ADDRESS, split at the first colon: a name has none. */
static int add_resolve(struct run_options *options, const char *value)
{
	const char *colon = strchr(value, ':');
	struct policy_destination dst;
	struct proxy_mapping mapping;
	struct err why = { 0 };

	if (!colon || parse_address(colon + 1, strlen(colon + 1), &mapping.addr) < 0)
		return wrong(options, "--resolve", value, "NAME:ADDRESS");
	if (policy_destination_set(&dst, value, (size_t)(colon - value), 443, &why) < 0)
		return cli_usage_error(options->name, -EINVAL, "--resolve: %s", why.text);
	if (dst.addr.family)
		return wrong(options, "--resolve", value,
			     "NAME:ADDRESS: the name is an address itself");
	if (options->resolve_count == RESOLVES_MAX)
		return wrong(options, "--resolve", value, "possible: there are too many of them");
	mapping.name = mem_strdup(dst.host);
	options->resolves =
		mem_grow(options->resolves, options->resolve_count + 1, sizeof(*options->resolves));
	options->resolves[options->resolve_count++] = mapping;
	return 0;
}

/* ADDRESS, ADDRESS:PORT, [V6], [V6]:PORT */
static int set_dns(struct run_options *options, const char *value)
{
	const char *end = value[0] == '[' ? strchr(value, ']') : NULL;
	const char *colon = end ? (end[1] == ':' ? end + 1 : NULL) : strchr(value, ':');
	uint64_t port = 53;
	size_t len;

	if (!end && colon && strchr(colon + 1, ':'))
		colon = NULL; /* a bare IPv6 address */
	len = colon ? (size_t)(colon - value) : strlen(value);
	if (parse_address(value, len, &options->dns_addr) < 0 ||
	    (colon && (text_to_u64(colon + 1, strlen(colon + 1), 65535, &port) < 0 || port == 0)))
		return wrong(options, "--dns", value, "ADDRESS[:PORT]");
	options->dns_port = (uint16_t)port;
	return 0;
}

static int set_json(struct run_options *options, const char *value)
{
	uint64_t fd = STDERR_FILENO;

	if (value && text_to_u64(value, strlen(value), 1 << 20, &fd) < 0)
		return wrong(options, "--json", value, "a descriptor number");
	options->json_fd = (int)fd;
	return 0;
}

static int set_web(struct run_options *options, const char *value)
{
	uint64_t port = 0;

	if (value && (text_to_u64(value, strlen(value), 65535, &port) < 0 || port == 0))
		return wrong(options, "--web", value, "a port");
	options->has_web = true;
	options->web_port = (uint16_t)port;
	return 0;
}

/* MODE, or one with a question of its own answered. */
static int set_sandbox(struct run_options *options, const char *value)
{
	bool is_network = strcmp(value, "external:network") == 0;
	bool is_own_tmp = strcmp(value, "workspace-write:own-tmp") == 0;

	options->has_sandbox = true;
	options->has_own_tmp = is_own_tmp;
	options->network = is_network ? EXEC_NETWORK_ENABLED : EXEC_NETWORK_RESTRICTED;
	if (!exec_mode_parse(is_network   ? "external"
			     : is_own_tmp ? "workspace-write"
					  : value,
			     &options->sandbox) ||
	    options->sandbox == EXEC_MODE_SPLIT)
		return wrong(options, "--sandbox", value,
			     "read-only, workspace-write, workspace-write:own-tmp, external, "
			     "external:network or danger-full-access");
	return 0;
}

static int set_env(struct run_options *options, char *value)
{
	if (value[0] == '\0' || value[0] == '=')
		return wrong(options, "--env", value, "NAME or NAME=VALUE");
	mem_append_list(&options->env_set, value);
	return 0;
}

static int set_timeout(struct run_options *options, const char *value)
{
	if (text_to_duration_ms(value, &options->prompt_timeout_ms) < 0 ||
	    options->prompt_timeout_ms == 0)
		return wrong(options, "--prompt-timeout", value, "a time such as 30s or 5m");
	options->has_prompt_timeout = true;
	return 0;
}

static int set_reviewer_mode(struct run_options *options, const char *value)
{
	options->helpers.may_answer = strcmp(value, "answer") == 0;
	if (!options->helpers.may_answer && strcmp(value, "shadow") != 0)
		return wrong(options, "--reviewer-mode", value, "shadow or answer");
	return 0;
}

static int set_reviewer_timeout(struct run_options *options, const char *value)
{
	if (text_to_duration_ms(value, &options->helpers.reviewer_timeout_ms) < 0 ||
	    options->helpers.reviewer_timeout_ms == 0)
		return wrong(options, "--reviewer-timeout", value, "a time such as 10s");
	return 0;
}

static int set_session(struct run_options *options, const char *value)
{
	size_t len = strlen(value);

	if (len == 0 || len > 64)
		return wrong(options, "--session", value, "a name of 1 to 64 bytes");
	for (size_t i = 0; i < len; i++) {
		if (value[i] < 0x21 || value[i] > 0x7e)
			return wrong(options, "--session", value,
				     "a name of visible ASCII without spaces");
	}
	options->session = value;
	return 0;
}

static int set_join(struct run_options *options, const char *value)
{
	if (!session_place_is_name(value))
		return wrong(options, "--join", value,
			     "a session's name: letters, digits, _, . and -");
	options->join = value;
	return 0;
}

static int set_grants_of(struct run_options *options, const char *value)
{
	if (!session_place_is_name(value))
		return wrong(options, "--grants-of", value,
			     "the name of a session, or of a run: letters, digits, _, . and -");
	options->grants_of = value;
	return 0;
}

static int set_bundle(struct run_options *options, const char *value)
{
	if (value[0] == '\0')
		return wrong(options, "--bundle", value, "a file");
	options->bundle = value;
	return 0;
}

/* 0, or -EINVAL after the error was printed. */
static int set_option(struct run_options *options, enum run_option option, char *value)
{
	switch (option) {
	case OPT_POLICY:
		mem_append_list(&options->policies, value);
		return 0;
	case OPT_DEFAULT:
		return set_default(options, value);
	case OPT_AUDIT:
		options->audit = value;
		return 0;
	case OPT_REPORT:
		return set_report(options, value);
	case OPT_SESSION:
		return set_session(options, value);
	case OPT_JOIN:
		return set_join(options, value);
	case OPT_GRANTS_OF:
		return set_grants_of(options, value);
	case OPT_PROMPT_TIMEOUT:
		return set_timeout(options, value);
	case OPT_NO_TTY:
		options->may_use_tty = false;
		return 0;
	case OPT_WEB:
		return set_web(options, value);
	case OPT_REVIEWER:
		options->helpers.reviewer = value;
		return 0;
	case OPT_REVIEWER_MODE:
		return set_reviewer_mode(options, value);
	case OPT_REVIEWER_TIMEOUT:
		return set_reviewer_timeout(options, value);
	case OPT_NOTIFY:
		options->helpers.has_notify = true;
		return 0;
	case OPT_WEBHOOK:
		options->helpers.webhook = value;
		return 0;
	case OPT_WEBHOOK_KEY:
		options->helpers.webhook_key = value;
		return 0;
	case OPT_WEBHOOK_ANSWER:
		options->helpers.webhook_answer = value;
		return 0;
	case OPT_RESOLVE:
		return add_resolve(options, value);
	case OPT_DNS:
		return set_dns(options, value);
	case OPT_JSON:
		return set_json(options, value);
	case OPT_WRITE:
		mem_append_list(&options->writable, value);
		return 0;
	case OPT_READ:
		mem_append_list(&options->readable, value);
		return 0;
	case OPT_DENY_READ:
		mem_append_list(&options->denied, value);
		return 0;
	case OPT_SANDBOX:
		return set_sandbox(options, value);
	case OPT_ENV:
		return set_env(options, value);
	case OPT_CLEAN_ENV:
		options->has_clean_env = true;
		return 0;
	case OPT_INTERCEPT_EXEC:
		options->must_judge_programs = true;
		return 0;
	case OPT_DRY_RUN:
		options->is_dry_run = true;
		return 0;
	case OPT_VERBOSE:
		log_set_level(log_get_level() < LOG_LEVEL_INFO ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG);
		return 0;
	case OPT_FAIL_ON_ASK:
		options->must_fail_on_ask = true;
		return value ? set_bundle(options, value) : 0;
	case OPT_BUNDLE:
		return set_bundle(options, value);
	case OPT_ANSWERS:
		mem_append_list(&options->answers, value);
		return 0;
	case OPT_HELP:
	default:
		return -EINVAL;
	}
}

int run_options_parse(struct run_options *options, int argc, char **argv)
{
	int option;

	*options = (struct run_options){
		.name = argv[0],
		.prompt_timeout_ms = PROMPT_TIMEOUT_DEFAULT_MS,
		.may_use_tty = true,
		.helpers.kinds = POLICY_HELPS_NETWORK,
		.json_fd = -1,
	};
	opterr = 0;
	optind = 1;
	while ((option = getopt_long(argc, argv, "+h", long_options, NULL)) != -1) {
		if (option == OPT_HELP || option == 'h') {
			(void)fputs(help, stdout);
			return CLI_OK + 1;
		}
		if (option == '?')
			return cli_usage_error(options->name, CLI_USAGE,
					       "no such option, or its value is missing: %s",
					       argv[optind - 1]) +
			       1;
		if (set_option(options, (enum run_option)option, optarg) < 0)
			return CLI_USAGE + 1;
	}
	options->command = (const char *const *)argv + optind;
	if (!options->command[0])
		return cli_usage_error(options->name, CLI_USAGE, "no command was given") + 1;
	if (options->helpers.webhook_answer && !options->has_web)
		return cli_usage_error(options->name, CLI_USAGE,
				       "--webhook-answer needs --web: its links lead to the page") +
		       1;
	if (run_view_settle(options) < 0)
		return CLI_USAGE + 1;
	return options->join ? run_join_prepare_options(options) : 0;
}

void run_options_free(struct run_options *options)
{
	for (size_t i = 0; i < options->resolve_count; i++)
		free((char *)(uintptr_t)options->resolves[i].name);
	free(options->resolves);
	free(options->policies);
	free(options->writable);
	free(options->denied);
	free(options->readable);
	free(options->env_set);
	free(options->answers);
	*options = (struct run_options){ .json_fd = -1 };
}
