#include <stdlib.h>

#include "base/mem.h"
#include "policies/language/clauses_impl.h"
#include "policies/diff/diff_impl.h"
#include "policies/engine/rules_impl.h"

static void times_add(struct diff *diff, int64_t when)
{
	diff->times = mem_reserve(diff->times, &diff->time_room, diff->time_count + 1,
				  sizeof(*diff->times));
	diff->times[diff->time_count++] = when;
}

static int times_compare(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

static void times_add_policy(struct diff *diff, const struct policy *policy)
{
	for (size_t i = 0; i < policy->rule_count; i++) {
		struct rule rule;

		rules_get_bare(policy, (uint32_t)i, &rule);
		if (!(rule.clause_kinds & (BIT(CLAUSE_FOR) | BIT(CLAUSE_UNTIL))))
			continue;
		int64_t until = clauses_until_of(policy, &rule);

		/* Unknown: `for` without a beginning, which never holds. Rules that have ended do
		 * not count. */
		if (until != INT64_MIN && until > diff->times[0])
			times_add(diff, until);
	}
}

/* A rule with an end holds before it and not from then on, so nothing changes between two ends: the
 * beginning and each end are all the times to check. Without a beginning there is also the unknown
 * time. */
void diff_times(struct diff *diff)
{
	int64_t first = diff->sides[0]->start;
	size_t kept = 0;

	if (diff->sides[1]->start > first)
		first = diff->sides[1]->start;
	times_add(diff, first);
	for (size_t i = 0; i < 2; i++)
		times_add_policy(diff, diff->sides[i]);
	if (first <= 0 && diff->time_count > 1)
		times_add(diff, 1);
	qsort(diff->times, diff->time_count, sizeof(*diff->times), times_compare);
	for (size_t i = 1; i < diff->time_count; i++) {
		if (diff->times[i] != diff->times[kept])
			diff->times[++kept] = diff->times[i];
	}
	diff->time_count = kept + 1;
}
