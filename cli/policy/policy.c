#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/bundle_files.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/policy/policy_command.h"
#include "cli/policy/policy_matches.h"
#include "cli/policy/policy_options.h"
#include "cli/policy/policy_request.h"
#include "policies/policies_tools.h"

struct explain {
	struct policy *policy;
	bool is_json;
	struct policy_destination dst;
	struct policy_facts facts;
	struct policy_verdict verdict, tunnel; /* @tunnel: for CONNECT and SOCKS5 to @dst */
	const char *const *command;            /* explained instead of @dst; NULL: none */
	struct policy_request_words words;
};

/* If no file has a default, the default is ask, as in `run`. */
static void settle_default(struct policy *policy)
{
	enum policy_action ignored;

	if (!policy_get_default(policy, &ignored))
		policy_set_default(policy, POLICY_ASK);
}

/* Reads the options about the request and its requester. 0, or an exit status. */
static int explain_request(struct explain *explain, const struct options *options)
{
	static const policy_request_fn sets[OPT_COUNT] = {
		[OPT_METHOD] = policy_request_method, [OPT_PATH] = policy_request_path,
		[OPT_QUERY] = policy_request_query,   [OPT_HEADER] = policy_request_header,
		[OPT_BY] = policy_request_by,
	};
	struct err why = { 0 };

	explain->words.from = options_get(options, OPT_FROM);
	for (size_t i = 0; i < options->given_count; i++) {
		const struct options_given *given = &options->given[i];

		if (sets[given->option] &&
		    sets[given->option](&explain->words, given->value, &why) < 0)
			return options_wrong(options->command, "%s", why.text);
	}
	return 0;
}

/* Says how to write a URL that has a path. */
static int explain_wrong_destination(const char *text, const char *cause)
{
	const char *scheme = strstr(text, "://");
	size_t host = scheme ? (size_t)(scheme - text) + strlen("://") : 0;
	size_t path = host + strcspn(text + host, "/?#");
	size_t query = path + strcspn(text + path, "?#");
	size_t end = query + strcspn(text + query, "#");
	auto_free char *destination = mem_strndup(text, path);
	struct policy_destination ignored;
	struct err why = { 0 };

	if (path == query && end <= query + 1)
		return options_wrong(CLI_POLICY_EXPLAIN, "%s", cause);
	if (policy_destination_parse(destination, &ignored, &why) < 0)
		return options_wrong(CLI_POLICY_EXPLAIN, "%s", why.text);
	if (end <= query + 1)
		return options_wrong(CLI_POLICY_EXPLAIN,
				     "a destination has no path; write --path '%.*s' %s",
				     (int)(query - path), text + path, destination);
	return options_wrong(CLI_POLICY_EXPLAIN,
			     "a destination has no path and no query; write --path '/%.*s' --query "
			     "'%.*s' %s",
			     query > path ? (int)(query - path - 1) : 0, text + path + 1,
			     (int)(end - query - 1), text + query + 1, destination);
}

static int explain_take_destination(struct explain *explain, const char *text)
{
	struct err why = { 0 };

	if (policy_destination_parse(text, &explain->dst, &why) == 0)
		return 0;
	return explain_wrong_destination(text, why.text);
}

/* 0, or an exit status if the operands are wrong. */
static int explain_operands(struct explain *explain, const struct options *options)
{
	char **words = options->operands;

	if (strcmp(words[0], "command") == 0) {
		words += words[1] && strcmp(words[1], "--") == 0 ? 2 : 1;
		explain->command = (const char *const *)words;
		return words[0] ? 0 : options_wrong(options->command, "COMMAND is missing");
	}
	return words[1] ? options_wrong(options->command, "unexpected argument: %s", words[1])
			: explain_take_destination(explain, words[0]);
}

/* An answer that does not count is an error, as in `run`. */
static int explain_answers(struct explain *explain, const struct options *options)
{
	auto_free char **answers = options_get_all(options, OPT_TOO_ANSWERS);
	struct bundle_reply *replies;
	struct err why = { 0 };
	size_t count, lacking;
	int r = bundle_files_replies(answers, &replies, &count, &why);

	if (r == 0 && count > 0)
		r = bundle_files_answer(explain->policy, replies, count, time(NULL), &lacking,
					&why);
	bundle_files_forget(replies, count);
	return r < 0 ? cli_fail(CLI_ERROR, "--answers: %s", why.text) : 0;
}

static int explain_policy(struct explain *explain, const struct options *options)
{
	/* In the order of the words of --default in options.def. */
	static const enum policy_action actions[] = { POLICY_ASK, POLICY_DENY, POLICY_ALLOW };
	bool is_good = policy_options_load(options, explain->policy);

	if (is_good && explain_answers(explain, options) != 0)
		return CLI_ERROR;
	if (options_has(options, OPT_EXPLAIN_DEFAULT))
		policy_set_default(explain->policy,
				   actions[options_choice(options, OPT_EXPLAIN_DEFAULT, 0)]);
	else
		settle_default(explain->policy);
	if (!is_good || policy_finish(explain->policy) < 0) {
		(void)fputs(policy_errors(explain->policy), stderr);
		return CLI_ERROR;
	}
	(void)fputs(policy_notes(explain->policy), stderr);
	return 0;
}

/* Decides as the gate does: bytes of that protocol, through the proxy protocol that shows most of
 * the request. */
