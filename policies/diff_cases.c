#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/clauses_impl.h"
#include "policies/diff_impl.h"
#include "policies/pattern_impl.h"
#include "policies/request_impl.h"

/* The rules with conditions. Only those that name a host can tell its requests apart, so that each
 * host has the cases of its own rules. */
struct cases {
	struct diff *diff;
	uint64_t *rules; /* the side in the upper half, the index in the lower */
	size_t count, room;
};

static void cases_collect(struct cases *cases, size_t side)
{
	const unsigned int kinds = REQUEST_CONDITIONS | BIT(CLAUSE_FROM) | BIT(CLAUSE_BY);
	const struct policy *policy = cases->diff->sides[side];

	for (size_t i = 0; i < policy->rule_count; i++) {
		struct rule rule;

		rules_get_bare(policy, (uint32_t)i, &rule);
		if (!(rule.clause_kinds & kinds))
			continue;
		cases->rules = rules_reserve(cases->rules, &cases->room, cases->count + 1,
					     sizeof(*cases->rules));
		cases->rules[cases->count++] = (uint64_t)side << 32 | i;
	}
}

/* Does a rule for @pattern look at the cell's host, or at an address inside it? */
static bool cases_names(const struct policy *policy, const struct pattern *pattern,
			const struct diff_cell *cell)
{
	struct addr literal = cell->addr, embedded[SPECIAL_EMBEDDED_MAX];
	struct policy_destination dst = { .addr = cell->addr };
	struct pattern_target target = { &dst, literal.family ? &literal : NULL, POLICY_TCP };
	size_t count = 0;

	memcpy(dst.host, cell->host, sizeof(dst.host));
	special_unmap(&literal);
	if (match_host(policy, pattern, &target))
		return true;
	if (literal.family != 0)
		count = special_embedded(&literal, embedded);
	for (size_t i = 0; i < count; i++) {
		target.addr = &embedded[i];
		if (match_host(policy, pattern, &target))
			return true;
	}
	return false;
}

static int cases_of(struct cases *cases, struct diff_cell *cell)
{
	struct diff *diff = cases->diff;
	uint64_t *rules = mem_new_array(cases->count + 1, sizeof(*rules));
	size_t count = 0;

	for (size_t i = 0; i < cases->count; i++) {
		const struct policy *policy = diff->sides[cases->rules[i] >> 32];
		struct rule rule;

		rules_get_bare(policy, (uint32_t)cases->rules[i], &rule);
		if (cases_names(policy, &rule.pattern, cell))
			rules[count++] = cases->rules[i];
	}
	return diff_space_get(&diff->spaces, diff->sides, rules, count, &cell->space);
}

static int cases_of_all(struct cases *cases, struct diff_cells *cells)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < cells->count; i++)
		r = cases_of(cases, &cells->list[i]);
	return r;
}

int diff_cases_find(struct diff *diff, struct err *why)
{
	struct cases cases = { .diff = diff };

	cases_collect(&cases, 0);
	cases_collect(&cases, 1);
	int r = cases_of_all(&cases, &diff->names);

	if (r == 0)
		r = cases_of_all(&cases, &diff->addresses);
	free(cases.rules);
	if (r == -ENOTSUP)
		return err_set(why, r,
			       "rules with from cannot be compared where the command is itself a "
			       "launcher or a shell");
	if (r < 0)
		return err_set(why, r, "too many conditions on one host to compare them all");
	return 0;
}
