#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/clauses_impl.h"
#include "policies/diff_impl.h"
#include "policies/request_impl.h"

uint64_t *diff_set_slot(struct diff_set *set, uint64_t number)
{
	if (set->count * 2 >= set->slot_count) {
		auto_free uint64_t *old = set->slots;
		size_t count = set->slot_count;

		set->slot_count = count ? count * 2 : 1024;
		set->slots = mem_new_array(set->slot_count, sizeof(*set->slots));
		for (size_t i = 0; i < count; i++) {
			if (old[i])
				*diff_set_slot(set, old[i]) = old[i];
		}
	}
	size_t slot = (number * 0x9e3779b97f4a7c15ULL >> 20) & (set->slot_count - 1);

	while (set->slots[slot] != 0 && set->slots[slot] != number)
		slot = (slot + 1) & (set->slot_count - 1);
	return &set->slots[slot];
}

static void diff_host(struct diff *diff, const struct diff_cell *cell)
{
	bool has_change = false;

	for (size_t i = 0; i < diff->marks.port_count * DIFF_CARRIES; i++) {
		struct policy_facts facts;

		diff_decide_facts(diff, cell, i, &facts);
		for (size_t side = 0; side < 2; side++)
			diff_decide(diff->sides[side], &facts, &diff->outcomes[side][i]);
		diff->codes[i] = diff_decide_code(&diff->outcomes[0][i], &diff->outcomes[1][i], i);
		has_change |= diff->codes[i] != 0;
	}
	if (has_change && cell->addr.family != 0)
		diff_report_addresses(diff, NULL, cell);
	else if (has_change)
		diff_report_codes(diff, cell, NULL);
}

static int diff_prepare(struct diff *diff, struct err *why)
{
	diff_times(diff);
	int r = diff_cells_names(&diff->names, &diff->marks);

	if (r == 0)
		r = diff_cells_addresses(&diff->addresses, &diff->marks);
	size_t hosts = diff->names.count + diff->addresses.count;
	size_t points = diff->marks.port_count * DIFF_CARRIES;

	uint64_t limit = DIFF_DECISIONS_MAX / diff->time_count;

	if (r == 0 && (uint64_t)hosts * points > limit)
		r = -E2BIG;
	if (r == 0 && diff->marks.is_crossed &&
	    (uint64_t)diff->names.count * points * diff->addresses.count > limit)
		r = -E2BIG;
	if (r < 0)
		return err_set(why, r,
			       "too many hosts, blocks, ports and times to compare them all");
	for (size_t side = 0; side < 2; side++)
		diff->outcomes[side] = mem_new_array(points, sizeof(*diff->outcomes[side]));
	diff->codes = mem_new_array(points, sizeof(*diff->codes));
	diff->told_codes = mem_new_array(points, sizeof(*diff->told_codes));
	return 0;
}

static void diff_run_at(struct diff *diff)
{
	auto_free bool *open = mem_new_array(diff->marks.port_count * DIFF_CARRIES, sizeof(*open));

	for (size_t i = 0; i < diff->names.count; i++) {
		diff_host(diff, &diff->names.list[i]);
		/* Told apart again: what was reported is no longer in the codes. */
		for (size_t j = 0; j < diff->marks.port_count * DIFF_CARRIES; j++)
			diff->codes[j] =
				diff_decide_code(&diff->outcomes[0][j], &diff->outcomes[1][j], j);
		diff_resolve(diff, &diff->names.list[i], open);
	}
	diff->told = NULL;
	for (size_t i = 0; i < diff->addresses.count; i++)
		diff_host(diff, &diff->addresses.list[i]);
}

static void diff_run(struct diff *diff)
{
	for (diff->time = 0; diff->time < diff->time_count; diff->time++)
		diff_run_at(diff);
}

/* What a rule says by clauses that are enforced, and of which there is no request of every kind
 * here. Those that are not enforced deny, or hold always: the verdict says so by itself. */
static int diff_knows(const struct policy *policy, struct err *why)
{
	for (size_t i = 0; i < policy->rule_count; i++) {
		unsigned int known = BIT(CLAUSE_FOR) | BIT(CLAUSE_UNTIL) | BIT(CLAUSE_NO_INSPECT);
		char text[CLAUSES_TEXT_MAX];
		struct rule rule;

		rules_get_bare(policy, (uint32_t)i, &rule);
		known |= clauses_conditions(&rule) & ~REQUEST_CONDITIONS;
		known |= clauses_bounds(&rule);
		if ((rule.clause_kinds & ~known) == 0)
			continue;
		clauses_text(rule.clause_kinds & ~known, text);
		return err_set(why, -ENOTSUP, "%s:%u: rules with %s cannot be compared yet",
			       policy->sources[rule.source].name, rule.number, text);
	}
	return 0;
}

int policy_diff(const struct policy *before, const struct policy *after, size_t max,
		policy_change_fn report, void *arg, size_t *ret_count, struct err *why)
{
	struct diff diff = { .sides = { before, after }, .max = max, .report = report, .arg = arg };

	if (before->problems.count > 0 || after->problems.count > 0)
		return err_set(why, -EINVAL, "a policy with errors cannot be compared");
	int r = diff_knows(before, why);

	if (r == 0)
		r = diff_knows(after, why);
	if (r < 0)
		return r;
	diff_marks_init(&diff.marks, before, after);
	r = diff_prepare(&diff, why);

	if (r == 0) {
		diff_run(&diff);
		*ret_count = diff.count;
		r = diff.count > 0;
	}
	diff_marks_done(&diff.marks);
	free(diff.names.list);
	free(diff.addresses.list);
	free(diff.outcomes[0]);
	free(diff.outcomes[1]);
	free(diff.codes);
	free(diff.told_codes);
	free(diff.agreed.slots);
	free(diff.lines.slots);
	free(diff.times);
	return r;
}
