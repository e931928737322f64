#include "tests/unit/gateway/fixture.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/approvers/table.h"
#include "gateway/gateway_open.h"
#include "gateway/gateway_agent.h"

#define HOST "https://a.test:443"

/* What the program was told, in words, one line each. */
static struct {
	char log[1 << 16];
	size_t len;
	struct approver_question question; /* the last; its texts died with the call */
	bool is_inside;                    /* one of its own calls */
	const struct approver_answer *instead;
} told;

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *format, ...)
{
	va_list args;

	ck_assert(!told.is_inside);
	va_start(args, format);
	told.len +=
		(size_t)vsnprintf(told.log + told.len, sizeof(told.log) - told.len, format, args);
	va_end(args);
	ck_assert_uint_lt(told.len, sizeof(told.log));
}

static void on_question(const struct approver_question *question, void *arg)
{
	note("asked %s %s waiting %u of exec %d\n", question->id, question->dst.host,
	     question->waiting, (int)question->execs[0]);
	told.question = *question;
	if (told.instead)
		ck_assert_int_eq(gateway_embedded_answer(fixture.gw, question->id, told.instead,
							 question->typed, NULL, NULL),
				 0);
}

static void on_update(const struct approver_question *question, void *arg)
{
	note("changed %s waiting %u\n", question->id, question->waiting);
}

static void on_retract(const struct approver_end *end, void *arg)
{
	note("over %s %s: %s\n", end->id, policy_reason_code(end->reason), end->how);
}

static const char *const whose[] = { "nobody", "policy", "person", "review", "network" };

static void on_exec_event(uint64_t exec, const struct gateway_exec_event *event, void *arg)
{
	switch (event->kind) {
	case GATEWAY_EXEC_DENIED:
		note("exec %d denied %s %s by %s (%s) x%u%s%s\n", (int)exec, event->dst->host,
		     policy_reason_code(event->reason), whose[event->whose], event->by,
		     event->times, event->cause[0] ? ": " : "", event->cause);
		break;
	case GATEWAY_EXEC_ALLOWED:
		note("exec %d allowed %s %s\n", (int)exec, event->dst->host,
		     policy_reason_code(event->reason));
		break;
	case GATEWAY_EXEC_WAITING:
		note("exec %d waits on %u\n", (int)exec, event->questions);
		break;
	case GATEWAY_EXEC_ENDED:
		note("exec %d ended, dropped %d\n", (int)exec, (int)event->dropped);
		break;
	}
}

static const struct gateway_embedded program = {
	.on_question = on_question,
	.on_update = on_update,
	.on_retract = on_retract,
	.on_exec_event = on_exec_event,
};

/* The gateway of the fixture, with the program as its only approver. */
static void open_with(const char *policy, const struct gateway_embedded *embedded)
{
	static const struct approver_ops *const table[] = { &embedded_approver, NULL };
	struct err why = { 0 };

	memset(&told, 0, sizeof(told));
	fixture_prepare(policy);
	fixture.config.embedded = embedded;
	fixture.gw = gateway_open_with(fixture.loop, &fixture.config, table, &why);
	ck_assert_msg(fixture.gw != NULL, "%s", why.text);
	fixture.client = gateway_client_new(fixture.gw);
	gateway_exec_begin(fixture.gw, FIXTURE_EXEC, "npm ci");
	gateway_exec_begin(fixture.gw, FIXTURE_EXEC_TWO, "curl");
	fixture_settle();
}

static void open(const char *policy)
{
	open_with(policy, &program);
}

static void expect_told(const char *text)
{
	ck_assert_str_eq(told.log, text);
	told.len = 0;
	told.log[0] = '\0';
}

static int answer(const struct approver_answer *said, const char *typed, char *ret_text,
		  struct err *why)
{
	char id[APPROVER_ID_MAX];

	memcpy(id, told.question.id, sizeof(id));
	told.is_inside = true;
	int r = gateway_embedded_answer(fixture.gw, id, said, typed, ret_text, why);

	told.is_inside = false;
	return r;
}

static const struct approver_answer yes = { .action = POLICY_ALLOW, .by = "ana on chat" };
static const struct approver_answer no = { .action = POLICY_DENY,
					   .by = "ana on chat",
					   .words = "not that one" };

