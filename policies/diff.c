#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/diff_impl.h"
#include "policies/policies_tools.h"

/* What a request can promise; all else is refused before any rule is looked at. */
static const enum policy_protocol diff_carries[DIFF_CARRIES] = { POLICY_TCP, POLICY_HTTP,
								 POLICY_HTTPS };

/* All of a verdict that says what may happen. */
struct diff_outcome {
	uint8_t action, promise, reason;
	bool may_private;
};

/* How two outcomes differ: their actions and promises, or 0. Equal codes read alike. */
static uint32_t diff_code(const struct diff_outcome *before, const struct diff_outcome *after,
			  size_t carries)
{
	if (before->action == after->action && before->promise == after->promise)
		return 0;
	if (before->action != after->action)
		return 1U | (uint32_t)before->action << 4 | (uint32_t)after->action << 8;
	bool is_wider = after->promise != diff_carries[carries % DIFF_CARRIES];

	return (is_wider ? 3U : 5U) | (uint32_t)before->action << 4 | (uint32_t)after->action << 8;
}

struct diff {
	const struct policy *sides[2];
	struct diff_marks marks;
	struct diff_cells names, addresses;
	size_t max, count;
	policy_change_fn report;
	void *arg;
	/* Of the host at hand, by port and protocol. */
	struct diff_outcome *outcomes[2];
	uint32_t *codes;
	/* Of the addresses told last, which may read like those at hand: public and private ones of
	 * a block. */
	uint32_t *told_codes;
	const struct diff_cell *told;
	/* Pairs of outcomes that were found to agree on every address: the name says nothing there.
	 */
	uint64_t *agreed;
	size_t agreed_count, agreed_slots;
};

static void diff_set_facts(const struct diff_cell *cell, uint16_t port,
			   enum policy_protocol carries, struct policy_facts *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (cell->addr.family != 0) {
		char text[ADDR_TEXT_MAX];

		(void)snprintf(ret->dst.host, sizeof(ret->dst.host), "%s",
			       addr_text(&cell->addr, text));
		ret->dst.addr = cell->addr;
	} else {
		memcpy(ret->dst.host, cell->host, sizeof(ret->dst.host));
	}
	ret->dst.port = port;
	ret->dst.protocol = policy_protocol_of_port(port);
	ret->carries = carries;
}

/* May @addr be dialled, after all? A question is taken as answered with yes: for what may happen
 * then. */
static void diff_dial(const struct policy *policy, const struct policy_facts *facts,
		      const struct diff_outcome *given, const struct addr *addr,
		      struct diff_outcome *ret)
{
	struct policy_verdict verdict = { .action = POLICY_ALLOW,
					  .reason = (enum policy_reason)given->reason,
					  .promise = (enum policy_protocol)given->promise,
					  .may_private = given->may_private },
			      dialled;
	uint8_t action = given->action, promise = given->promise; /* @ret may be @given */

	policy_decide_address(policy, &facts->dst, &verdict, addr, &dialled);
	*ret = (struct diff_outcome){ .action = POLICY_DENY };
	if (dialled.action == POLICY_ALLOW)
		*ret = (struct diff_outcome){ .action = action, .promise = promise };
}

/* A literal that can never be dialled is denied, also where a person would be asked first. */
static void diff_decide(const struct policy *policy, const struct policy_facts *facts,
			struct diff_outcome *ret)
{
	struct policy_verdict verdict;

	policy_decide(policy, facts, &verdict);
	*ret = (struct diff_outcome){ (uint8_t)verdict.action, (uint8_t)verdict.promise,
				      (uint8_t)verdict.reason, verdict.may_private };
	if (verdict.action == POLICY_ASK && facts->dst.addr.family != 0)
		diff_dial(policy, facts, ret, &facts->dst.addr, ret);
}

static const char *diff_what(enum policy_action before, enum policy_action after)
{
	if (before == after)
		return "other bytes";
	return after == POLICY_ALLOW ? "newly allowed"
	       : after == POLICY_ASK ? "newly asked"
				     : "newly denied";
}

static void diff_report(struct diff *diff, const struct diff_cell *cell,
			const struct diff_cell *resolved, size_t port, size_t carries)
{
	char text[DIFF_TEXT_MAX], block[DIFF_TEXT_MAX] = "", example[POLICY_DESTINATION_TEXT_MAX],
				  address[ADDR_TEXT_MAX] = "";
	uint32_t code = diff->codes[port * DIFF_CARRIES + carries];
	struct policy_facts facts;
	struct policy_change change = { .before = (enum policy_action)(code >> 4 & 15),
					.after = (enum policy_action)(code >> 8 & 15),
					.destination = text,
					.resolved = block,
					.example = example,
					.example_address = address };

	if (diff->count++ >= diff->max)
		return;
	change.what = diff_what(change.before, change.after);
	diff_text_destination(&diff->marks, cell, &diff->codes[carries], code,
			      policy_protocol_name(diff_carries[carries]), text, sizeof(text));
	diff_set_facts(cell, diff->marks.ports[port], diff_carries[carries], &facts);
	facts.dst.protocol = facts.carries;
	(void)policy_destination_text(&facts.dst, example);
	if (resolved) {
		diff_text(&diff->marks, resolved, block, sizeof(block));
		(void)addr_text(&resolved->addr, address);
	}
	diff->report(&change, diff->arg);
}