static int explain_decide(struct explain *explain)
{
	struct policy_facts tunnel = { .dst = explain->dst,
				       .carries = explain->dst.protocol,
				       .way = POLICY_WAY_CONNECT };
	struct policy_facts decided; /* policy_decide() sets its protocol */
	struct err why = { 0 };

	explain->facts =
		(struct policy_facts){ .dst = explain->dst, .carries = explain->dst.protocol };
	if (policy_request_fill(&explain->words, &explain->facts, &why) < 0)
		return options_wrong(CLI_POLICY_EXPLAIN, "%s", why.text);
	policy_facts_take_way(&explain->facts);
	decided = explain->facts;
	policy_decide_bytes(explain->policy, &decided, &explain->verdict);
	tunnel.asker = explain->facts.asker;
	policy_decide_bytes(explain->policy, &tunnel, &explain->tunnel);
	return CLI_OK;
}

static const char *explain_promise(enum policy_protocol promise)
{
	switch (promise) {
	case POLICY_HTTP:
		return "http: the bytes must be HTTP for this host";
	case POLICY_HTTPS:
		return "https: the bytes must be TLS for this host";
	case POLICY_TCP:
		return "tcp: any bytes";
	case POLICY_UDP:
		return "udp: any bytes, in datagrams";
	case POLICY_NO_PROTOCOL:
		break;
	}
	return "";
}

static void print_row(const char *name, const char *text)
{
	if (text[0])
		(void)printf("  %-8s %s\n", name, text);
}

/* The gate resolves a name only after the name is allowed, so `explain` cannot say which address
 * would be refused. */
static const char *explain_address(const struct explain *explain)
{
	if (explain->verdict.action == POLICY_DENY ||
	    policy_destination_is_loopback(&explain->dst) || explain->dst.addr.family)
		return "";
	return "explain does not look names up; a connection is refused if the name leads to "
	       "private, special or denied addresses, or to a denied name";
}

/* For plain http: a tunnel may be denied although the request is allowed. */
static void print_tunnel(const struct explain *explain)
{
	if (explain->tunnel.action != explain->verdict.action)
		(void)printf("  %-8s by CONNECT and SOCKS5: %s (%s)\n", "tunnel",
			     policy_action_name(explain->tunnel.action),
			     policy_reason_code(explain->tunnel.reason));
}

static void print_text(const struct explain *explain)
{
	const struct policy_verdict *verdict = &explain->verdict;
	char text[POLICY_DESTINATION_TEXT_MAX];

	(void)printf("%s %s (%s)\n", policy_action_name(verdict->action),
		     policy_destination_text(&explain->dst, text),
		     policy_reason_code(verdict->reason));
	print_row("why", policy_reason_sentence(verdict->reason));
	print_row("rule", verdict->rule);
	print_row("because", verdict->because);
	print_row("by", verdict->by);
	if (verdict->action != POLICY_DENY)
		print_row("promise", explain_promise(verdict->promise));
	if (verdict->action != POLICY_DENY && verdict->reason != POLICY_INSIDE)
		print_row("private", verdict->may_private ? "private addresses are allowed"
							  : "private addresses are refused");
	print_row("address", explain_address(explain));
	print_tunnel(explain);
	policy_matches_print(&(struct policy_matches){ explain->policy, &explain->facts, verdict });
	print_row("next", policy_reason_next(verdict->reason));
}

static int print_json(const struct explain *explain)
{
	const struct policy_verdict *verdict = &explain->verdict;
	char text[POLICY_DESTINATION_TEXT_MAX];
	json_t *object = json_pack(
		"{s:s, s:s, s:s, s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:b, s:s, s:s, s:{s:s, s:s}}",
		"destination", policy_destination_text(&explain->dst, text), "action",
		policy_action_name(verdict->action), "protocol",
		policy_protocol_name(explain->dst.protocol), "host", explain->dst.host, "port",
		(int)explain->dst.port, "reason", policy_reason_code(verdict->reason), "sentence",
		policy_reason_sentence(verdict->reason), "rule", verdict->rule, "because",
		verdict->because, "promise", policy_protocol_name(verdict->promise), "may_private",
		(int)verdict->may_private, "next", policy_reason_next(verdict->reason), "address",
		explain_address(explain), "tunnel", "action",
		policy_action_name(explain->tunnel.action), "reason",
		policy_reason_code(explain->tunnel.reason));

	if (!object ||
	    policy_matches_put(
		    &(struct policy_matches){ explain->policy, &explain->facts, verdict },
		    object) != 0 ||
	    json_dumpf(object, stdout, JSON_INDENT(2)) < 0) {
		json_decref(object);
		return cli_fail(CLI_ERROR, "cannot write JSON");
	}
	(void)putchar('\n');
	json_decref(object);
	return CLI_OK;
}

static int explain_run(struct explain *explain, const struct options *options)
{
	static const int statuses[] = {
		[POLICY_DENY] = CLI_DENIED,
		[POLICY_ASK] = CLI_ASK,
		[POLICY_ALLOW] = CLI_OK,
	};
	int status = explain_request(explain, options);

	if (status == 0)
		status = explain_operands(explain, options);
	if (status == 0)
		status = explain_policy(explain, options);
	if (status != 0)
		return status;
	if (explain->command)
		return policy_command_explain(explain->policy, explain->command, explain->is_json);
	status = explain_decide(explain);
	if (status != 0)
		return status;
	if (!explain->is_json)
		print_text(explain);
	else if (print_json(explain) != CLI_OK)
		return CLI_ERROR;
	return statuses[explain->verdict.action];
}

int cli_policy_explain(const struct options *options)
{
	struct explain explain = { .policy = policy_new(),
				   .is_json = options_has(options, OPT_JSON) };
	int status = explain_run(&explain, options);

	policy_request_done(&explain.words);
	policy_free(explain.policy);
	return status;
}
