/* `except DESTINATION...`: destinations that a rule does not apply to. */
#include "policies/language/rule_line_impl.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "policies/language/configured_line_impl.h"

static bool except_loosens(const struct rule_line *rl)
{
	return rl->rule.action == RULE_ALLOW || rl->rule.action == RULE_ANSWER_ALLOW;
}

/* Can a request match both the rule and its exception? A name and an address can only where the
 * address of a name is checked: under an allow, and under a deny by address. */
static bool except_meets_host(const struct rule_line *rl, const struct pattern *pattern,
			      const struct pattern *exception)
{
	bool is_named = pattern->kind != PATTERN_BLOCK && pattern->kind != PATTERN_ANY;

	if (is_named && exception->kind == PATTERN_BLOCK)
		return except_loosens(rl);
	if (pattern->kind == PATTERN_BLOCK && exception->kind != PATTERN_BLOCK &&
	    exception->kind != PATTERN_ANY)
		return rl->rule.action == RULE_DENY;
	return match_meets(rl->policy, pattern, exception);
}

/* What an exception and its rule have in common: nothing, the host, or a request. */
enum except_meeting { MEETS_NOTHING, MEETS_HOST, MEETS };

static enum except_meeting except_meets_one(const struct rule_line *rl,
					    const struct pattern *pattern,
					    const struct pattern *exception)
{
	if (!except_meets_host(rl, pattern, exception))
		return MEETS_NOTHING;
	return match_meets_flow(rl->policy, pattern, exception, except_loosens(rl)) ? MEETS
										    : MEETS_HOST;
}

static enum except_meeting except_meets(const struct rule_line *rl, const struct pattern *exception)
{
	enum except_meeting best = MEETS_NOTHING;

	for (size_t i = 0; rl->patterns && i < rl->configured->count; i++) {
		enum except_meeting one = except_meets_one(rl, &rl->patterns[i], exception);

		best = one > best ? one : best;
	}
	if (rl->patterns)
		return best;
	/* The rule's own destination is invalid, so there is no host to compare with. */
	return rl->rule.pattern.port_count == 0
		       ? MEETS
		       : except_meets_one(rl, &rl->rule.pattern, exception);
}

/* Adds one exception, unless it can never match together with the rule. */
static bool except_add(struct rule_line *rl, const struct pattern *exception)
{
	struct policy *policy = rl->policy;

	if (except_meets(rl, exception) != MEETS)
		return false;
	if (exception->kind == PATTERN_BLOCK && rl->rule.pattern.kind != PATTERN_BLOCK &&
	    except_loosens(rl))
		policy->has_address_exceptions = true;
	policy->exceptions = mem_reserve(policy->exceptions, &policy->exception_room,
					 policy->exception_count + 1, sizeof(*policy->exceptions));
	policy->exceptions[policy->exception_count++] = *exception;
	rl->rule.exception_count++;
	return true;
}

/* Suggests @word without protocol and ports, because then those of the rule apply. */
static void except_never(struct rule_line *rl, const struct word *word,
			 const struct pattern *exception)
{
	char instead[POLICY_HOST_MAX + 80];
	const char *mark = memmem(word->text, word->len, "://", 3);
	const char *host = mark ? mark + 3 : word->text, *end = word->text + word->len;

	if (except_meets(rl, exception) == MEETS_NOTHING) {
		rule_line_problem(rl, word->at, "an exception within the rule's destination",
				  "the exception lies outside of its rule's destination");
		return;
	}
	if (exception->has_ports)
		end = memrchr(host, ':', (size_t)(end - host));
	(void)snprintf(instead, sizeof(instead), "%.*s   (has the rule's ports and protocol)",
		       (int)(end - host), host);
	rule_line_problem(rl, word->at, instead,
			  "the exception has other ports or another protocol than its rule");
}

/* Moves behind both words. */
static void except_configured(struct rule_line *rl)
{
	size_t at = rl->at, added = 0;
	struct spot spot = reader_spot(rl->line, rule_line_word(rl)->at);
	const struct configured_list *list = configured_line_ask(rl->line, at);

	rl->at += at + 1 < rl->line->words.count ? 2 : 1;
	if (!list || list->is_unknown)
		return;
	auto_free struct pattern *patterns = configured_line_patterns(rl->line, list, at);

	for (size_t i = 0; patterns && i < list->count; i++)
		added += except_add(rl, &patterns[i]);
	if (added > 0 || (list->count > 0 && !patterns))
		return;
	problems_add(&rl->policy->problems, &spot, "the line without this exception",
		     list->count == 0 ? "%s is not configured to use any host here, so this "
					"exception has no effect"
				      : "no host that %s is configured to use lies within this "
					"rule's destination",
		     list->tool);
}

bool clauses_except(struct rule_line *rl)
{
	size_t taken = 0;

	if (rl->has_except)
		rule_line_problem(rl, rule_line_word(rl)->at, "all exceptions after one `except`",
				  "this rule has `except` twice");
	rl->has_except = true;
	rl->at++;
	for (; !rule_line_is_clause_over(rl); taken++) {
		const struct word *word = rule_line_word(rl);
		struct pattern exception;

		if (words_is(word, "configured")) {
			except_configured(rl);
			continue;
		}
		rl->at++;
		if (rule_line_pattern(rl, word, &exception) == 0 && !except_add(rl, &exception))
			except_never(rl, word, &exception);
	}
	if (taken > 0)
		return true;
	rule_line_problem(rl,
			  rule_line_has_word(rl) ? rule_line_word(rl)->at : reader_end(rl->line),
			  "except admin.example.org", "`except` needs a destination");
	return false;
}
