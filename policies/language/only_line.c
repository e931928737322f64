#include <string.h>

#include "base/mem.h"
#include "policies/language/configured_line_impl.h"
#include "policies/language/rule_line_impl.h"
#include "policies/engine/rules_impl.h"

/* `only DESTINATION... [because "TEXT"]`: one rule for each destination, which allows nothing by
 * itself. */
static void only_line_add_configured(struct rule_line *rl, size_t at)
{
	const struct configured_list *list = configured_line_ask(rl->line, at);
	auto_free struct pattern *patterns =
		list ? configured_line_patterns(rl->line, list, at) : NULL;

	if (patterns)
		configured_line_add(rl->line, &rl->rule, list, patterns, at);
}

static void only_line_add(struct rule_line *rl, size_t first, size_t last)
{
	struct policy *policy = rl->policy;

	for (size_t i = first; i < last; i++) {
		const struct word *word = &rl->line->words.list[i];
		struct pattern pattern = { 0 };

		if (words_is(word, "configured")) {
			only_line_add_configured(rl, i++);
			continue;
		}
		if (rule_line_pattern(rl, word, &pattern) < 0)
			continue;
		rl->rule.pattern = pattern;
		rules_add(policy, &rl->rule);
	}
	policy->has_only = true;
}

void only_line_read(struct line *line)
{
	struct policy *policy = line->reader->policy;
	struct rule_line rl = { .line = line, .policy = policy, .at = 1 };
	size_t first = 1;

	rl.rule.action = RULE_ONLY;
	if (policy->sources[line->reader->source].layer != POLICY_MANAGED) {
		rule_line_problem(&rl, line->words.list[0].at,
				  "`deny * except ...`, or move the line to the managed layer",
				  "only the managed layer may have an `only` line");
		return;
	}
	while (rule_line_has_word(&rl) && !words_is(rule_line_word(&rl), "because"))
		rl.at++;
	size_t last = rl.at;

	if (last == first) {
		rule_line_problem(&rl, reader_end(rl.line), "only **.example.org",
				  "the destination is missing");
		return;
	}
	if (rule_line_has_word(&rl) && !rule_line_because(&rl))
		return;
	if (rule_line_has_word(&rl)) {
		rule_line_problem(&rl, rule_line_word(&rl)->at, "`because` at the end",
				  "unexpected text at the end of the line");
		return;
	}
	rule_line_place(&rl);
	only_line_add(&rl, first, last);
}
