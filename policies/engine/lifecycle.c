/* Creates, finishes and frees a policy. */
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "policies/language/command_line_impl.h"
#include "policies/commands/commands.h"
#include "policies/language/configured_line_impl.h"
#include "policies/engine/decide_impl.h"
#include "policies/engine/image_impl.h"
#include "policies/engine/index_impl.h"
#include "policies/language/notes_impl.h"
#include "policies/policies_tools.h"
#include "policies/language/reader_impl.h"
#include "policies/engine/rules_impl.h"

struct policy *policy_new(void)
{
	static const struct pattern_port first[] = {
		[POLICY_PORTS_HTTP] = { 80, 80 },
		[POLICY_PORTS_HTTPS] = { 443, 443 },
		[POLICY_PORTS_ALL] = { 1, UINT16_MAX },
	};
	struct policy *policy = mem_new(sizeof(*policy));

	policy->commands_read = command_rules_new();
	policy->index.any_head = RULE_NONE;
	(void)rules_add_name(policy, "", 0);
	policy->ports = mem_reserve(NULL, &policy->port_room, ARRAY_SIZE(first), sizeof(first[0]));
	for (size_t i = 0; i < ARRAY_SIZE(first); i++)
		policy->ports[policy->port_count++] = first[i];
	return policy;
}

void policy_free(struct policy *policy)
{
	if (!policy)
		return;
	image_detach(policy);
	for (size_t i = 0; i < policy->source_count; i++) {
		free(policy->sources[i].name);
		free(policy->sources[i].text);
	}
	free(policy->sources);
	free(policy->rules);
	free(policy->wides);
	free(policy->exceptions);
	free(policy->ports);
	free(policy->names);
	free(policy->expects);
	free(policy->slots);
	free(policy->clauses);
	free(policy->settings);
	free(policy->command_lines);
	command_rules_free(policy->commands_read);
	command_rules_free(policy->commands);
	configured_line_free(policy->configured);
	mem_free_list(policy->configured_files);
	free(policy->problems.text);
	free(policy->notes.text);
	free(policy);
}

static void policy_check_expectation(struct policy *policy, const struct expectation *expect)
{
	const struct source *source = &policy->sources[expect->source];
	struct spot spot = { source->name, expect->number, source->text + expect->line,
			     expect->line_len, expect->column };
	struct policy_facts facts = { .dst = expect->dst, .carries = expect->dst.protocol };
	struct policy_verdict verdict;

	decide_by_rules(policy, &facts, &verdict);
	if (verdict.action == expect->action)
		return;
	problems_add(&policy->problems, &spot, NULL,
		     "this line expects %s, but the policy says %s: %s%s%s",
		     policy_action_name((enum policy_action)expect->action),
		     policy_action_name(verdict.action), policy_reason_sentence(verdict.reason),
		     verdict.rule[0] ? " " : "", verdict.rule);
}

/* Every request to a host reads all its rules, so their number delays all requests. */
static void policy_check_crowd(struct policy *policy)
{
	uint32_t number = policy->image ? 0 : index_crowded(policy);
	struct rule rule;

	if (!number)
		return;
	rules_get(policy, number - 1, &rule);
	const struct source *source = &policy->sources[rule.source];
	struct spot spot = { source->name, rule.number, source->text + rule.line, rule.line_len,
			     0 };

	problems_add(&policy->problems, &spot, NULL,
		     "this host has more than %d rules, exceptions and clauses; each request to "
		     "the host is compared with all of them, so join some",
		     INDEX_HOST_MAX);
}

int policy_finish(struct policy *policy)
{
	/* If some rules could not be read, expectations would fail for the wrong reason. */
	if (policy->problems.count > 0)
		return -EINVAL;
	index_build(policy);
	policy_check_crowd(policy);
	command_line_finish(policy);
	for (size_t i = 0; i < policy->expect_count; i++) {
		if (policy->expects[i].is_command)
			command_line_check(policy, &policy->expects[i]);
		else
			policy_check_expectation(policy, &policy->expects[i]);
	}
	notes_add(policy);
	later_line_note(policy);
	approver_line_note(policy);
	return policy->problems.count > 0 ? -EINVAL : 0;
}
