#include "cli/run/run_options.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/gate/run_metrics.h"
#include "cli/options.h"
#include "cli/run/run_syslog.h"
#include "cli/session/session_place.h"
#include "policies/policies_agent.h"
#include "proxy/proxy.h"

#define PROMPT_TIMEOUT_DEFAULT_MS (5 * 60 * 1000)
#define RESOLVES_MAX              4096

static int wrong(const struct run_options *options, const char *option, const char *value,
		 const char *want)
{
	auto_free char *shown = text_visible_dup(value);

	return options_wrong(options->given_to, "%s: `%s` is not %s", option, shown, want);
}

/* Parses an address with or without brackets. */
static int parse_address(const char *text, size_t len, struct addr *ret)
{
	if (len > 2 && text[0] == '[' && text[len - 1] == ']')
		return addr_parse(text + 1, len - 2, ret);
	return addr_parse(text, len, ret);
}

/* NAME:ADDRESS, split at the first colon: a name contains none. */
static int add_resolve(struct run_options *options, const char *value)
{
	const char *colon = strchr(value, ':');
	struct policy_destination dst;
	struct proxy_mapping mapping;
	struct err why = { 0 };

	if (!colon || parse_address(colon + 1, strlen(colon + 1), &mapping.addr) < 0)
		return wrong(options, "--resolve", value, "NAME:ADDRESS");
	if (policy_destination_set(&dst, value, (size_t)(colon - value), 443, &why) < 0)
		return options_wrong(options->given_to, "--resolve: %s", why.text);
	if (dst.addr.family)
		return wrong(options, "--resolve", value,
			     "NAME:ADDRESS, because the name is an address");
	if (options->resolve_count == RESOLVES_MAX)
		return wrong(options, "--resolve", value, "accepted: there are too many of them");
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

static int set_syslog(struct run_options *options, const char *value)
{
	if (run_syslog_parse(value, &options->syslog) < 0)
		return wrong(options, "--syslog", value,
			     "udp:ADDRESS:PORT, tcp:ADDRESS:PORT or unix:/PATH; ADDRESS is not a "
			     "name");
	options->has_syslog = true;
	return 0;
}

static int set_json(struct run_options *options, const char *value)
{
	uint64_t fd = STDERR_FILENO;

	if (value && text_to_u64(value, strlen(value), 1 << 20, &fd) < 0)
		return wrong(options, "--json", value, "a descriptor number");
	/* Now, because a file that is opened later may have this number. */
	int flags = fcntl((int)fd, F_GETFL);

	if (value && (flags < 0 || (flags & O_ACCMODE) == O_RDONLY))
		return wrong(options, "--json", value, "a descriptor that is open for writing");
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

static int set_metrics(struct run_options *options, const char *value)
{
	options->metrics = value;
	return run_metrics_check(options->given_to, value);
}

static int add_published(struct run_options *options, const char *value)
{
	struct run_published *next = &options->published[options->published_count];

	if (options->published_count == RUN_PUBLISHED_MAX)
		return wrong(options, "--publish", value, "accepted: there are too many of them");
	if (run_published_parse(value, next) < 0)
		return wrong(options, "--publish", value,
			     "PORT or PORT:INSIDE; ports are from 1 to 65535, and the gate's own "
			     "ports inside cannot be published");
	options->published_count++;
	return 0;
}

/* In the order of the words of --sandbox in options.def. */
static int set_sandbox(struct run_options *options, const char *value)
{
	static const enum exec_mode modes[] = {
		EXEC_MODE_READ_ONLY, EXEC_MODE_WORKSPACE_WRITE, EXEC_MODE_WORKSPACE_WRITE,
		EXEC_MODE_EXTERNAL,  EXEC_MODE_EXTERNAL,        EXEC_MODE_FULL_ACCESS,
	};

	options->has_sandbox = true;
	options->sandbox = modes[options_choice_of(OPT_SANDBOX, value)];
	options->has_own_tmp = strcmp(value, "workspace-write:own-tmp") == 0;
	options->network = strcmp(value, "external:network") == 0 ? EXEC_NETWORK_ENABLED
								  : EXEC_NETWORK_RESTRICTED;
	return 0;
}

static int set_flag(bool *flag)
{
	*flag = true;
	return 0;
}

static int set_cache(struct run_options *options, const char *value)
{
	static const enum policy_cache caches[] = { POLICY_CACHE_PRIVATE, POLICY_CACHE_SHARED,
						    POLICY_CACHE_NONE };

	options->has_cache = true;
	options->cache = caches[options_choice_of(OPT_CACHE, value)];
	return 0;
}

static int set_env(struct run_options *options, char *value)
{
	if (value[0] == '\0' || value[0] == '=' || (value[0] >= '0' && value[0] <= '9'))
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

static int append(char ***list, char *value)
{
	mem_append_list(list, value);
	return 0;
}

/* The options of a run without an approver. */
static int set_unattended(struct run_options *options, enum cli_option option, char *value)
{
	switch ((int)option) {
	case OPT_FAIL_ON_DENY:
		return set_flag(&options->must_fail_on_deny);
	case OPT_FAIL_ON_ASK:
		options->must_fail_on_ask = true;
		return value ? set_bundle(options, value) : 0;
	case OPT_CI:
		options->asks_nobody = options->must_fail_on_ask = true;
		options->may_use_tty = false;
		return 0;
	case OPT_EGRESS_LOCK:
		options->lock =
			options_choice_of(option, value) == 0 ? RUN_LOCK_CHECK : RUN_LOCK_RECORD;
		return 0;
	case OPT_EGRESS_LOCK_FILE:
		options->lock_file = value;
		return 0;
	case OPT_JUNIT:
		options->junit = value;
		return 0;
	case OPT_BUNDLE:
		return set_bundle(options, value);
	case OPT_ANSWERS:
		return append(&options->answers, value);
	default:
		return 0;
	}
}

/* Applies an option of a gate: 0, or an exit status after the error was printed. Options of other
 * commands that have a gate are ignored here. */
static int set_option(struct run_options *options, enum cli_option option, char *value)
{
	/* In the order of the words of these options in options.def. */
	static const enum policy_action actions[] = { POLICY_ASK, POLICY_DENY, POLICY_ALLOW };
	static const enum run_report reports[] = { RUN_REPORT_TEXT, RUN_REPORT_JSON,
						   RUN_REPORT_NONE };

	switch ((int)option) {
	case OPT_POLICY:
		return append(&options->policies, value);
	case OPT_DEFAULT:
		options->has_default = true;
		options->default_action = actions[options_choice_of(option, value)];
		return 0;
	case OPT_AUDIT:
		options->audit = value;
		return 0;
	case OPT_SYSLOG:
		return set_syslog(options, value);
	case OPT_REPORT:
		options->report = reports[options_choice_of(option, value)];
		return 0;
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
	case OPT_METRICS:
		return set_metrics(options, value);
	case OPT_REVIEWER:
		options->helpers.reviewer = value;
		return 0;
	case OPT_REVIEWER_MODE:
		options->helpers.may_answer = options_choice_of(option, value) == 1;
		options->helpers.is_shadow = !options->helpers.may_answer;
		return 0;
	case OPT_REVIEWER_TIMEOUT:
		return set_reviewer_timeout(options, value);
	case OPT_NOTIFY:
		return set_flag(&options->helpers.has_notify);
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
	case OPT_PUBLISH:
		return add_published(options, value);
	case OPT_DNS:
		return set_dns(options, value);
	case OPT_JSON_FD:
		return set_json(options, value);
	case OPT_WRITE:
		return append(&options->writable, value);
	case OPT_READ:
		return append(&options->readable, value);
	case OPT_DENY_READ:
		return append(&options->denied, value);
	case OPT_SANDBOX:
		return set_sandbox(options, value);
	case OPT_ENV:
		return set_env(options, value);
	case OPT_CLEAN_ENV:
		return set_flag(&options->has_clean_env);
	case OPT_INTERCEPT_EXEC:
		return set_flag(&options->must_judge_programs);
	case OPT_NO_PROBE:
		return set_flag(&options->has_no_probe);
	case OPT_OBSERVE:
		return set_flag(&options->is_observing);
	case OPT_DRY_RUN:
		return set_flag(&options->is_dry_run);
	case OPT_VERBOSE:
		log_set_level(log_get_level() < LOG_LEVEL_INFO ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG);
		return 0;
	case OPT_CACHE:
		return set_cache(options, value);
	default:
		return set_unattended(options, option, value);
	}
}

static const char *own_tmpdir(void)
{
	const char *path = getenv("TMPDIR");

	return path && path[0] == '/' ? path : NULL;
}

/* Applies --sandbox to the writable paths. 0, or an exit status after the error was printed. */
static int settle_sandbox(struct run_options *options)
{
	static char all[] = "/", tmp[] = "/tmp";
	const char *tmpdir = own_tmpdir();

	if (!options->has_sandbox)
		return 0;
	if (options->published_count > 0 &&
	    (options->network == EXEC_NETWORK_ENABLED || options->sandbox == EXEC_MODE_FULL_ACCESS))
		return options_wrong(options->given_to,
				     "--publish needs a network of the command's own; with this "
				     "--sandbox its servers are on the host's already");
	if (options->writable && options->sandbox != EXEC_MODE_WORKSPACE_WRITE)
		return options_wrong(
			options->given_to,
			"--write is allowed only with --sandbox workspace-write, not %s",
			exec_mode_name(options->sandbox));
	switch (options->sandbox) {
	case EXEC_MODE_WORKSPACE_WRITE:
		if (options->has_own_tmp)
			break;
		mem_append_list(&options->writable, tmp);
		if (tmpdir)
			mem_append_list(&options->writable, (char *)(uintptr_t)tmpdir);
		break;
	case EXEC_MODE_EXTERNAL:
	case EXEC_MODE_FULL_ACCESS:
		mem_append_list(&options->writable, all);
		break;
	case EXEC_MODE_READ_ONLY:
	case EXEC_MODE_SPLIT:
		break;
	}
	return 0;
}

/* Rejects options that the session has decided already. 0, or an exit status. */
static int check_join(const struct options *given)
{
	static const struct {
		enum cli_option option;
		const char *name; /* the session's option for it */
	} of_session[] = {
		{ OPT_POLICY, "--policy" },
		{ OPT_DEFAULT, "--default" },
		{ OPT_PROMPT_TIMEOUT, "--prompt-timeout" },
		{ OPT_AUDIT, "--audit" },
		{ OPT_SYSLOG, "--syslog" },
		{ OPT_SESSION, "--session" },
		{ OPT_WEB, "--web" },
		{ OPT_METRICS, "--metrics" },
		{ OPT_REVIEWER, "--reviewer" },
		{ OPT_REVIEWER_MODE, "--reviewer" },
		{ OPT_NOTIFY, "--notify" },
		{ OPT_WEBHOOK, "--webhook" },
		{ OPT_WEBHOOK_KEY, "--webhook" },
		{ OPT_WEBHOOK_ANSWER, "--webhook" },
		{ OPT_GRANTS_OF, "--grants-of" },
		/* Answers are added to a policy, and the policy is the session's. */
		{ OPT_ANSWERS, "--answers" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(of_session); i++) {
		if (options_has(given, of_session[i].option))
			return options_wrong(
				given->command,
				"--join and %s cannot be given together; the session has this "
				"option: see `sallyport session start --help`",
				of_session[i].name);
	}
	return CLI_OK;
}

/* Rejects options by which a person would answer. */
static int check_ci(const struct options *given)
{
	static const enum cli_option others[] = { OPT_JOIN, OPT_WEB, OPT_NOTIFY, OPT_WEBHOOK };

	return options_exclude(given, OPT_CI, others, ARRAY_SIZE(others),
			       "a run with --ci asks nobody");
}

static int check_lock(const struct run_options *options, const struct options *given)
{
	static const enum cli_option others[] = { OPT_JOIN };

	if (options->lock_file && options->lock == RUN_LOCK_NONE)
		return options_wrong(given->command, "--egress-lock-file needs --egress-lock");
	if (options->lock != RUN_LOCK_NONE &&
	    (options->network == EXEC_NETWORK_ENABLED || options->sandbox == EXEC_MODE_FULL_ACCESS))
		return options_wrong(given->command,
				     "--egress-lock needs the gate, and this --sandbox does "
				     "without it");
	return options_exclude(given, OPT_EGRESS_LOCK, others, ARRAY_SIZE(others),
			       "the session's gate does not count for one run by program");
}

int run_options_take(struct run_options *options, const struct options *given)
{
	int status = CLI_OK;

	*options = (struct run_options){
		.given_to = given->command,
		.prompt_timeout_ms = PROMPT_TIMEOUT_DEFAULT_MS,
		.may_use_tty = true,
		.helpers.kinds = POLICY_HELPS_NETWORK,
		.json_fd = -1,
		.command = (const char *const *)given->operands,
	};
	for (size_t i = 0; status == CLI_OK && i < given->given_count; i++)
		status = set_option(options, given->given[i].option, given->given[i].value);
	if (status == CLI_OK && options->helpers.webhook_answer && !options->has_web)
		status = options_wrong(given->command,
				       "--webhook-answer needs --web: its links lead to the page");
	if (status == CLI_OK)
		status = check_ci(given);
	if (status == CLI_OK)
		status = check_lock(options, given);
	if (status == CLI_OK)
		status = settle_sandbox(options);
	return status == CLI_OK && options->join ? check_join(given) : status;
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
	free(options->profile_command);
	mem_free_list(options->profile_words);
	*options = (struct run_options){ .json_fd = -1 };
}
