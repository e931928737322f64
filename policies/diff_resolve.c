#include <string.h>

#include "base/mem.h"
#include "policies/diff_impl.h"

/* Of the outcomes of both sides at a port and protocol, one number; never 0. */
static uint64_t resolve_pair(const struct diff *diff, size_t i, bool is_loopback)
{
	uint64_t pair = (uint64_t)i << 2 | (is_loopback ? 2 : 0) | 1;

	for (size_t side = 0; side < 2; side++) {
		const struct diff_outcome *outcome = &diff->outcomes[side][i];

		pair = pair << 16 | (uint64_t)outcome->reason << 8 | outcome->action << 6 |
		       outcome->promise << 1 | outcome->may_private;
	}
	return pair;
}

static uint32_t resolve_code(const struct diff *diff, const struct policy_facts *facts, size_t i,
			     const struct addr *addr)
{
	struct diff_outcome dialled[2];

	for (size_t side = 0; side < 2; side++)
		diff_decide_dial(diff->sides[side], facts, &diff->outcomes[side][i], addr,
				 &dialled[side]);
	return diff_decide_code(&dialled[0], &dialled[1], i);
}

/* Which of @open still differ when the name resolves to the address. True: some. */
static bool resolve_at(struct diff *diff, const struct diff_cell *cell,
		       const struct diff_cell *resolved, const bool *open)
{
	bool has_change = false;

	for (size_t i = 0; i < diff->marks.port_count * DIFF_CARRIES; i++) {
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

void diff_resolve(struct diff *diff, const struct diff_cell *cell, bool *open)
{
	size_t count = diff->marks.port_count * DIFF_CARRIES, open_count = 0;
	const struct policy_destination dst = { .addr = { 0 } };
	struct policy_destination named = dst;
	bool has_change = false;

	memcpy(named.host, cell->host, sizeof(named.host));
	bool is_loopback = policy_destination_is_loopback(&named);

	for (size_t i = 0; i < count; i++) {
		bool is_dialled = diff->outcomes[0][i].action != POLICY_DENY &&
				  diff->outcomes[1][i].action != POLICY_DENY && diff->codes[i] == 0;
		uint64_t pair = resolve_pair(diff, i, is_loopback);

		open[i] = is_dialled &&
			  (diff->marks.is_crossed || *diff_set_slot(&diff->agreed, pair) == 0);
		open_count += open[i];
	}
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
