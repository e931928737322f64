/* A separate process writes answers for always: other requests do not wait for it, and a request
 * that waits for the answer gets it when it is stored, not before. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "gateway/approvers/ledger_impl.h"
#include "tests/unit/gateway/fixture.h"

static struct {
	char id[APPROVER_ID_MAX];
	enum policy_action action;
	struct gateway_kept kept;
	int result; /* of the last time it was given */
	unsigned int again;
	struct err why;
} it;

static void again(void *arg);

static void give(void)
{
	const struct approver_answer answer = { .action = it.action,
						.scope = GATEWAY_ALWAYS,
						.by = "ana" };

	it.result = gateway_answer(fixture.gw, it.id, &answer, &it.why);
	if (it.result == -EINPROGRESS)
		gateway_when_kept(fixture.gw, &it.kept, again, NULL);
}

static void again(void *arg)
{
	it.again++;
	give();
}

/* Asks @destination, and answers it for good while the folder's lock is somebody else's. */
static int begin(struct fixture_request *request, const char *destination)
{
	memset(&it, 0, sizeof(it));
	fixture_prepare(NULL);
	fixture.config.keeps_aside = true;
	fixture_start();
	int lock = open(fixture.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert_int_eq(flock(lock, LOCK_EX | LOCK_NB), 0);
	fixture_ask(request, destination, FIXTURE_EXEC);
	memcpy(it.id, fixture.approver.last.id, sizeof(it.id));
	it.action = POLICY_ALLOW;
	give();
	ck_assert_int_eq(it.result, -EINPROGRESS);
	fixture_settle();
	ck_assert_uint_eq(request->told, 0);
	return lock;
}

static void wait_until_given(void)
{
	while (it.result == -EINPROGRESS)
		loop_step(fixture.loop);
	fixture_settle();
}

/* NULL: no answer at all. */
static void expect_file(const char *want)
{
	char text[512] = "";
	auto_close int fd = open(fixture.answers, O_RDONLY | O_CLOEXEC);

	ck_assert(fd < 0 || read(fd, text, sizeof(text) - 1) >= 0);
	ck_assert_msg((strstr(text, want ? want : "answer") != NULL) == (want != NULL), "%s", text);
}

START_TEST(others_are_answered_meanwhile)
{
	struct fixture_request first = { 0 }, second = { 0 };
	auto_close int lock = begin(&first, "https://a.example.org:443");

	fixture_ask(&second, "https://b.example.org:443", FIXTURE_EXEC_TWO);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_ONCE), 0);
	fixture_expect(&second, POLICY_ALLOW, POLICY_GRANTED_ONCE);
	ck_assert_uint_eq(first.told, 0);
	expect_file(NULL);
	ck_assert_int_eq(flock(lock, LOCK_UN), 0);
	wait_until_given();
	ck_assert_int_eq(it.result, 0);
	ck_assert_uint_eq(it.again, 1);
	fixture_expect(&first, POLICY_ALLOW, POLICY_GRANTED_ALWAYS);
	expect_file("answer allow https://a.example.org");
	fixture_close();
}
END_TEST

/* Until it is written the question is that answer's. */
START_TEST(another_answer_comes_too_late)
{
	struct fixture_request first = { 0 };
	const struct approver_answer other = { .action = POLICY_DENY,
					       .scope = _i ? GATEWAY_ALWAYS : GATEWAY_ONCE,
					       .by = "bob" };
	auto_close int lock = begin(&first, "https://a.example.org:443");

	ck_assert_int_eq(gateway_answer(fixture.gw, it.id, &other, &it.why), -EBUSY);
	ck_assert_int_eq(flock(lock, LOCK_UN), 0);
	wait_until_given();
	ck_assert_int_eq(it.result, 0);
	fixture_expect(&first, POLICY_ALLOW, POLICY_GRANTED_ALWAYS);
	fixture_close();
}
END_TEST

