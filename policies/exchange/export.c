#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/language/clauses_impl.h"
#include "policies/exchange/export_impl.h"
#include "policies/files/layers_impl.h"
#include "policies/policies_tools.h"
#include "policies/engine/rules_impl.h"
#include "policies/language/settings_impl.h"

void export_lose(const struct export *export, size_t rule, const char *format, ...)
{
	const struct policy *policy = export->policy;
	char words[EXCHANGE_VALUE_MAX];
	struct rule lost;
	va_list args;

	va_start(args, format);
	(void)vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	rules_get(policy, (uint32_t)rule, &lost);
	exchange_list(export->exchange, policy->sources[lost.source].name, lost.number, words);
}

unsigned int export_port(const struct export *export, const struct export_entry *entry,
			 size_t index)
{
	for (uint32_t i = 0; i < entry->pattern.port_count && !entry->has_all_ports; i++) {
		const struct pattern_port *range = &export->policy->ports[entry->pattern.ports + i];
		size_t count = (size_t)(range->last - range->first) + 1;

		if (index < count)
			return range->first + (unsigned int)index;
		index -= count;
	}
	return 0;
}

const struct export_entry *export_next(const struct export *export, bool is_deny, size_t *at)
{
	while (*at < export->entry_count) {
		const struct export_entry *entry = &export->entries[(*at)++];

		if (!entry->is_left_out && entry->is_deny == is_deny)
			return entry;
	}
	return NULL;
}

/* The number of ports; 0: all of them, or more than can be listed. */
static size_t export_count_ports(const struct export *export, const struct pattern *pattern)
{
	size_t count = 0;

	for (uint32_t i = 0; i < pattern->port_count; i++) {
		const struct pattern_port *range = &export->policy->ports[pattern->ports + i];

		count += (size_t)(range->last - range->first) + 1;
	}
	return count <= EXPORT_PORTS_MAX ? count : 0;
}

static bool export_is_all_ports(const struct export *export, const struct pattern *pattern)
{
	const struct pattern_port *first = &export->policy->ports[pattern->ports];

	return pattern->port_count == 1 && first->first <= 1 && first->last == UINT16_MAX;
}

/* Writes the host of @pattern in the format; false: the format cannot express it. */
static bool export_host(const struct export *export, const struct pattern *pattern,
			char out[POLICY_HOST_MAX + 4])
{
	const char *key = rules_key(export->policy, pattern);
	struct addr addr = { 0 };
	char text[ADDR_TEXT_MAX];

	if (!(export->format->hosts & BIT(pattern->kind)))
		return false;
	if (pattern->kind == PATTERN_ANY)
		return snprintf(out, POLICY_HOST_MAX + 4, "*") > 0;
	if (pattern->kind != PATTERN_BLOCK) {
		(void)snprintf(out, POLICY_HOST_MAX + 4, "%s%.*s",
			       pattern->kind == PATTERN_BELOW  ? "*."
			       : pattern->kind == PATTERN_TREE ? "**."
							       : "",
			       (int)pattern->key_len, key);
		return !export->format->needs_dot || memchr(key, '.', pattern->key_len);
	}
	addr.family = (uint8_t)key[1];
	if ((unsigned char)key[2] != (addr.family == AF_INET ? 32 : 128))
		return false;
	memcpy(addr.bytes, key + 3, sizeof(addr.bytes));
	(void)snprintf(out, POLICY_HOST_MAX + 4, "%s", addr_text(&addr, text));
	return true;
}

/* True: it was added. */
static bool export_add_kind(struct export *export, size_t rule, const struct pattern *pattern,
			    bool is_deny)
{
	const struct export_format *format = export->format;
	size_t ports = export_count_ports(export, pattern);
	struct export_entry entry = {
		.pattern = *pattern,
		.rule = rule,
		.is_deny = is_deny,
		.has_all_ports = !format->has_ports || ports == 0,
	};

	if (!export_host(export, pattern, entry.host) || (is_deny && pattern->kind == PATTERN_ANY))
		return false;
	if (entry.has_all_ports && format->needs_ports)
		return false;
	/* If there are more ports than can be listed, "all ports" would be wider than the rule. */
	if (entry.has_all_ports && format->has_ports && !is_deny &&
	    !export_is_all_ports(export, pattern))
		return false;
	export->entries = mem_reserve(export->entries, &export->entry_room, export->entry_count + 1,
				      sizeof(entry));
	export->entries[export->entry_count++] = entry;
	return true;
}

