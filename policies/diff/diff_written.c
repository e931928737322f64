#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policies/language/clauses_impl.h"
#include "policies/diff/diff_impl.h"
#include "policies/files/layers_impl.h"
#include "policies/policies_agent.h"
#include "policies/engine/request_impl.h"
#include "policies/engine/rules_impl.h"
#include "policies/engine/search_impl.h"
#include "policies/hosts/special_impl.h"

/* A condition can depend on infinitely many requests, so rules with conditions are not evaluated
 * but compared as text (docs/decisions/0011). Both policies decide a host that such a rule names
 * alike if they have the same lines for it; any other line is reported. */
#define WRITTEN_LOOKS_MAX                                                                          \
	(1ULL << 26) /* after this many comparisons, lines are reported without one */

struct written_line {
	const char *text; /* unterminated, of the policy */
	size_t len;
	unsigned int layer;
};

struct written {
	struct diff *diff;
	struct written_line *lines[2]; /* of each side's rules, sorted */
};

static bool written_has_conditions(const struct rule *rule)
{
	return (rule->clause_kinds & (REQUEST_CONDITIONS | BIT(CLAUSE_FROM) | BIT(CLAUSE_BY))) != 0;
}

static struct written_line written_line_of(const struct policy *policy, const struct rule *rule)
{
	const struct source *source = &policy->sources[rule->source];

	return (struct written_line){ source->text + rule->line, rule->line_len, source->layer };
}

static int written_compare(const void *left, const void *right)
{
	const struct written_line *a = left, *b = right;
	int r = memcmp(a->text, b->text, a->len < b->len ? a->len : b->len);

	if (r != 0)
		return r;
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return (a->layer > b->layer) - (a->layer < b->layer);
}

/* Does a rule for @pattern apply to the cell's host, or to an address inside it? */
static bool written_names(const struct policy *policy, const struct pattern *pattern,
			  const struct diff_cell *cell)
{
	struct addr literal = cell->addr, embedded[SPECIAL_EMBEDDED_MAX];
	struct policy_destination dst = { .addr = cell->addr };
	struct pattern_target target = { &dst, literal.family ? &literal : NULL, POLICY_TCP };
	size_t count = 0;

	memcpy(dst.host, cell->host, sizeof(dst.host));
	addr_unmap(&literal);
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

static void written_flag(struct written *written, const struct policy *policy,
			 const struct pattern *pattern)
{
	struct diff_cells *const all[] = { &written->diff->names, &written->diff->addresses };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		for (size_t j = 0; j < all[i]->count; j++) {
			struct diff_cell *cell = &all[i]->list[j];

			cell->has_conditions |= written_names(policy, pattern, cell);
		}
	}
}

/* Marks the hosts named by rules of @side with conditions. True: there is such a rule. */
static bool written_find(struct written *written, size_t side)
{
	const struct policy *policy = written->diff->sides[side];
	bool has_conditions = false;

	for (size_t i = 0; i < policy->rule_count; i++) {
		struct rule rule;

		rules_get_bare(policy, (uint32_t)i, &rule);
		if (!written_has_conditions(&rule))
			continue;
		has_conditions = true;
		written_flag(written, policy, &rule.pattern);
	}
	return has_conditions;
}

static void written_read(struct written *written, size_t side)
{
	const struct policy *policy = written->diff->sides[side];

	written->lines[side] = mem_new_array(policy->rule_count + 1, sizeof(*written->lines[side]));
	for (size_t i = 0; i < policy->rule_count; i++) {
		struct rule rule;

		rules_get(policy, (uint32_t)i, &rule);
		written->lines[side][i] = written_line_of(policy, &rule);
	}
	qsort(written->lines[side], policy->rule_count, sizeof(*written->lines[side]),
	      written_compare);
}

static bool written_names_flagged(const struct written *written, const struct policy *policy,
				  const struct pattern *pattern)
{
	const struct diff_cells *const all[] = { &written->diff->names, &written->diff->addresses };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		for (size_t j = 0; j < all[i]->count; j++) {
			const struct diff_cell *cell = &all[i]->list[j];

			if (cell->has_conditions && written_names(policy, pattern, cell))
				return true;
		}
	}
	return false;
}

static void written_tell(struct diff *diff, size_t side, const char *text)
{
	const struct policy_change change = {
		.what = side == 0 ? "only in the first" : "only in the second",
		.rule = text,
		.destination = "",
		.resolved = "",
		.example = "",
		.example_address = "",
		.from = "",
		.limits = { "", "" },
	};

	diff_report(diff, &change);
}

/* Reports the rules of @side that the other policy lacks and that share a host with a condition. */
static void written_tell_rules(struct written *written, size_t side)
{
	const struct policy *policy = written->diff->sides[side];
	size_t others = written->diff->sides[!side]->rule_count;
	uint64_t looks = 0;

	for (size_t i = 0; i < policy->rule_count; i++) {
		char text[POLICY_TEXT_MAX];
		struct rule rule;

		rules_get(policy, (uint32_t)i, &rule);
		const struct written_line line = written_line_of(policy, &rule);

		if (bsearch(&line, written->lines[!side], others, sizeof(line), written_compare))
			continue;
		looks += written->diff->names.count + written->diff->addresses.count;
		if (!written_has_conditions(&rule) && looks <= WRITTEN_LOOKS_MAX &&
		    !written_names_flagged(written, policy, &rule.pattern))
			continue;
		search_show(policy, &rule, text);
		written_tell(written->diff, side, text);
	}
}

/* The default, and whether questions are allowed, also matter besides conditions. */
static void written_tell_otherwise(struct diff *diff)
{
	enum policy_action otherwise[2];
	char approvals[2][POLICY_TEXT_MAX];
	bool may_not[2];

	for (size_t side = 0; side < 2; side++) {
		otherwise[side] = layers_otherwise(diff->sides[side]);
		may_not[side] = policy_may_not_ask(diff->sides[side], POLICY_ABOUT_NETWORK,
						   approvals[side]);
	}
	for (size_t side = 0; side < 2; side++) {
		auto_free char *text =
			mem_printf("default %s", policy_action_name(otherwise[side]));

		if (otherwise[0] != otherwise[1])
			written_tell(diff, side, text);
		if (may_not[side] && !may_not[!side])
			written_tell(diff, side, approvals[side]);
	}
}

void diff_written(struct diff *diff)
{
	struct written written = { .diff = diff };
	bool has_conditions = written_find(&written, 0);

	has_conditions |= written_find(&written, 1);
	if (!has_conditions)
		return;
	for (size_t side = 0; side < 2; side++)
		written_read(&written, side);
	for (size_t side = 0; side < 2; side++)
		written_tell_rules(&written, side);
	written_tell_otherwise(diff);
	free(written.lines[0]);
	free(written.lines[1]);
}
