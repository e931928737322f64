#include <string.h>

#include "base/fd.h"
#include "base/mem.h"
#include "policies/policies_image.h"
#include "tests/unit/policies/policies_test.h"

#define ROUNDS   policies_test_rounds(600)
#define REQUESTS 24

/* Two writings of the same rules: every request decided by the images of both. */
typedef void (*compare_fn)(const struct policy_verdict *before, const struct policy_verdict *after,
			   const char *text);

static void compare_policies(struct policies_test_random *random,
			     const struct obvious_policy *before,
			     const struct obvious_policy *after, compare_fn compare)
{
	auto_free char *before_text = obvious_text(before), *after_text = obvious_text(after);
	auto_free char *both = mem_printf("before:\n%s\nafter:\n%s", before_text, after_text);
	struct policy *left = obvious_load(before), *right = obvious_load(after);
	auto_close int left_fd = policy_image_make(left, NULL);
	auto_close int right_fd = policy_image_make(right, NULL);

	ck_assert_int_ge(left_fd, 0);
	ck_assert_int_ge(right_fd, 0);
	for (int i = 0; i < REQUESTS; i++) {
		struct policy_facts facts;
		struct policy_verdict one, two;

		obvious_request(random, &facts);
		policy_decide(left, &facts, &one);
		policy_decide(right, &facts, &two);
		compare(&one, &two, both);
	}
	policy_free(left);
	policy_free(right);
}

START_TEST(as_the_obvious_evaluator)
{
	struct policies_test_random random = { .state = 20240607 + (uint32_t)_i };
	size_t seen[3] = { 0 };

	for (size_t round = 0; round < ROUNDS; round++) {
		struct obvious_policy rules;

		obvious_make(&random, &rules);
		auto_free char *text = obvious_text(&rules);
		struct policy *policy = policies_test_load(text);

		for (int i = 0; i < REQUESTS; i++) {
			struct policy_facts facts;
			struct policy_verdict verdict;
			char shown[POLICY_DESTINATION_TEXT_MAX];

			obvious_request(&random, &facts);
			policy_decide(policy, &facts, &verdict);
			enum policy_action want = obvious_decide(&rules, &facts);

			ck_assert_msg(verdict.action == want,
				      "%s\n%s carrying %s: %s (%s), wanted %s", text,
				      policy_destination_text(&facts.dst, shown),
				      policy_protocol_name(facts.carries),
				      policy_action_name(verdict.action),
				      policy_reason_code(verdict.reason), policy_action_name(want));
			seen[verdict.action]++;
		}
		policy_free(policy);
	}
	for (size_t i = 0; i < ARRAY_SIZE(seen); i++)
		ck_assert_uint_gt(seen[i], ROUNDS); /* the requests reach all three */
}
END_TEST

/* Puts a rule somewhere among the others. */
static void insert_rule(struct policies_test_random *random, struct obvious_policy *policy,
			unsigned int action)
{
	struct obvious_policy donor;

	do {
		obvious_make(random, &donor);
	} while (donor.count == 0);
	donor.rules[0].action = action;
	if (policy->count == OBVIOUS_RULES_MAX)
		policy->count--;
	size_t at = policies_test_below(random, (uint32_t)policy->count + 1);

	memmove(&policy->rules[at + 1], &policy->rules[at],
		(policy->count - at) * sizeof(policy->rules[0]));
	policy->rules[at] = donor.rules[0];
	policy->count++;
}

static void check_allow_added(const struct policy_verdict *before,
			      const struct policy_verdict *after, const char *text)
{
	if (before->reason == POLICY_RULE_DENY || before->reason == POLICY_OUTSIDE_ONLY)
		ck_assert_msg(after->reason == before->reason, "%s", text);
	if (before->action == POLICY_ASK && before->rule[0])
		ck_assert_msg(after->action == POLICY_ASK, "%s", text);
}

static void check_deny_added(const struct policy_verdict *before,
			     const struct policy_verdict *after, const char *text)
{
	ck_assert_msg(after->action == before->action || after->reason == POLICY_RULE_DENY, "%s",
		      text);
}

static void check_answer_added(const struct policy_verdict *before,
			       const struct policy_verdict *after, const char *text)
{
	if (before->action != POLICY_ASK && before->reason != POLICY_ANSWER_ALLOW &&
	    before->reason != POLICY_ANSWER_DENY)
		ck_assert_msg(after->reason == before->reason, "%s", text);
	if (before->reason == POLICY_ANSWER_DENY)
		ck_assert_msg(after->action == POLICY_DENY, "%s", text);
}

/* 0 deny, 2 allow, 4 answer allow: the numbers of obvious.c. */
static const struct {
	unsigned int action;
	compare_fn compare;
} additions[] = {
	{ 0, check_deny_added },
	{ 2, check_allow_added },
	{ 3, check_answer_added },
	{ 4, check_answer_added },
};

START_TEST(a_rule_is_added)
{
	struct policies_test_random random = { .state = 77 + (uint32_t)_i };
	size_t number = (size_t)_i % ARRAY_SIZE(additions);

	for (size_t round = 0; round < ROUNDS; round++) {
		struct obvious_policy before;

		if (_i < (int)ARRAY_SIZE(additions))
			obvious_make(&random, &before);
		else
			obvious_make_whole(&random, &before);
		if (before.count == OBVIOUS_RULES_MAX)
			before.count--;
		struct obvious_policy after = before;

		insert_rule(&random, &after, additions[number].action);
		compare_policies(&random, &before, &after, additions[number].compare);
	}
}
END_TEST

static void check_same(const struct policy_verdict *before, const struct policy_verdict *after,
		       const char *text)
{
	ck_assert_msg(before->action == after->action && before->reason == after->reason &&
			      before->promise == after->promise &&
			      before->may_private == after->may_private,
		      "%s", text);
}

START_TEST(order_says_nothing)
{
	struct policies_test_random random = { .state = 4711 };

	for (size_t round = 0; round < ROUNDS; round++) {
		struct obvious_policy before, after;

		obvious_make(&random, &before);
		after = before;
		for (size_t i = after.count; i > 1; i--) {
			size_t j = policies_test_below(&random, (uint32_t)i);
			struct obvious_rule swapped = after.rules[i - 1];

			after.rules[i - 1] = after.rules[j];
			after.rules[j] = swapped;
		}
		compare_policies(&random, &before, &after, check_same);
	}
}
END_TEST

TCase *properties_cases(void)
{
	TCase *cases = tcase_create("properties");

	tcase_set_timeout(cases, 120);
	tcase_add_loop_test(cases, as_the_obvious_evaluator, 0, 4);
	tcase_add_loop_test(cases, a_rule_is_added, 0, 2 * ARRAY_SIZE(additions));
	tcase_add_test(cases, order_says_nothing);
	return cases;
}