static bool export_add(struct export *export, size_t rule, const struct pattern *pattern,
		       bool is_deny)
{
	struct pattern part = *pattern;
	size_t before = export->entry_count;

	if (pattern->kind != PATTERN_TREE || export->format->hosts & BIT(PATTERN_TREE))
		return export_add_kind(export, rule, pattern, is_deny);
	part.kind = PATTERN_EXACT;
	if (!export_add_kind(export, rule, &part, is_deny))
		return false;
	part.kind = PATTERN_BELOW;
	if (export_add_kind(export, rule, &part, is_deny))
		return true;
	export->entry_count = before;
	return false;
}

/* In a format in which a denial has precedence over an allow, writes an exception as a denial. */
static void export_except(struct export *export, size_t index, const struct rule *rule)
{

	for (uint32_t i = 0; i < rule->exception_count && export->format->carves; i++) {
		struct pattern exception = export->policy->exceptions[rule->exceptions + i];
		auto_free char *said = export_text(export->policy, &exception, false);

		if (!exception.has_ports) {
			exception.ports = rule->pattern.ports;
			exception.port_count = rule->pattern.port_count;
		}
		if (export_add(export, index, &exception, true))
			export_lose(export, index, "except %s: denied there, by any rule", said);
	}
}

static void export_allow(struct export *export, size_t index, const struct rule *rule)
{
	auto_free char *text = export_text(export->policy, &rule->pattern, false);

	if (!layers_may_loosen(export->policy, rule->source)) {
		export_lose(export, index, "allow %s left out: its file is not trusted", text);
		return;
	}
	if (rule->clause_kinds & ~BIT(CLAUSE_NO_INSPECT)) {
		export_lose(export, index, "allow %s left out: its clauses cannot be expressed",
			    text);
		return;
	}
	if (!export_add(export, index, &rule->pattern, false)) {
		export_lose(export, index, "allow %s left out: the format cannot express it", text);
		return;
	}
	export_except(export, index, rule);
	if (rule->is_private)
		export_lose(export, index, "private: an address that %s resolves to", text);
	if (export->may_widen && rule->pattern.protocol != POLICY_TCP)
		export_lose(export, index, "wider: %s for any bytes%s", text,
			    export->format->has_ports ? "" : " and on all ports");
	else if (export->may_widen && !export->format->has_ports &&
		 !export_is_all_ports(export, &rule->pattern))
		export_lose(export, index, "wider: %s on all ports", text);
}

static int export_deny(struct export *export, size_t index, const struct rule *rule)
{
	auto_free char *text = export_text(export->policy, &rule->pattern, false);
	bool is_block = rule->pattern.kind == PATTERN_BLOCK;

	/* No format checks the addresses that a name resolves to against these rules. */
	if (export->may_widen && is_block)
		export_lose(export, index, "wider: deny %s: not for names that resolve there",
			    text);
	if (!export->format->asks)
		return 0; /* the format denies what is not listed */
	if (!export_add(export, index, &rule->pattern, true)) {
		if (!export->may_widen)
			return err_set(export->exchange->why, -EBADMSG,
				       "%s:%u: deny %s cannot be expressed and would be lost",
				       export->policy->sources[rule->source].name, rule->number,
				       text);
		export_lose(export, index, "wider: deny %s cannot be expressed: asked about there",
			    text);
		return 0;
	}
	const struct export_entry *entry = &export->entries[export->entry_count - 1];

	if (rule->clause_kinds || rule->exception_count > 0 ||
	    rule->pattern.protocol == POLICY_HTTP || rule->pattern.protocol == POLICY_HTTPS ||
	    (entry->has_all_ports && !export_is_all_ports(export, &rule->pattern)))
		export_lose(export, index, "deny %s: denied more widely, for all of %s", text,
			    entry->host);
	return 0;
}

static int export_rule(struct export *export, size_t index)
{
	struct rule plain;
	const struct rule *rule = &plain;
	bool is_rules = export->format == &codex_rules_export;
	int r = 0;

	rules_get(export->policy, (uint32_t)index, &plain);
	if (rule->pattern.protocol == POLICY_UDP) {
		export_lose(export, index,
			    "udp: the format has no rule for it, and it stays denied there");
		return 0;
	}
	if (rule->because && !(is_rules && rule->action != RULE_ASK))
		export_lose(export, index, "because");
	switch ((enum rule_action)rule->action) {
	case RULE_ALLOW:
	case RULE_ANSWER_ALLOW:
		export->has_allow = true;
		export_allow(export, index, rule);
		break;
	case RULE_DENY:
	case RULE_ANSWER_DENY:
		r = export_deny(export, index, rule);
		break;
	case RULE_ASK:
		if (!export->format->asks)
			export_lose(export, index, "ask: denied there");
		break;
	case RULE_ONLY:
		export_lose(export, index, "only: what is not listed can be allowed there");
		break;
	}
	return r;
}

