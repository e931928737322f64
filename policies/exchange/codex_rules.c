#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "policies/exchange/export_impl.h"
#include "policies/exchange/starlark_impl.h"
#include "policies/engine/rules_impl.h"

#define RULES_WORDS_MAX 64
#define RULES_WORD_MAX  512

/* Reads calls of prefix_rule(), network_rule() and host_executable() with plain strings and lists.
 * The language of these files has variables and loops; a file that uses them is refused, because it
 * may contain a denial that would be missed. */
struct call {
	char name[32];
	uint32_t line;
	char decision[32], host[512], protocol[32], because[POLICY_TEXT_MAX], program[256];
	char *words;     /* `git (status|log)` so far; owned */
	size_t position; /* in the pattern; alternatives have the same position */
	bool has_alternatives, has_examples;
	size_t path_count;
};

static int rules_keep(struct exchange *exchange, const struct exchange_item *item, char *out,
		      size_t size)
{
	if (strlen(item->value) >= size || !item->is_text)
		return exchange_refuse(exchange, item->line, "%s: too long, or not a string",
				       item->path);
	memcpy(out, item->value, strlen(item->value) + 1);
	return 0;
}

/* Writes a word in the policy language, quoted if necessary. */
static int rules_word(struct exchange *exchange, struct call *call,
		      const struct exchange_item *item, bool is_alternative)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,";
	auto_free char *quoted = exchange_quote(item->value), *before = take(call->words);
	bool is_plain = item->value[0] && strspn(item->value, plain) == strlen(item->value);
	const char *word = is_plain ? item->value : quoted;

	if (!item->is_text || strlen(item->value) > RULES_WORD_MAX ||
	    ++call->position > RULES_WORDS_MAX)
		return exchange_refuse(exchange, item->line,
				       "this is not a word of a command, or there are too many");
	for (const char *at = item->value; *at; at++) {
		if ((unsigned char)*at < 0x20 || (unsigned char)*at >= 0x7f)
			return exchange_refuse(exchange, item->line,
					       "the word has bytes outside of ASCII");
	}
	if (is_alternative && !is_plain)
		return exchange_refuse(exchange, item->line,
				       "an alternative would have to be quoted");
	if (is_alternative && call->has_alternatives)
		call->words = mem_printf("%s|%s", before, word);
	else
		call->words = mem_printf("%s%s %s%s", before ? before : "",
					 call->has_alternatives ? ")" : "",
					 is_alternative ? "(" : "", word);
	call->has_alternatives = is_alternative;
	return 0;
}

static int rules_argument(struct exchange *exchange, const struct exchange_item *item, void *arg)
{
	struct call *call = arg;

	if (exchange_is_at(item, "pattern/#"))
		return rules_word(exchange, call, item, false);
	if (exchange_is_at(item, "pattern/#/#"))
		return rules_word(exchange, call, item, true);
	if (exchange_is_at(item, "paths/#")) {
		call->path_count++;
		return rules_word(exchange, call, item, false);
	}
	if (exchange_is_at(item, "decision"))
		return rules_keep(exchange, item, call->decision, sizeof(call->decision));
	if (exchange_is_at(item, "justification"))
		return rules_keep(exchange, item, call->because, sizeof(call->because));
	if (exchange_is_at(item, "host"))
		return rules_keep(exchange, item, call->host, sizeof(call->host));
	if (exchange_is_at(item, "protocol"))
		return rules_keep(exchange, item, call->protocol, sizeof(call->protocol));
	if (exchange_is_at(item, "name"))
		return rules_keep(exchange, item, call->program, sizeof(call->program));
	if (strncmp(item->path, "match/", 6) == 0 || strncmp(item->path, "not_match/", 10) == 0)
		call->has_examples = true;
	else
		exchange_lose(exchange, item->line, "%s %s", item->path, item->value);
	return 0;
}

static int rules_decision(struct exchange *exchange, const struct call *call,
			  enum policy_action *ret)
{
	static const struct {
		const char *word;
		enum policy_action action;
	} decisions[] = { { "", POLICY_ALLOW },
			  { "allow", POLICY_ALLOW },
			  { "prompt", POLICY_ASK },
			  { "forbidden", POLICY_DENY },
			  { "deny", POLICY_DENY } };

