#include <stddef.h>

#include "policies/language/clauses_impl.h"
#include "policies/policies_tools.h"

/* FNV-1a. Rules with the same text share a budget, wherever the line is: the budget survives a
 * reload that moved the line, and starts again when its text changes. */
static uint64_t clauses_limits_account(const struct policy *policy, const struct rule *rule)
{
	const char *line = policy->sources[rule->source].text + rule->line;
	uint64_t hash = 14695981039346656037U;

	for (uint32_t i = 0; i < rule->line_len; i++)
		hash = (hash ^ (unsigned char)line[i]) * 1099511628211U;
	return hash ? hash : 1;
}

static uint32_t clauses_limits_seconds(char unit)
{
	return unit == 'd' ? 86400 : unit == 'h' ? 3600 : unit == 'm' ? 60 : 1;
}

void clauses_limits_of(const struct policy *policy, const struct rule *rule,
		       struct policy_limits *ret)
{
	int64_t until = clauses_until_of(policy, rule);

	*ret = (struct policy_limits){ .until_s = until == INT64_MAX ? 0 : until };
	if (clauses_budgets(rule))
		ret->account = clauses_limits_account(policy, rule);
	for (uint32_t i = 0; i < rule->clause_count; i++) {
		const struct clause *clause = &policy->clauses[rule->clauses + i];

		if (clause->kind == CLAUSE_UPLOAD) {
			ret->upload = (uint64_t)clause->value;
		} else if (clause->kind == CLAUSE_DOWNLOAD) {
			ret->download = (uint64_t)clause->value;
		} else if (clause->kind == CLAUSE_CONNECTIONS) {
			ret->connections = (uint32_t)clause->value;
		} else if (clause->kind == CLAUSE_RATE) {
			ret->rate_count = (uint32_t)clause->value;
			ret->rate_s = clauses_limits_seconds(clause->unit);
		}
	}
}

static uint64_t clauses_limits_less(uint64_t left, uint64_t right)
{
	return !left || (right && right < left) ? right : left;
}

void policy_limits_narrow(struct policy_limits *limits, const struct policy_limits *more)
{
	uint64_t slower = (uint64_t)limits->rate_count * more->rate_s;

	limits->upload = clauses_limits_less(limits->upload, more->upload);
	limits->download = clauses_limits_less(limits->download, more->download);
	limits->connections = (uint32_t)clauses_limits_less(limits->connections, more->connections);
	limits->until_s =
		(int64_t)clauses_limits_less((uint64_t)limits->until_s, (uint64_t)more->until_s);
	if (more->rate_count &&
	    (!limits->rate_count || slower > (uint64_t)more->rate_count * limits->rate_s)) {
		limits->rate_count = more->rate_count;
		limits->rate_s = more->rate_s;
	}
	if (more->account)
		limits->account = more->account;
}
