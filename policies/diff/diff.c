#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/diff/diff_impl.h"

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
	size_t points = diff_points(diff);
	bool has_change = false;

	for (size_t i = 0; i < points; i++) {
		struct policy_facts facts;

		diff_decide_facts(diff, cell, i, &facts);
		diff->codes[i] = diff_decide_both(diff, &facts, i, &diff->outcomes[0][i],
						  &diff->outcomes[1][i]);
		has_change |= diff->codes[i] != 0;
	}
	if (has_change && cell->addr.family != 0)
		diff_report_addresses(diff, NULL, cell);
	else if (has_change)
		diff_report_codes(diff, cell, NULL);
}

static void diff_reserve(struct diff *diff)
{
	size_t count = diff_points(diff);

	for (size_t side = 0; side < 2; side++)
		diff->outcomes[side] = mem_new_array(count, sizeof(*diff->outcomes[side]));
	diff->codes = mem_new_array(count, sizeof(*diff->codes));
	diff->told_codes = mem_new_array(count, sizeof(*diff->told_codes));
	diff->is_told = mem_new_array(count, sizeof(*diff->is_told));
	diff->line = mem_new_array(count, sizeof(*diff->line));
}

static int diff_prepare(struct diff *diff, struct err *why)
{
	static const char too_many[] =
		"the policies have too many hosts, blocks, ports and times to compare";

	diff_times(diff);
	int r = diff_cells_names(&diff->names, &diff->marks);

	if (r == 0)
		r = diff_cells_addresses(&diff->addresses, &diff->marks);
	if (r < 0)
		return err_set(why, r, "%s", too_many);
	uint64_t limit = DIFF_DECISIONS_MAX / diff->time_count / diff_points(diff);

	if (diff->names.count + diff->addresses.count > limit ||
	    (diff->marks.is_crossed &&
	     diff->names.count > limit * diff_points(diff) / diff->addresses.count))
		return err_set(why, -E2BIG, "%s", too_many);
	diff_reserve(diff);
	return 0;
}

static void diff_run_at(struct diff *diff)
{
	auto_free bool *open = mem_new_array(diff_points(diff), sizeof(*open));

	for (size_t i = 0; i < diff->names.count; i++) {
		diff_host(diff, &diff->names.list[i]);
		diff_resolve(diff, &diff->names.list[i], open);
	}
	diff->told = NULL;
	for (size_t i = 0; i < diff->addresses.count; i++)
		diff_host(diff, &diff->addresses.list[i]);
}

static void diff_run(struct diff *diff)
{
	diff_written(diff);
	for (diff->time = 0; diff->time < diff->time_count; diff->time++)
		diff_run_at(diff);
}

static void diff_done(struct diff *diff)
{
	diff_marks_done(&diff->marks);
	diff_limits_done(&diff->limits);
	free(diff->names.list);
	free(diff->addresses.list);
	free(diff->outcomes[0]);
	free(diff->outcomes[1]);
	free(diff->codes);
	free(diff->told_codes);
	free(diff->is_told);
	free(diff->line);
	free(diff->agreed.slots);
	free(diff->lines.slots);
	free(diff->times);
}

int policy_diff(const struct policy *before, const struct policy *after, size_t max,
		policy_change_fn report, void *arg, size_t *ret_count, struct err *why)
{
	struct diff diff = { .sides = { before, after }, .max = max, .report = report, .arg = arg };

	if (before->problems.count > 0 || after->problems.count > 0)
		return err_set(why, -EINVAL, "a policy with errors cannot be compared");
	diff_marks_init(&diff.marks, before, after);
	diff_limits_init(&diff.limits);
	int r = diff_prepare(&diff, why);

	if (r == 0) {
		diff_run(&diff);
		*ret_count = diff.count;
		r = diff.count > 0;
	}
	diff_done(&diff);
	return r;
}
