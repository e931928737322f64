#include "policies/language/notes_impl.h"

#include "policies/engine/asker_impl.h"
#include "policies/language/clauses_impl.h"
#include "policies/language/command_line_impl.h"
#include "policies/files/layers_impl.h"
#include "policies/engine/request_impl.h"
#include "policies/engine/rules_impl.h"
#include "policies/language/settings_impl.h"

/* How many statements of a project's file do not count. */
static size_t notes_count_ignored(const struct policy *policy, uint32_t source)
{
	size_t count = 0;
	bool may_loosen = layers_may_loosen(policy, source);

	for (size_t i = 0; i < policy->rule_count && !may_loosen; i++) {
		struct rule rule;

		rules_get_bare(policy, (uint32_t)i, &rule);
		bool is_of_it =
			rule.source == source || policy->sources[rule.source].parent == source + 1;

		count += is_of_it && rule.action != RULE_DENY && rule.action != RULE_ASK;
	}
	count += command_line_count_ignored(policy, source);
	for (size_t i = 0; i < policy->setting_count; i++) {
		const struct setting *setting = &policy->settings[i];

		count += setting->source == source && !settings_counts(policy, setting);
	}
	return count;
}

static void notes_source(struct policy *policy, uint32_t index)
{
	const struct source *source = &policy->sources[index];
	struct spot spot = { .file = source->name };
	size_t ignored = source->parent ? 0 : notes_count_ignored(policy, index);

	if (source->is_changed)
		problems_note(&policy->notes, &spot,
			      "this file has changed since it was trusted; until you run "
			      "`sallyport policy trust`, it can only deny or ask");
	if (ignored > 0)
		problems_note(&policy->notes, &spot,
			      "%zu line%s of this project's file %s not count%s", ignored,
			      ignored == 1 ? "" : "s", ignored == 1 ? "does" : "do",
			      source->layer == POLICY_PROJECT
				      ? " until you trust it with `sallyport policy trust`"
				      : ": a project's file may not have write, prompt-timeout, "
					"unconfined, approver, hook, reviewer, approvals "
					"on-failure, secret, socket, read, cache shared, "
					"upstream, audit or a "
					"higher limit");
}

/* Can it match protocols other than plain http? */
static bool notes_goes_beyond_http(const struct policy *policy, const struct pattern *pattern)
{
	const struct pattern_port *port = &policy->ports[pattern->ports];

	if (pattern->protocol != POLICY_NO_PROTOCOL)
		return pattern->protocol != POLICY_HTTP;
	return pattern->port_count != 1 || port->first != 80 || port->last != 80;
}

/* Conditions on the HTTP request. They are not checked when an address is. */
static void notes_request(struct policy *policy, const struct rule *rule, const struct spot *spot)
{
	bool loosens = rule->action != RULE_DENY && rule->action != RULE_ASK;
	char text[CLAUSES_TEXT_MAX];

	clauses_text(rule->clause_kinds & REQUEST_CONDITIONS, text);
	if (rule->action == RULE_DENY && rule->pattern.kind == PATTERN_BLOCK)
		problems_note(&policy->notes, spot,
			      "%s: for an address, this rule applies to every request", text);
	else if (notes_goes_beyond_http(policy, &rule->pattern))
		problems_note(&policy->notes, spot,
			      "%s: this needs inspection for https, which this version does not "
			      "support; for https, this rule %s",
			      text, loosens ? "allows nothing" : "applies to every request");
}

static void notes_rule(struct policy *policy, const struct rule *rule)
{
	const struct source *source = &policy->sources[rule->source];
	struct spot spot = { source->name, rule->number, source->text + rule->line, rule->line_len,
			     0 };
	bool loosens = rule->action == RULE_ALLOW || rule->action == RULE_ANSWER_ALLOW;
	unsigned int bounds = clauses_bounds(rule);
	unsigned int conditions = clauses_conditions(rule) | asker_not_enforced(policy, rule);
	unsigned int others = conditions & ~REQUEST_CONDITIONS;
	char text[CLAUSES_TEXT_MAX];

	clauses_text(conditions | bounds, text);
	if (bounds || (others && loosens))
		problems_note(&policy->notes, &spot,
			      "%s: this version does not enforce this, so this rule allows nothing",
			      text);
	else if (conditions & REQUEST_CONDITIONS)
		notes_request(policy, rule, &spot);
	else if (conditions)
		problems_note(&policy->notes, &spot,
			      "%s: this version does not enforce this, so this rule applies to "
			      "every request",
			      text);
}

void notes_add(struct policy *policy)
{
	for (size_t i = 0; i < policy->source_count; i++)
		notes_source(policy, (uint32_t)i);
	for (size_t i = 0; i < policy->wide_count; i++) {
		if (policy->wides[i].clause_kinds)
			notes_rule(policy, &policy->wides[i]);
	}
}