/* Reports a statement that is not exported: @look is as policy_command_look() fills it. */
static void export_skip(const struct export *export, const struct policy_rule_look *look)
{
	const char *colon = strstr(look->rule, ": ");
	auto_free char *place = mem_strndup(look->rule, colon ? (size_t)(colon - look->rule) : 0);

	exchange_list(export->exchange, place, 0, colon ? colon + 2 : look->rule);
}

static void export_statements(const struct export *export)
{
	struct policy_rule_look look;

	for (size_t i = 1; i <= policy_command_count(export->policy); i++) {
		policy_command_look(export->policy, i, &look);
		export_skip(export, &look);
	}
	for (size_t i = 0; policy_later_look(export->policy, i, &look); i++)
		export_skip(export, &look);
}

/* Reports settings, which are not rules. */
static void export_settings(const struct export *export)
{
	const struct policy *policy = export->policy;

	for (size_t i = 0; i < policy->setting_count; i++) {
		const struct setting *setting = &policy->settings[i];

		if (setting->kind != SETTING_LATER) /* reported as a statement */
			exchange_list(export->exchange, policy->sources[setting->source].name,
				      setting->number, settings_word(setting));
	}
	for (size_t i = 0; i < policy->source_count; i++) {
		const struct source *source = &policy->sources[i];
		bool is_said =
			source->default_action == (export->format->asks ? POLICY_ASK : POLICY_DENY);

		if (source->has_default && !is_said)
			exchange_list(export->exchange, source->name, 0,
				      export->format->asks ? "default: there it is ask"
							   : "default: there it is deny");
	}
}

struct export_place {
	struct export_entry *entry;
};

static int export_compare(const void *left, const void *right)
{
	const struct export_entry *a = ((const struct export_place *)left)->entry;
	const struct export_entry *b = ((const struct export_place *)right)->entry;
	int order = strcmp(a->host, b->host);

	if (order != 0 || a->is_deny != b->is_deny)
		return order != 0 ? order : (int)b->is_deny - (int)a->is_deny;
	return (a > b) - (a < b);
}

/* Each host is written once: as a denial if any entry denies it. */
static void export_settle(const struct export *export)
{
	auto_free struct export_place *sorted =
		mem_new_array(export->entry_count + 1, sizeof(*sorted));

	for (size_t i = 0; i < export->entry_count; i++)
		sorted[i].entry = &export->entries[i];
	qsort(sorted, export->entry_count, sizeof(*sorted), export_compare);
	for (size_t i = 0, first = 0; i < export->entry_count; i++) {
		struct export_entry *entry = sorted[i].entry;

		if (i == 0 || strcmp(sorted[first].entry->host, entry->host) != 0) {
			first = i;
			continue;
		}
		entry->is_left_out = true;
		if (sorted[first].entry->is_deny && !entry->is_deny)
			export_lose(export, entry->rule, "%s left out: it is denied, on all ports",
				    entry->host);
	}
}

int export_run(struct exchange *exchange, const struct export_format *format,
	       const struct policy *policy, bool may_widen)
{
	struct export export = {
		.exchange = exchange,
		.format = format,
		.policy = policy,
		.may_widen = may_widen,
	};
	int r = policy->rule_count > EXPORT_RULES_MAX
			? err_set(exchange->why, -E2BIG, "more than %d rules", EXPORT_RULES_MAX)
			: 0;

	export_settings(&export);
	export_statements(&export);
	for (size_t i = 0; i < policy->rule_count && r == 0; i++)
		r = export_rule(&export, i);
	if (r == 0 && format->is_once)
		export_settle(&export);
	if (r == 0)
		r = export_judge(&export);
	size_t first = 0;

	if (r == 0 && export.has_allow && !export_next(&export, false, &first))
		exchange_list(
			exchange, exchange->name, 0,
			may_widen ? "the result allows nothing: no rule can be expressed"
				  : "the result allows nothing: no rule can be expressed; "
				    "--lossy lets a host stand for all its ports and protocols");
	if (r == 0)
		format->write(&export);
	free(export.entries);
	return r;
}
