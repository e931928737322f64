#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "policies/diff_impl.h"

/* What a request can promise; all else is refused before any rule is looked at. */
static const enum policy_protocol diff_carries[DIFF_CARRIES] = { POLICY_TCP, POLICY_HTTP,
								 POLICY_HTTPS };

uint32_t diff_decide_code(const struct diff_outcome *before, const struct diff_outcome *after,
			  size_t carries)
{
	if (before->action == after->action && before->promise == after->promise)
		return 0;
	if (before->action != after->action)
		return 1U | (uint32_t)before->action << 4 | (uint32_t)after->action << 8;
	bool is_wider = after->promise != diff_carries[carries % DIFF_CARRIES];

	return (is_wider ? 3U : 5U) | (uint32_t)before->action << 4 | (uint32_t)after->action << 8;
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
	ret->carries = diff_carries[point % DIFF_CARRIES];
	ret->now = diff->times[diff->time];
}

void diff_decide_dial(const struct policy *policy, const struct policy_facts *facts,
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
void diff_decide(const struct policy *policy, const struct policy_facts *facts,
		 struct diff_outcome *ret)
{
	struct policy_verdict verdict;

	policy_decide(policy, facts, &verdict);
	*ret = (struct diff_outcome){ (uint8_t)verdict.action, (uint8_t)verdict.promise,
				      (uint8_t)verdict.reason, verdict.may_private };
	if (verdict.action == POLICY_ASK && facts->dst.addr.family != 0)
		diff_decide_dial(policy, facts, ret, &facts->dst.addr, ret);
}
