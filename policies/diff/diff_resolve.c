#include <string.h>

#include "base/mem.h"
#include "policies/diff/diff_impl.h"

/* One number for the outcomes of both policies at a point; never 0. */
static uint64_t resolve_pair(const struct diff *diff, size_t point, bool is_loopback)
{
	uint64_t pair = (uint64_t)point << 2 | (is_loopback ? 2 : 0) | 1;

	for (size_t side = 0; side < 2; side++) {
		const struct diff_outcome *outcome = &diff->outcomes[side][point];

		pair = pair << 16 | (uint64_t)outcome->reason << 8 | outcome->action << 6 |
		       outcome->promise << 1 | outcome->may_private;
	}
	return pair;
}

static uint64_t resolve_code(struct diff *diff, const struct policy_facts *facts, size_t point,
			     const struct addr *addr)
{
	struct diff_outcome dialled[2];

	for (size_t side = 0; side < 2; side++)
		diff_decide_dial(diff, side, facts, &diff->outcomes[side][point], addr,
				 &dialled[side]);
	/* Differences of protocol and limits were reported for the name. */
	if (dialled[0].action != POLICY_DENY && dialled[1].action != POLICY_DENY)
		return 0;
	return diff_decide_code(diff, &dialled[0], &dialled[1], point);
}

/* Which points of @open still differ when the name resolves to the address. True: some. */
static bool resolve_at(struct diff *diff, const struct diff_cell *cell,
		       const struct diff_cell *resolved, const bool *open)
{
	size_t count = diff_points(diff);
	bool has_change = false;

	for (size_t i = 0; i < count; i++) {
		struct policy_facts facts;

		diff->codes[i] = 0;
		if (!open[i])
			continue;
		diff_decide_facts(diff, cell, i, &facts);
		diff->codes[i] = resolve_code(diff, &facts, i, &resolved->addr);
		has_change |= diff->codes[i] != 0;
	}
	return has_change;
}

/* The points not checked yet, where both policies would dial. */
static size_t resolve_open(struct diff *diff, size_t count, bool is_loopback, bool *open)
{
	size_t open_count = 0;

	for (size_t i = 0; i < count; i++) {
		uint8_t action = diff->outcomes[0][i].action;
		bool is_dialled = action != POLICY_DENY && action == diff->outcomes[1][i].action;
		uint64_t pair = resolve_pair(diff, i, is_loopback);

		open[i] = is_dialled &&
			  (diff->marks.is_crossed || *diff_set_slot(&diff->agreed, pair) == 0);
		open_count += open[i];
	}
	return open_count;
}

void diff_resolve(struct diff *diff, const struct diff_cell *cell, bool *open)
{
	size_t count = diff_points(diff);
	struct policy_destination named = { .addr = { 0 } };
	bool has_change = false;

	memcpy(named.host, cell->host, sizeof(named.host));
	bool is_loopback = policy_destination_is_loopback(&named);
	size_t open_count = resolve_open(diff, count, is_loopback, open);

	diff->told = NULL;
	for (size_t i = 0; open_count > 0 && i < diff->addresses.count; i++) {
		if (!resolve_at(diff, cell, &diff->addresses.list[i], open))
			continue;
		diff_report_addresses(diff, cell, &diff->addresses.list[i]);
		has_change = true;
	}
	for (size_t i = 0; !has_change && i < count; i++) {
		uint64_t pair = resolve_pair(diff, i, is_loopback);
		uint64_t *slot = diff_set_slot(&diff->agreed, pair);

		if (!open[i] || *slot != 0)
			continue;
		*slot = pair;
		diff->agreed.count++;
	}
}
