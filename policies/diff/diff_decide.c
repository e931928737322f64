#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "policies/diff/diff_impl.h"
#include "policies/engine/rules_impl.h"
#include "policies/engine/search_impl.h"

/* The protocols a request can promise; others are refused before any rule is read. */
static const enum policy_protocol diff_carries[DIFF_CARRIES] = { POLICY_TCP, POLICY_HTTP,
								 POLICY_HTTPS, POLICY_UDP };

/* How two outcomes differ, in the lowest bits of a code. */
enum decide_kind {
	DECIDE_ACTION = 1,
	DECIDE_MORE_BYTES,
	DECIDE_FEWER_BYTES,
	DECIDE_WIDER,
	DECIDE_NARROWER,
	DECIDE_LIMITS,
	DECIDE_COUNTED,
};

static uint64_t decide_code(struct diff *diff, enum decide_kind kind,
			    const struct diff_outcome *before, const struct diff_outcome *after,
			    bool has_end)
{
	uint64_t pair = diff_limits_pair(&diff->limits, before->limits, after->limits, has_end);

	return (uint64_t)kind | (uint64_t)before->action << 4 | (uint64_t)after->action << 8 |
	       pair << 12;
}

static uint64_t decide_code_of_limits(struct diff *diff, const struct diff_outcome *before,
				      const struct diff_outcome *after)
{
	static const enum decide_kind kinds[] = { [DIFF_WIDER] = DECIDE_WIDER,
						  [DIFF_NARROWER] = DECIDE_NARROWER,
						  [DIFF_OTHER] = DECIDE_LIMITS };
	enum diff_width width = diff_limits_compare(&diff->limits, before->limits, after->limits);

	return width == DIFF_ALIKE ? 0 : decide_code(diff, kinds[width], before, after, false);
}

uint64_t diff_decide_code(struct diff *diff, const struct diff_outcome *before,
			  const struct diff_outcome *after, size_t point)
{
	if (before->action != after->action)
		return decide_code(diff, DECIDE_ACTION, before, after, false);
	if (before->promise == after->promise)
		return before->limits == after->limits ? 0
						       : decide_code_of_limits(diff, before, after);
	bool is_wider = after->promise != diff_decide_carries(point);

	return decide_code(diff, is_wider ? DECIDE_MORE_BYTES : DECIDE_FEWER_BYTES, before, after,
			   false);
}

const char *diff_decide_what(uint64_t code)
{
	enum policy_action after = diff_code_action(code, true);

	switch ((enum decide_kind)(code & 15)) {
	case DECIDE_ACTION:
		return after == POLICY_ALLOW ? "newly allowed"
		       : after == POLICY_ASK ? "newly asked"
					     : "newly denied";
	case DECIDE_WIDER:
		return "wider limits";
	case DECIDE_NARROWER:
		return "narrower limits";
	case DECIDE_LIMITS:
		return "other limits";
	case DECIDE_COUNTED:
		return "limits counted in another way";
	case DECIDE_MORE_BYTES:
	case DECIDE_FEWER_BYTES:
	default:
		return "other bytes";
	}
}

enum policy_protocol diff_decide_carries(size_t number)
{
	return diff_carries[number % DIFF_CARRIES];
}

void diff_decide_facts(const struct diff *diff, const struct diff_cell *cell, size_t point,
		       struct policy_facts *ret)
{
	uint16_t port = diff->marks.ports[point / DIFF_CARRIES];

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
	ret->carries = diff_decide_carries(point);
	ret->now = diff->times[diff->time];
}

void diff_decide_dial(const struct diff *diff, size_t side, const struct policy_facts *facts,
		      const struct diff_outcome *given, const struct addr *addr,
		      struct diff_outcome *ret)
{
	const struct policy *policy = diff->sides[side];
	struct diff_outcome dialled = *given; /* @ret may be @given */
	struct policy_verdict verdict = { .action = POLICY_ALLOW,
					  .reason = (enum policy_reason)given->reason,
					  .promise = (enum policy_protocol)given->promise,
					  .may_private = given->may_private };

	/* The rule's text identifies a rule whose conditions were met. */
	if (given->rule > 0 && policy->has_address_exceptions) {
		struct rule rule;

		rules_get(policy, given->rule - 1, &rule);
		search_show(policy, &rule, verdict.rule);
	}
	policy_decide_address(policy, &facts->dst, &verdict, addr, &verdict);
	*ret = (struct diff_outcome){ .action = POLICY_DENY };
	if (verdict.action == POLICY_ALLOW)
		*ret = dialled;
}

/* A literal that can never be dialled is denied, even where a person would be asked first. */
static void decide_side(struct diff *diff, size_t side, const struct policy_facts *facts,
			struct diff_outcome *ret)
{
	struct policy_verdict verdict;

	policy_decide(diff->sides[side], facts, &verdict);
	*ret = (struct diff_outcome){ .action = (uint8_t)verdict.action,
				      .promise = (uint8_t)verdict.promise,
				      .reason = (uint8_t)verdict.reason,
				      .may_private = verdict.may_private,
				      .rule = verdict.number,
				      .limits =
					      diff_limits_number(&diff->limits, &verdict.limits) };
	if (verdict.action == POLICY_ASK && facts->dst.addr.family != 0)
		diff_decide_dial(diff, side, facts, ret, &facts->dst.addr, ret);
}

/* When a rule ends, its open connections are cut, even where another rule allows them again. A
 * difference from the earlier end on is reported there. */
static bool decide_ends_alike(struct diff *diff, const struct policy_facts *facts, size_t point,
			      const struct diff_outcome *before, const struct diff_outcome *after)
{
	int64_t left = diff_limits_until(&diff->limits, before->limits);
	int64_t right = diff_limits_until(&diff->limits, after->limits);
	struct policy_facts then = *facts;
	struct diff_outcome one, two;

	if (left == right)
		return true;
	then.now = left == 0 || (right != 0 && right < left) ? right : left;
	decide_side(diff, 0, &then, &one);
	decide_side(diff, 1, &then, &two);
	return diff_decide_code(diff, &one, &two, point) != 0;
}

uint64_t diff_decide_both(struct diff *diff, const struct policy_facts *facts, size_t point,
			  struct diff_outcome *before, struct diff_outcome *after)
{
	decide_side(diff, 0, facts, before);
	decide_side(diff, 1, facts, after);
	uint64_t code = diff_decide_code(diff, before, after, point);

	if (code != 0 || before->action == POLICY_DENY)
		return code;
	if (!decide_ends_alike(diff, facts, point, before, after))
		return decide_code(diff, DECIDE_LIMITS, before, after, true);
	if (!diff_limits_share(&diff->limits, before->limits, after->limits))
		return decide_code(diff, DECIDE_COUNTED, before, after, false);
	return 0;
}