START_TEST(a_question_is_told_and_answered)
{
	struct fixture_request first = { 0 }, second = { 0 };
	const struct approver_answer session = { .action = POLICY_ALLOW,
						 .scope = GATEWAY_SESSION,
						 .by = "ana on chat",
						 .width = { .for_s = 3600 } };
	char text[APPROVER_KEY_MAX];

	open(NULL);
	fixture_submit(&first, HOST, FIXTURE_EXEC);
	ck_assert_str_eq(told.log, "");
	fixture_settle();
	expect_told("exec 1 waits on 1\nasked 7f3a-1 a.test waiting 1 of exec 1\n");
	fixture_ask(&second, HOST, FIXTURE_EXEC_TWO);
	expect_told("exec 2 waits on 1\nchanged 7f3a-1 waiting 2\n");
	ck_assert_int_eq(answer(&session, told.question.typed, text, NULL), 0);
	ck_assert_str_eq(text, "https://a.test:443 for 1h");
	fixture_settle();
	fixture_expect(&first, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	fixture_expect(&second, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	ck_assert_str_eq(first.verdict.by, "ana on chat");
	ck_assert_ptr_nonnull(strstr(told.log, "over 7f3a-1 granted_session: allowed for session "
					       "by ana on chat: https://a.test:443 for 1h\n"));
	ck_assert_ptr_nonnull(strstr(told.log, "exec 1 allowed a.test granted_session\n"));
	ck_assert_ptr_nonnull(strstr(told.log, "exec 2 waits on 0\n"));
	ck_assert_int_eq(answer(&yes, told.question.typed, NULL, NULL), -ENOENT);
	fixture_close();
}
END_TEST

/* Nobody is asked twice for the same, and an unknown domain needs its name typed. */
START_TEST(a_risky_one_has_to_be_typed)
{
	struct fixture_request request = { 0 };
	struct err why = { 0 };

	open(NULL);
	fixture_ask(&request, "tcp://host.a.test:22", FIXTURE_EXEC);
	ck_assert_uint_ne(told.question.risk & APPROVER_RAW_TCP, 0);
	ck_assert_str_eq(told.question.typed, "a.test");
	ck_assert_int_eq(answer(&yes, NULL, NULL, &why), -EACCES);
	ck_assert_ptr_nonnull(strstr(why.text, "type a.test"));
	ck_assert_int_eq(answer(&yes, "A.test", NULL, &why), -EACCES);
	ck_assert_int_eq(answer(&yes, "", NULL, &why), -EACCES);
	fixture_settle();
	ck_assert_uint_eq(request.told, 0);
	ck_assert_int_eq(answer(&yes, "a.test", NULL, &why), 0);
	fixture_settle();
	fixture_expect(&request, POLICY_ALLOW, POLICY_GRANTED_ONCE);
	fixture_close();
}
END_TEST

START_TEST(a_denial_needs_nothing_typed)
{
	struct fixture_request request = { 0 };

	open(NULL);
	fixture_ask(&request, HOST, FIXTURE_EXEC);
	ck_assert_int_eq(answer(&no, NULL, NULL, NULL), 0);
	fixture_settle();
	fixture_expect(&request, POLICY_DENY, POLICY_DENIED_ONCE);
	ck_assert_str_eq(request.verdict.because, "not that one");
	ck_assert_ptr_nonnull(
		strstr(told.log, "exec 1 denied a.test denied_once by person (ana on chat) x1\n"));
	fixture_close();
}
END_TEST

static const struct approver_answer bad[] = {
	{ .action = POLICY_ASK, .by = "x" },
	{ .action = POLICY_ALLOW, .scope = (enum gateway_scope)7, .by = "x" },
	{ .action = POLICY_ALLOW, .is_abort = true, .by = "x" },
	{ .action = POLICY_ALLOW, .width = { .is_domain = true }, .by = "x" },
	{ .action = POLICY_ALLOW, .scope = GATEWAY_SESSION, .width = { .for_s = -1 }, .by = "x" },
	{ .action = POLICY_DENY,
	  .scope = GATEWAY_SESSION,
	  .width = { .upload_max = 1 },
	  .by = "x" },
};

START_TEST(what_is_no_answer_does_nothing)
{
	struct fixture_request request = { 0 };

	open(NULL);
	fixture_ask(&request, HOST, FIXTURE_EXEC);
	ck_assert_int_eq(answer(&bad[_i], told.question.typed, NULL, NULL), -EINVAL);
	fixture_settle();
	ck_assert_uint_eq(request.told, 0);
	fixture_close();
}
END_TEST

START_TEST(it_may_answer_while_it_is_told)
{
	struct fixture_request request = { 0 };

	open(NULL);
	told.instead = &no;
	fixture_ask(&request, HOST, FIXTURE_EXEC);
	fixture_expect(&request, POLICY_DENY, POLICY_DENIED_ONCE);
	ck_assert_ptr_nonnull(strstr(told.log, "over 7f3a-1 denied_once: denied once"));
	fixture_close();
}
END_TEST

/* Asked and over in one go: nobody hears of either. */
START_TEST(what_was_never_told_ends_unheard_of)
{
	struct approver_question question = { .id = "7f3a-77" };
	const struct approver_end end = { .id = "7f3a-77", .by = "", .how = "over" };
	struct approver_seat seat;

	open(NULL);
	seat = fixture.gw->approvers[0];
	seat.ops->ask(seat.self, &question);
	seat.ops->changed(seat.self, &question);
	seat.ops->retract(seat.self, &end);
	seat.ops->retract(seat.self, &end);
	fixture_settle();
	expect_told("");
	fixture_close();
}
END_TEST

/* An end and a new beginning with one id are told in that order. */
START_TEST(one_that_comes_back_is_told_after_its_end)
{
	struct fixture_request request = { 0 }, again = { 0 };

	open(NULL);
	fixture_ask(&request, HOST, FIXTURE_EXEC);
	expect_told("exec 1 waits on 1\nasked 7f3a-1 a.test waiting 1 of exec 1\n");
	told.is_inside = true;
	gateway_withdraw(request.ticket);
	told.is_inside = false;
	fixture_ask(&again, HOST, FIXTURE_EXEC);
	expect_told("exec 1 waits on 0\n"
		    "over 7f3a-1 client_left: The client disconnected before the answer.\n"
		    "exec 1 waits on 1\n"
		    "asked 7f3a-1 a.test waiting 1 of exec 1\n");
	gateway_withdraw(again.ticket);
	fixture_close();
}
END_TEST

START_TEST(with_nobody_in_front_of_it_questions_are_denied)
{
	struct fixture_request request = { 0 }, later = { 0 }, back = { 0 };

	open(NULL);
	fixture_ask(&request, HOST, FIXTURE_EXEC);
	gateway_embedded_attach(fixture.gw, false);
	fixture_settle();
	fixture_expect(&request, POLICY_DENY, POLICY_APPROVER_GONE);
	fixture_ask(&later, HOST, FIXTURE_EXEC);
	fixture_expect(&later, POLICY_DENY, POLICY_NO_APPROVER);
	ck_assert_ptr_nonnull(strstr(told.log, "exec 1 denied a.test no_approver by nobody () x1"));
	gateway_embedded_attach(fixture.gw, true);
	fixture_ask(&back, HOST, FIXTURE_EXEC);
	ck_assert_uint_eq(back.told, 0);
	fixture_close();
	ck_assert_ptr_null(strstr(told.log, "gate_closing")); /* it is told nothing any more */
}
END_TEST

/* It gets facts and cannot answer: it does not count as an approver. */
START_TEST(it_may_only_listen)
{
	static const struct gateway_embedded listener = { .on_exec_event = on_exec_event };
	struct fixture_request request = { 0 };

	open_with(NULL, &listener);
	ck_assert_uint_eq(fixture.gw->approver_count, 0);
	gateway_embedded_attach(fixture.gw, true);
	fixture_ask(&request, HOST, FIXTURE_EXEC);
	fixture_expect(&request, POLICY_DENY, POLICY_NO_APPROVER);
	expect_told("exec 1 denied a.test no_approver by nobody () x1\n");
	fixture_close();
}
END_TEST

Suite *suite_embedded(void)
{
	Suite *suite = suite_create("embedded");
	TCase *tcase = tcase_create("a program that answers");

	tcase_add_test(tcase, a_question_is_told_and_answered);
	tcase_add_test(tcase, a_risky_one_has_to_be_typed);
	tcase_add_test(tcase, a_denial_needs_nothing_typed);
	tcase_add_loop_test(tcase, what_is_no_answer_does_nothing, 0, sizeof(bad) / sizeof(bad[0]));
	tcase_add_test(tcase, it_may_answer_while_it_is_told);
	tcase_add_test(tcase, what_was_never_told_ends_unheard_of);
	tcase_add_test(tcase, one_that_comes_back_is_told_after_its_end);
	tcase_add_test(tcase, with_nobody_in_front_of_it_questions_are_denied);
	tcase_add_test(tcase, it_may_only_listen);
	suite_add_tcase(suite, tcase);
	return suite;
}