START_TEST(what_cannot_be_written_is_not_granted)
{
	struct fixture_request first = { 0 };
	auto_close int lock = begin(&first, "https://a.example.org:443");

	ck_assert_int_eq(symlink("nowhere", fixture.answers), 0);
	ck_assert_int_eq(flock(lock, LOCK_UN), 0);
	wait_until_given();
	ck_assert_int_lt(it.result, 0);
	ck_assert_ptr_nonnull(strstr(it.why.text, "nothing was granted"));
	ck_assert_uint_eq(first.told, 0);
	ck_assert_int_eq(fixture_answer(POLICY_DENY, GATEWAY_ONCE), 0); /* it is open as before */
	fixture_expect(&first, POLICY_DENY, POLICY_DENIED_ONCE);
	fixture_close();
}
END_TEST

/* A disk that hangs. */
START_TEST(what_is_late_is_not_granted)
{
	struct fixture_request first = { 0 };
	auto_close int lock = begin(&first, "https://a.example.org:443");

	loop_advance(fixture.loop, 10000);
	ck_assert_int_eq(it.result, -ETIMEDOUT);
	ck_assert_uint_eq(first.told, 0);
	ck_assert_int_eq(flock(lock, LOCK_UN), 0);
	expect_file(NULL);
	ck_assert_int_eq(fixture_answer(POLICY_DENY, GATEWAY_ONCE), 0);
	fixture_close();
}
END_TEST

/* Nobody waits for the answer any more; it is an answer all the same. */
START_TEST(its_question_ends_meanwhile)
{
	struct fixture_request first = { 0 };
	auto_close int lock = begin(&first, "https://a.example.org:443");

	gateway_withdraw(first.ticket);
	fixture_settle();
	ck_assert_int_eq(flock(lock, LOCK_UN), 0);
	wait_until_given();
	ck_assert_int_eq(it.result, 0);
	expect_file("answer allow https://a.example.org");
	fixture_close();
}
END_TEST

/* And the gateway's end in the middle of it. */
START_TEST(the_gateway_ends_meanwhile)
{
	struct fixture_request first = { 0 };
	auto_close int lock = begin(&first, "https://a.example.org:443");

	fixture_close();
	ck_assert(!it.kept.is_waiting);
	ck_assert_uint_eq(it.again, 0);
}
END_TEST

static void revoke_it(void *arg)
{
	struct approver_revoked revoked = { 0 };

	it.result = gateway_revoke(fixture.gw, 1, "bob", &revoked, &it.why);
	if (it.result == -EINPROGRESS)
		gateway_when_kept(fixture.gw, &it.kept, revoke_it, NULL);
}

START_TEST(taken_back_when_the_line_is_out)
{
	struct fixture_request first = { 0 };
	auto_close int lock = begin(&first, "https://a.example.org:443");

	ck_assert_int_eq(flock(lock, LOCK_UN), 0);
	wait_until_given();
	ck_assert_int_eq(it.result, 0);
	ck_assert_int_eq(flock(lock, LOCK_EX), 0);
	revoke_it(NULL);
	ck_assert_int_eq(it.result, -EINPROGRESS);
	fixture_settle();
	expect_file("answer allow https://a.example.org");
	ck_assert_int_eq(flock(lock, LOCK_UN), 0);
	wait_until_given();
	ck_assert_int_eq(it.result, 0);
	expect_file(NULL);
	fixture_close();
}
END_TEST

Suite *suite_keeping(void)
{
	Suite *suite = suite_create("keeping");
	TCase *tcase = tcase_create("keeping");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, others_are_answered_meanwhile);
	tcase_add_loop_test(tcase, another_answer_comes_too_late, 0, 2);
	tcase_add_test(tcase, what_cannot_be_written_is_not_granted);
	tcase_add_test(tcase, what_is_late_is_not_granted);
	tcase_add_test(tcase, its_question_ends_meanwhile);
	tcase_add_test(tcase, the_gateway_ends_meanwhile);
	tcase_add_test(tcase, taken_back_when_the_line_is_out);
	suite_add_tcase(suite, tcase);
	return suite;
}
