#include "tests/unit/policies/policies_test.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "policies/policies_tools.h"

struct policy *policies_test_load(const char *text)
{
	struct policy *policy = policy_new();
	int r = policy_load_text(policy, "<test>", text);

	if (r == 0)
		r = policy_finish(policy);
	ck_assert_msg(r == 0, "%s\n%s", text, policy_errors(policy));
	return policy;
}

size_t policies_test_rounds(size_t all)
{
	return getenv("TEST_QUICK") ? (all + 5) / 6 : all;
}

void policies_test_facts(const char *request, struct policy_facts *ret)
{
	bool is_absolute_form = strncmp(request, "http+", 5) == 0;
	struct err why = { 0 };

	memset(ret, 0, sizeof(*ret));
	ck_assert_msg(policy_destination_parse(request + (is_absolute_form ? 5 : 0), &ret->dst,
					       &why) == 0,
		      "%s: %s", request, why.text);
	ret->carries = is_absolute_form ? POLICY_HTTP : ret->dst.protocol;
	ret->dst.protocol = policy_protocol_of_port(ret->dst.port);
}

void policies_test_decide(const struct policy *policy, const char *request,
			  struct policy_verdict *ret)
{
	struct policy_facts facts;

	policies_test_facts(request, &facts);
	policy_decide(policy, &facts, ret);
}

uint32_t policies_test_below(struct policies_test_random *random, uint32_t bound)
{
	uint32_t x = random->state ? random->state : 2463534242U;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	random->state = x;
	return x % bound;
}