	for (size_t i = 0; i < ARRAY_SIZE(decisions); i++) {
		if (strcmp(call->decision, decisions[i].word) != 0)
			continue;
		*ret = decisions[i].action;
		return 0;
	}
	return exchange_refuse(exchange, call->line, "unknown decision: %s", call->decision);
}

/* A denial or a question applies to any protocol, an allow to the protocol that was written. */
static int rules_network(struct exchange *exchange, const struct call *call,
			 enum policy_action action, const char *because)
{
	static const char *const protocols[][2] = {
		{ "http", "http" },          { "https", "https" },    { "https_connect", "https" },
		{ "http-connect", "https" }, { "socks5_tcp", "tcp" },
	};
	const char *protocol = action == POLICY_ALLOW ? NULL : "tcp";
	auto_free char *clause = because[0] ? mem_printf("because %s", because) : mem_strdup("");

	for (size_t i = 0; !protocol && i < ARRAY_SIZE(protocols); i++) {
		if (strcmp(call->protocol, protocols[i][0]) == 0)
			protocol = protocols[i][1];
	}
	if (!protocol) {
		exchange_lose(exchange, call->line,
			      "allow %s %s: this protocol cannot leave the sandbox", call->protocol,
			      call->host);
		return 0;
	}
	bool is_v6 = strchr(call->host, ':') && call->host[0] != '[' &&
		     strchr(strchr(call->host, ':') + 1, ':');
	auto_free char *destination =
		mem_printf(is_v6 ? "%s://[%s]:*" : "%s://%s:*", protocol, call->host);

	if (strchr(call->host, '*') || (!is_v6 && strchr(call->host, ':')))
		return exchange_refuse(exchange, call->line, "%s: this is not a host", call->host);
	return exchange_rule(exchange, call->line, action, destination, clause);
}

static int rules_command(struct exchange *exchange, const struct call *call,
			 enum policy_action action, const char *because)
{
	if (!call->words)
		return exchange_refuse(exchange, call->line, "the pattern is empty");
	if (call->has_examples)
		exchange_lose(exchange, call->line, "match and not_match: write `expect` lines");
	exchange_line(exchange, "command %s%s%s%s%s", policy_action_name(action), call->words,
		      call->has_alternatives ? ")" : "", because[0] ? " because " : "", because);
	return 0;
}

static int rules_call(struct exchange *exchange, const struct call *call)
{
	auto_free char *because = call->because[0] ? exchange_quote(call->because) : mem_strdup("");
	enum policy_action action = POLICY_DENY;
	int r = rules_decision(exchange, call, &action);

	if (r < 0 || ++exchange->rule_count > EXCHANGE_RULES_MAX)
		return r < 0 ? r
			     : exchange_refuse(exchange, call->line, "there are more than %u rules",
					       EXCHANGE_RULES_MAX);
	if (strcmp(call->name, "network_rule") == 0)
		return rules_network(exchange, call, action, because);
	if (strcmp(call->name, "prefix_rule") == 0)
		return rules_command(exchange, call, action, because);
	if (strcmp(call->name, "host_executable") != 0)
		return exchange_refuse(
			exchange, call->line,
			"%s: only prefix_rule, host_executable and network_rule are read",
			call->name);
	auto_free char *name = exchange_quote(call->program);

	if (call->path_count == 0)
		return exchange_refuse(exchange, call->line,
				       "%s with an empty list of paths cannot be expressed", name);
	exchange_line(exchange, "program %s%s", name, call->words);
	return 0;
}