static void diff_clear(struct diff *diff, size_t port, size_t carries)
{
	uint32_t code = diff->codes[port * DIFF_CARRIES + carries];

	for (size_t i = port; i < diff->marks.port_count; i++) {
		if (diff->codes[i * DIFF_CARRIES + carries] == code)
			diff->codes[i * DIFF_CARRIES + carries] = 0;
	}
}

/* Is the change at @port the same for what promises http or https, at every port it has? Then the
 * line for tcp, which covers them, says all. */
static bool diff_covers_all(const struct diff *diff, size_t carries, uint32_t code)
{
	for (size_t i = 0; i < diff->marks.port_count; i++) {
		const uint32_t *codes = &diff->codes[i * DIFF_CARRIES];

		if ((codes[0] == code) != (codes[carries] == code))
			return false;
	}
	return true;
}

/* One line for each protocol and each way to differ, at all its ports. */
static void diff_report_codes(struct diff *diff, const struct diff_cell *cell,
			      const struct diff_cell *resolved)
{
	for (size_t port = 0; port < diff->marks.port_count; port++) {
		for (size_t carries = 0; carries < DIFF_CARRIES; carries++) {
			uint32_t code = diff->codes[port * DIFF_CARRIES + carries];

			if (code == 0)
				continue;
			diff_report(diff, cell, resolved, port, carries);
			for (size_t i = 1; carries == 0 && i < DIFF_CARRIES; i++) {
				if (diff_covers_all(diff, i, code))
					diff_clear(diff, port, i);
			}
			diff_clear(diff, port, carries);
		}
	}
}

/* @cell: addresses. Tells them unless the line would be there already. */
static void diff_report_addresses(struct diff *diff, const struct diff_cell *host,
				  const struct diff_cell *cell)
{
	size_t bytes = diff->marks.port_count * DIFF_CARRIES * sizeof(*diff->codes);
	const struct diff_cell *told = diff->told;

	if (told && !cell->is_carrier && !told->is_carrier && told->mark == cell->mark &&
	    told->addr.family == cell->addr.family &&
	    memcmp(diff->told_codes, diff->codes, bytes) == 0)
		return;
	diff->told = cell;
	memcpy(diff->told_codes, diff->codes, bytes);
	diff_report_codes(diff, host ? host : cell, host ? cell : NULL);
}

static void diff_host(struct diff *diff, const struct diff_cell *cell)
{
	bool has_change = false;

	for (size_t i = 0; i < diff->marks.port_count * DIFF_CARRIES; i++) {
		struct policy_facts facts;

		diff_set_facts(cell, diff->marks.ports[i / DIFF_CARRIES],
			       diff_carries[i % DIFF_CARRIES], &facts);
		for (size_t side = 0; side < 2; side++)
			diff_decide(diff->sides[side], &facts, &diff->outcomes[side][i]);
		diff->codes[i] = diff_code(&diff->outcomes[0][i], &diff->outcomes[1][i], i);
		has_change |= diff->codes[i] != 0;
	}
	if (has_change && cell->addr.family != 0)
		diff_report_addresses(diff, NULL, cell);
	else if (has_change)
		diff_report_codes(diff, cell, NULL);
}

/* Of the outcomes of both sides at a port and protocol, one number; never 0. */
static uint64_t diff_pair(const struct diff *diff, size_t i, bool is_loopback)
{
	uint64_t pair = (uint64_t)i << 2 | (is_loopback ? 2 : 0) | 1;

	for (size_t side = 0; side < 2; side++) {
		const struct diff_outcome *outcome = &diff->outcomes[side][i];

		pair = pair << 16 | (uint64_t)outcome->reason << 8 | outcome->action << 6 |
		       outcome->promise << 1 | outcome->may_private;
	}
	return pair;
}

/* The slot of @pair, or the free one where it belongs. */
static uint64_t *diff_agreed(struct diff *diff, uint64_t pair)
{
	if (diff->agreed_count * 2 >= diff->agreed_slots) {
		auto_free uint64_t *old = diff->agreed;
		size_t count = diff->agreed_slots;

		diff->agreed_slots = count ? count * 2 : 1024;
		diff->agreed = mem_new_array(diff->agreed_slots, sizeof(*diff->agreed));
		for (size_t i = 0; i < count; i++) {
			if (old[i])
				*diff_agreed(diff, old[i]) = old[i];
		}
	}
	size_t slot = (pair * 0x9e3779b97f4a7c15ULL >> 20) & (diff->agreed_slots - 1);

	while (diff->agreed[slot] != 0 && diff->agreed[slot] != pair)
		slot = (slot + 1) & (diff->agreed_slots - 1);
	return &diff->agreed[slot];
}

