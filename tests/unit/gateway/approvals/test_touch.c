/* A question that a person is at does not run out under the hands: its deadline moves, once and
 * not far. */
#include "tests/unit/gateway/fixture.h"

#include <errno.h>
#include <string.h>

#define HOST "https://a.test:443"

static void step_to(int64_t *at_ms, int64_t to_ms)
{
	loop_advance(fixture.loop, to_ms - *at_ms);
	*at_ms = to_ms;
	fixture_settle();
}

/* How long a question has that is touched at some time, in ms since it was asked. */
static const struct {
	int64_t timeout_ms, at_ms, end_ms;
} touches[] = {
	{ 300000, 0, 300000 }, /* long enough as it is */
	{ 300000, 240000, 300000 }, { 300000, 290000, 350000 }, { 60000, 1, 60001 },
	{ 60000, 59000, 119000 },   { 10000, 1000, 20000 }, /* twice its time, and no more */
	{ 10000, 9999, 20000 },
};

START_TEST(its_end_moves_once)
{
	struct fixture_request request = { 0 };
	int64_t now_ms = 0, end_ms = touches[_i].end_ms;
	unsigned int changed;
	char id[APPROVER_ID_MAX];

	fixture_prepare(NULL);
	fixture.config.prompt_timeout_ms = touches[_i].timeout_ms;
	fixture_start();
	fixture_ask(&request, HOST, FIXTURE_EXEC);
	ck_assert(!fixture.approver.last.is_touched);
	memcpy(id, fixture.approver.last.id, sizeof(id));
	step_to(&now_ms, touches[_i].at_ms);
	changed = fixture.approver.changed;
	ck_assert_int_eq(gateway_touch(fixture.gw, id), 0);
	fixture_settle();
	ck_assert_uint_eq(fixture.approver.changed, changed + 1); /* and everybody is told */
	ck_assert(fixture.approver.last.is_touched);
	ck_assert_int_eq(fixture.approver.last.left_ms, end_ms - now_ms);
	step_to(&now_ms, end_ms - 1);
	ck_assert_uint_eq(request.told, 0);
	ck_assert_int_eq(gateway_touch(fixture.gw, id), 0); /* no more */
	step_to(&now_ms, end_ms);
	fixture_expect(&request, POLICY_DENY, POLICY_PROMPT_TIMEOUT);
	ck_assert_int_eq(gateway_touch(fixture.gw, id), -ENOENT);
	fixture_close();
}
END_TEST

/* The same question again is a question, with a time of its own. */
START_TEST(a_question_asked_again_is_touched_again)
{
	struct fixture_request request = { 0 }, again = { 0 };
	char id[APPROVER_ID_MAX];

	fixture_open(NULL);
	fixture_ask(&request, HOST, FIXTURE_EXEC);
	memcpy(id, fixture.approver.last.id, sizeof(id));
	ck_assert_int_eq(gateway_touch(fixture.gw, id), 0);
	gateway_withdraw(request.ticket);
	fixture_settle();
	fixture_ask(&again, HOST, FIXTURE_EXEC);
	ck_assert_str_eq(fixture.approver.last.id, id);
	ck_assert(!fixture.approver.last.is_touched);
	ck_assert_int_eq(gateway_touch(fixture.gw, id), 0);
	gateway_withdraw(again.ticket);
	fixture_settle();
	ck_assert_int_eq(gateway_touch(fixture.gw, "7f3a-99"), -ENOENT);
	ck_assert_int_eq(gateway_touch(fixture.gw, ""), -ENOENT);
	fixture_close();
}
END_TEST

Suite *suite_touch(void)
{
	Suite *suite = suite_create("touch");
	TCase *tcase = tcase_create("touched questions");

	tcase_add_loop_test(tcase, its_end_moves_once, 0, sizeof(touches) / sizeof(touches[0]));
	tcase_add_test(tcase, a_question_asked_again_is_touched_again);
	suite_add_tcase(suite, tcase);
	return suite;
}