/* Reads a NAME, and the character that must follow it. */
static int rules_name(struct starlark *starlark, char *out, size_t size, char follows)
{
	size_t len = 0;

	starlark_skip(starlark);
	while (starlark->at < starlark->len && len + 1 < size &&
	       (isalnum((unsigned char)starlark->text[starlark->at]) ||
		starlark->text[starlark->at] == '_'))
		out[len++] = starlark->text[starlark->at++];
	out[len] = '\0';
	starlark_skip(starlark);
	if (len == 0 || starlark->at >= starlark->len || starlark->text[starlark->at] != follows)
		return exchange_refuse(starlark->walk.exchange, starlark->line,
				       "only calls with plain, named arguments are read");
	starlark->at++;
	return 0;
}

static int rules_arguments(struct starlark *starlark)
{
	for (;;) {
		char name[32];

		starlark_skip(starlark);
		if (starlark->at < starlark->len && starlark->text[starlark->at] == ')') {
			starlark->at++;
			return 0;
		}
		int r = rules_name(starlark, name, sizeof(name), '=');

		if (r == 0)
			r = walk_push(&starlark->walk, starlark->line, name);
		if (r == 0)
			r = starlark_value(starlark);
		if (r < 0)
			return r;
		walk_pop(&starlark->walk, 0);
		starlark_skip(starlark);
		if (starlark->at < starlark->len && starlark->text[starlark->at] == ',')
			starlark->at++;
		else if (starlark->at >= starlark->len || starlark->text[starlark->at] != ')')
			return exchange_refuse(starlark->walk.exchange, starlark->line,
					       "a comma is missing");
	}
}

int codex_rules_import(struct exchange *exchange, const char *text, size_t len)
{
	auto_free struct starlark *starlark = mem_new(sizeof(*starlark));

	*starlark = (struct starlark){ .walk = { .exchange = exchange, .each = rules_argument },
				       .text = text,
				       .len = len,
				       .line = 1 };
	exchange_line(
		exchange,
		"# a host matched all ports; here a denial has precedence over a later allow");
	for (starlark_skip(starlark); starlark->at < starlark->len; starlark_skip(starlark)) {
		struct call call = { .line = starlark->line };

		starlark->walk.arg = &call;
		int r = rules_name(starlark, call.name, sizeof(call.name), '(');

		if (r == 0)
			r = rules_arguments(starlark);
		if (r == 0)
			r = rules_call(exchange, &call);
		free(call.words);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The reader of these files ignores the protocol, so every allow is judged as one of any protocol.
 * The protocol is written all the same, as that tool's own prompts write it. */
static void codex_rules_write_entry(const struct export *export, const struct export_entry *entry)
{
	static const struct {
		const char *word;
		enum policy_protocol protocol;
	} protocols[] = {
		{ "http", POLICY_HTTP },
		{ "https", POLICY_HTTPS },
		{ "socks5_tcp", POLICY_TCP },
	};
	enum policy_protocol said = (enum policy_protocol)entry->pattern.protocol;
	struct rule rule;

	rules_get(export->policy, (uint32_t)entry->rule, &rule);
	auto_free char *because = exchange_quote(export->policy->names + rule.because);
	bool has_because = rule.because != 0;

	for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
		enum policy_protocol protocol = protocols[i].protocol;
		bool is_narrow = !entry->is_deny && said != POLICY_TCP;

		if (is_narrow &&
		    (protocol == POLICY_TCP || (said != POLICY_NO_PROTOCOL && said != protocol)))
			continue;
		exchange_line(export->exchange,
			      "network_rule(host=\"%s\", protocol=\"%s\", decision=\"%s\"%s%s)",
			      entry->host, protocols[i].word,
			      entry->is_deny ? "forbidden" : "allow",
			      has_because ? ", justification=" : "", has_because ? because : "");
	}
}

static void codex_rules_write(const struct export *export)
{
	for (int is_deny = 0; is_deny < 2; is_deny++) {
		const struct export_entry *entry;

		for (size_t at = 0; (entry = export_next(export, is_deny, &at)) != NULL;)
			codex_rules_write_entry(export, entry);
	}
}

/* A later rule for a host has precedence over an earlier one: an allow cannot have exceptions. */
const struct export_format codex_rules_export = {
	.hosts = BIT(PATTERN_EXACT) | BIT(PATTERN_BLOCK),
	.asks = true,
	.write = codex_rules_write,
};
