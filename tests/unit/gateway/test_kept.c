/* Answers that are remembered, at their end: what was taken back or is spent is no answer any more,
 * and whoever comes then is asked about anew. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/approvers/ledger_impl.h"
#include "tests/unit/gateway/fixture.h"

#define HOST "https://a.example.org:443"

static void answer_now(enum gateway_scope scope, struct approver_width width)
{
	const struct approver_answer answer = {
		.action = POLICY_ALLOW, .scope = scope, .width = width, .by = "ana"
	};

	ck_assert_int_eq(gateway_answer(fixture.gw, fixture.approver.last.id, &answer, NULL), 0);
}

static void revoke_it(struct fixture_request *self)
{
	struct approver_revoked revoked = { 0 };

	ck_assert_int_eq(gateway_revoke(fixture.gw, 1, "bob", &revoked, NULL), 0);
}

static unsigned int count_told(const struct fixture_request *requests, int count)
{
	unsigned int told = 0;

	for (int i = 0; i < count; i++)
		told += requests[i].told;
	return told;
}

/* It is taken back while it is still on its way to most of those who waited: they have no answer,
 * and least of all one without the limits of the one that was. */
START_TEST(taken_back_on_its_way)
{
	const int count = 4 * GATEWAY_TURN_MAX;
	auto_free struct fixture_request *all = mem_new_array((size_t)count, sizeof(*all));
	unsigned int told;

	fixture_open(NULL);
	for (int i = 0; i < count; i++)
		fixture_submit(&all[i], HOST, FIXTURE_EXEC);
	fixture_settle();
	answer_now(_i ? GATEWAY_EXEC : GATEWAY_SESSION,
		   (struct approver_width){ .upload_max = 4096 });
	all[0].also = revoke_it;
	fixture_settle();
	told = count_told(all, count);
	ck_assert_uint_gt(told, 0);
	ck_assert_uint_le(told, GATEWAY_TURN_MAX);
	ck_assert_uint_eq(fixture.approver.asked, 2);
	ck_assert_uint_eq(fixture.approver.last.waiting, (unsigned int)count - told);
	fixture_close();
}
END_TEST

Suite *suite_kept(void)
{
	Suite *suite = suite_create("kept");
	TCase *tcase = tcase_create("kept");

	tcase_add_loop_test(tcase, taken_back_on_its_way, 0, 2);
	suite_add_tcase(suite, tcase);
	return suite;
}
