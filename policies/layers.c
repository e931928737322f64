#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "policies/asker_impl.h"
#include "policies/command_line_impl.h"
#include "policies/clauses_impl.h"
#include "policies/policies_tools.h"
#include "policies/request_impl.h"
#include "policies/settings_impl.h"

#define LAYERS_SUFFIX ".policy"

static const char *const layers_names[] = {
	[POLICY_PROJECT] = "project, not trusted",
	[POLICY_TRUSTED] = "project, trusted",
	[POLICY_COMMAND_LINE] = "command line",
	[POLICY_USER] = "user",
	[POLICY_MANAGED] = "managed",
};

const char *policy_layer_name(enum policy_layer layer)
{
	return (unsigned int)layer < ARRAY_SIZE(layers_names) ? layers_names[layer]
							      : layers_names[POLICY_PROJECT];
}

void policy_set_trust(struct policy *policy, policy_trust_fn trust, void *arg)
{
	policy->trust = trust;
	policy->trust_arg = arg;
}

void policy_set_start(struct policy *policy, int64_t now)
{
	policy->start = now;
}

bool layers_may_loosen(const struct policy *policy, uint32_t source)
{
	return policy->sources[source].layer != POLICY_PROJECT;
}

/* Settings reach out of the project: its own are not taken even when it is trusted. */
bool layers_may_set(const struct policy *policy, uint32_t source)
{
	return policy->sources[source].layer >= POLICY_COMMAND_LINE;
}

/* The strictest default of the files; @is_managed: of the managed layer alone. */
static bool layers_default(const struct policy *policy, bool is_managed, enum policy_action *ret)
{
	bool has_any = false;

	for (size_t i = 0; i < policy->source_count; i++) {
		const struct source *source = &policy->sources[i];
		enum policy_action action = (enum policy_action)source->default_action;

		if (!source->has_default || (is_managed && source->layer != POLICY_MANAGED))
			continue;
		if (action == POLICY_ALLOW && !layers_may_loosen(policy, (uint32_t)i))
			continue;
		if (!has_any || action < *ret)
			*ret = action;
		has_any = true;
	}
	return has_any;
}

bool policy_get_default(const struct policy *policy, enum policy_action *ret_action)
{
	return layers_default(policy, false, ret_action);
}

enum policy_action layers_otherwise(const struct policy *policy)
{
	enum policy_action action = POLICY_DENY, managed = POLICY_ALLOW;

	(void)layers_default(policy, false, &action);
	(void)layers_default(policy, true, &managed);
	if (policy->has_set_default)
		action = policy->set_default;
	return action < managed ? action : managed;
}

static int layers_is_policy(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name), suffix = strlen(LAYERS_SUFFIX);

	return entry->d_name[0] != '.' && len > suffix &&
	       strcmp(entry->d_name + len - suffix, LAYERS_SUFFIX) == 0;
}

static int layers_by_name(const struct dirent **left, const struct dirent **right)
{
	return strcmp((*left)->d_name, (*right)->d_name);
}

int policy_load_folder(struct policy *policy, const char *path, enum policy_layer layer)
{
	struct dirent **entries;
	int count = scandir(path, &entries, layers_is_policy, layers_by_name), worst = 0;

	if (count < 0 && errno == ENOENT)
		return 0;
	if (count < 0) {
		auto_free char *shown = text_visible_dup(path);
		struct spot spot = { .file = shown };
		int code = -errno;

		problems_add(policy, &spot, NULL, "cannot read the folder: %s", strerror(-code));
		return code;
	}
	for (int i = 0; i < count; i++) {
		auto_free char *file = mem_printf("%s/%s", path, entries[i]->d_name);
		int r = policy_load_layer(policy, file, layer);

		worst = r < 0 ? r : worst;
		free(entries[i]);
	}
	free(entries);
	return worst;
}

/* What a file of the project says that does not count. */
static size_t layers_count_ignored(const struct policy *policy, uint32_t source)
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

static void layers_note_source(struct policy *policy, uint32_t index)
{
	const struct source *source = &policy->sources[index];
	struct spot spot = { .file = source->name };
	size_t ignored = source->parent ? 0 : layers_count_ignored(policy, index);

	if (source->is_changed)
		problems_note(policy, &spot,
			      "changed since it was trusted: until `sallyport policy trust` it "
			      "only narrows");
	if (ignored > 0)
		problems_note(policy, &spot, "%zu line%s of this project's file %s not count%s",
			      ignored, ignored == 1 ? "" : "s", ignored == 1 ? "does" : "do",
			      source->layer == POLICY_PROJECT
				      ? " until it is trusted: `sallyport policy trust`"
				      : ": write, prompt-timeout, unconfined, approver, hook, "
					"reviewer, approvals on-failure, secret, socket and read "
					"are not a project's to say");
}

/* Can it be about bytes that are no plain http? */
static bool layers_goes_beyond_http(const struct policy *policy, const struct pattern *pattern)
{
	const struct pattern_port *port = &policy->ports[pattern->ports];

	if (pattern->protocol != POLICY_NO_PROTOCOL)
		return pattern->protocol != POLICY_HTTP;
	return pattern->port_count != 1 || port->first != 80 || port->last != 80;
}

/* Conditions on the HTTP request. When an address is looked at, the request is not. */
static void layers_note_request(struct policy *policy, const struct rule *rule,
				const struct spot *spot)
{
	bool loosens = rule->action != RULE_DENY && rule->action != RULE_ASK;
	char text[CLAUSES_TEXT_MAX];

	clauses_text(rule->clause_kinds & REQUEST_CONDITIONS, text);
	if (rule->action == RULE_DENY && rule->pattern.kind == PATTERN_BLOCK)
		problems_note(policy, spot, "%s: on an address this rule holds for every request",
			      text);
	else if (layers_goes_beyond_http(policy, &rule->pattern))
		problems_note(policy, spot,
			      "%s: needs inspection for https, which this version does not have; "
			      "there this rule %s",
			      text, loosens ? "allows nothing" : "holds for every request");
}

static void layers_note_rule(struct policy *policy, const struct rule *rule)
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
		problems_note(policy, &spot,
			      "%s: not enforced by this version, so this rule allows nothing",
			      text);
	else if (conditions & REQUEST_CONDITIONS)
		layers_note_request(policy, rule, &spot);
	else if (conditions)
		problems_note(policy, &spot,
			      "%s: not enforced by this version, so this rule holds for every "
			      "request",
			      text);
}

void layers_note(struct policy *policy)
{
	for (size_t i = 0; i < policy->source_count; i++)
		layers_note_source(policy, (uint32_t)i);
	for (size_t i = 0; i < policy->wide_count; i++) {
		if (policy->wides[i].clause_kinds)
			layers_note_rule(policy, &policy->wides[i]);
	}
}