static uint32_t diff_resolved_code(const struct diff *diff, const struct policy_facts *facts,
				   size_t i, const struct addr *addr)
{
	struct diff_outcome dialled[2];

	for (size_t side = 0; side < 2; side++)
		diff_dial(diff->sides[side], facts, &diff->outcomes[side][i], addr, &dialled[side]);
	return diff_code(&dialled[0], &dialled[1], i);
}

/* Which of @open still differ when the name resolves to the address. True: some. */
static bool diff_resolve(struct diff *diff, const struct diff_cell *cell,
			 const struct diff_cell *resolved, const bool *open)
{
	bool has_change = false;

	for (size_t i = 0; i < diff->marks.port_count * DIFF_CARRIES; i++) {
		struct policy_facts facts;

		diff->codes[i] = 0;
		if (!open[i])
			continue;
		diff_set_facts(cell, diff->marks.ports[i / DIFF_CARRIES],
			       diff_carries[i % DIFF_CARRIES], &facts);
		diff->codes[i] = diff_resolved_code(diff, &facts, i, &resolved->addr);
		has_change |= diff->codes[i] != 0;
	}
	return has_change;
}

/* Where both sides would dial the name: every kind of address it can resolve to. */
static void diff_addresses_of(struct diff *diff, const struct diff_cell *cell, bool *open)
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
		uint64_t pair = diff_pair(diff, i, is_loopback);

		open[i] = is_dialled && (diff->marks.is_crossed || *diff_agreed(diff, pair) == 0);
		open_count += open[i];
	}
	diff->told = NULL;
	for (size_t i = 0; open_count > 0 && i < diff->addresses.count; i++) {
		if (!diff_resolve(diff, cell, &diff->addresses.list[i], open))
			continue;
		diff_report_addresses(diff, cell, &diff->addresses.list[i]);
		has_change = true;
	}
	for (size_t i = 0; !has_change && i < count; i++) {
		uint64_t pair = diff_pair(diff, i, is_loopback);
		uint64_t *slot = diff_agreed(diff, pair);

		if (!open[i] || *slot != 0)
			continue;
		*slot = pair;
		diff->agreed_count++;
	}
}

static int diff_prepare(struct diff *diff, struct err *why)
{
	int r = diff_cells_names(&diff->names, &diff->marks);

	if (r == 0)
		r = diff_cells_addresses(&diff->addresses, &diff->marks);
	size_t hosts = diff->names.count + diff->addresses.count;
	size_t points = diff->marks.port_count * DIFF_CARRIES;

	if (r == 0 && (uint64_t)hosts * points > DIFF_DECISIONS_MAX)
		r = -E2BIG;
	if (r == 0 && diff->marks.is_crossed &&
	    (uint64_t)diff->names.count * points * diff->addresses.count > DIFF_DECISIONS_MAX)
		r = -E2BIG;
	if (r < 0)
		return err_set(why, r, "too many hosts, blocks and ports to compare them all");
	for (size_t side = 0; side < 2; side++)
		diff->outcomes[side] = mem_new_array(points, sizeof(*diff->outcomes[side]));
	diff->codes = mem_new_array(points, sizeof(*diff->codes));
	diff->told_codes = mem_new_array(points, sizeof(*diff->told_codes));
	return 0;
}

static void diff_run(struct diff *diff)
{
	auto_free bool *open = mem_new_array(diff->marks.port_count * DIFF_CARRIES, sizeof(*open));

	for (size_t i = 0; i < diff->names.count; i++) {
		diff_host(diff, &diff->names.list[i]);
		/* Told apart again: what was reported is no longer in the codes. */
		for (size_t j = 0; j < diff->marks.port_count * DIFF_CARRIES; j++)
			diff->codes[j] = diff_code(&diff->outcomes[0][j], &diff->outcomes[1][j], j);
		diff_addresses_of(diff, &diff->names.list[i], open);
	}
	diff->told = NULL;
	for (size_t i = 0; i < diff->addresses.count; i++)
		diff_host(diff, &diff->addresses.list[i]);
}

/* Clauses and `only` need requests of their own to compare. Until there are any, "the same" would
 * be a guess. */
static int diff_knows(const struct policy *policy, struct err *why)
{
	for (size_t i = 0; i < policy->rule_count; i++) {
		struct policy_rule_look look;
		struct rule rule;

		rules_get_bare(policy, (uint32_t)i, &rule);
		if (rule.clause_count == 0 && rule.action != RULE_ONLY)
			continue;
		policy_rule_look(policy, i + 1, NULL, &look);
		return err_set(why, -ENOTSUP,
			       "%s: rules with clauses, and `only`, cannot be compared yet",
			       look.rule);
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
	free(diff.agreed);
	return r;
}
