/* What another gate's approval service is known to keep to (docs/decisions/0015): each line of that
 * list as a test of ours, under its number; where we differ on purpose, the test says what we do.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/gateway_copies.h"
#include "tests/unit/gateway/fixture.h"

#define HOST "https://a.test:443"

static int answer_id(const char *id, enum policy_action action, enum gateway_scope scope,
		     const char *words)
{
	const struct approver_answer answer = {
		.action = action, .scope = scope, .by = "ana", .words = words
	};

	return gateway_answer(fixture.gw, id, &answer, NULL);
}

/* 1: one key in one command is one question. 2: another port is another; 14: and the question says
 * who asks it. */
START_TEST(r01_r02_r14_one_question_a_key)
{
	struct fixture_request first = { 0 }, same = { 0 }, port = { 0 };

	fixture_open(NULL);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	ck_assert_str_eq(fixture.approver.last.commands[0], "npm ci");
	fixture_ask(&same, HOST, FIXTURE_EXEC);
	ck_assert_uint_eq(fixture.approver.asked, 1);
	ck_assert_uint_eq(fixture.approver.last.waiting, 2);
	fixture_ask(&port, "tcp://a.test:8443", FIXTURE_EXEC);
	ck_assert_uint_eq(fixture.approver.asked, 2);
	fixture_close();
}
END_TEST

/* 3, 5: environments are sessions of ours, each with a gateway and grants of its own. 6, 7: a copy
 * to another session keeps every protocol and port apart, and takes the place of what was there. */
START_TEST(r03_r05_r06_r07_sessions_are_apart_until_copied)
{
	static const char *const granted[] = { "https://a.test:443", "http://a.test:80",
					       "tcp://a.test:8443" };
	struct fixture_request first[3] = { 0 }, there = { 0 }, old = { 0 }, other = { 0 };
	struct gateway *parent, *child;
	struct gateway_client *of_parent;
	struct gateway_config config;

	fixture_open(NULL);
	parent = fixture.gw;
	of_parent = fixture.client;
	for (int i = 0; i < 3; i++) {
		fixture_ask(&first[i], granted[i], FIXTURE_EXEC);
		ck_assert_int_eq(
			fixture_answer(i == 2 ? POLICY_DENY : POLICY_ALLOW, GATEWAY_SESSION), 0);
	}
	config = fixture.config;
	fixture.config.session = "sub";
	fixture.config.run = "0b1c";
	fixture.config.audit_path = NULL;
	fixture_start();
	child = fixture.gw;
	fixture_ask(&there, HOST, FIXTURE_EXEC);
	ck_assert_uint_eq(there.told, 0); /* 3, 5: not known there */
	gateway_withdraw(there.ticket);
	fixture_ask(&old, "https://old.test:443", FIXTURE_EXEC);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_SESSION), 0);

	auto_free char *text = fixture_copies(parent);
	const struct gateway_copies copies = { text, strlen(text), "test", "7f3a" };
	struct gateway_copied copied;

	ck_assert_int_eq(gateway_copy(child, &copies, &copied, NULL), 0);
	ck_assert_uint_eq(copied.copied, 3);
	fixture_settle();
	for (int i = 0; i < 3; i++) {
		struct fixture_request again = { 0 };

		fixture_ask(&again, granted[i], FIXTURE_EXEC_TWO);
		fixture_expect(&again, i == 2 ? POLICY_DENY : POLICY_ALLOW,
			       i == 2 ? POLICY_DENIED_SESSION : POLICY_GRANTED_SESSION);
	}
	fixture_ask(&other, "tcp://a.test:22", FIXTURE_EXEC);
	ck_assert_uint_eq(other.told, 0);
	gateway_withdraw(other.ticket);
	old = (struct fixture_request){ 0 };
	fixture_ask(&old, "https://old.test:443", FIXTURE_EXEC); /* 7 */
	ck_assert_uint_eq(old.told, 0);
	gateway_withdraw(old.ticket);
	gateway_free(child);
	fixture_settle();
	gateway_client_free(fixture.client);
	fixture.gw = parent;
	fixture.client = of_parent;
	fixture.config = config;
	fixture_close();
}
END_TEST

/* 4: they ask once for each command and turn. We ask once for all, and name each command. */
START_TEST(r04_commands_share_a_question)
{
	struct fixture_request first = { 0 }, second = { 0 };

	fixture_open(NULL);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	fixture_ask(&second, HOST, FIXTURE_EXEC_TWO);
	ck_assert_uint_eq(fixture.approver.asked, 1);
	ck_assert_uint_eq(fixture.approver.last.command_count, 2);
	fixture_close();
}
END_TEST

/* 8: the waiting requests get the owner's answer. 11: once and session both allow. */
START_TEST(r08_r11_waiters_get_the_decision)
{
	struct fixture_request first = { 0 }, second = { 0 };

	fixture_open(NULL);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	fixture_ask(&second, HOST, FIXTURE_EXEC_TWO);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, _i ? GATEWAY_SESSION : GATEWAY_ONCE), 0);
	fixture_expect(&first, POLICY_ALLOW, _i ? POLICY_GRANTED_SESSION : POLICY_GRANTED_ONCE);
	fixture_expect(&second, POLICY_ALLOW, first.verdict.reason);
	fixture_close();
}
END_TEST

/* 9: an owner that dies denies the requests that wait for it, and its late answers do not affect
 * the next question. This gate has no owner; here the command or the approver dies. */
START_TEST(r09_what_dies_denies_and_leaves_the_next_alone)
{
	struct fixture_request first = { 0 }, second = { 0 }, next = { 0 };
	char id[APPROVER_ID_MAX];

	fixture_open(NULL);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	fixture_ask(&second, HOST, FIXTURE_EXEC);
	memcpy(id, fixture.approver.last.id, sizeof(id));
	gateway_exec_end(fixture.gw, FIXTURE_EXEC, 1);
	fixture_settle();
	fixture_expect(&first, POLICY_DENY, POLICY_EXEC_ENDED);
	fixture_expect(&second, POLICY_DENY, POLICY_EXEC_ENDED);
	fixture_ask(&next, HOST, FIXTURE_EXEC_TWO);
	ck_assert_str_ne(fixture.approver.last.id, id);
	ck_assert_int_eq(answer_id(id, POLICY_ALLOW, GATEWAY_ONCE, NULL), -ENOENT);
	fixture_settle();
	ck_assert_uint_eq(next.told, 0);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_ONCE), 0);
	fixture_expect(&next, POLICY_ALLOW, POLICY_GRANTED_ONCE);
	fixture_close();
}
END_TEST

/* 10: an allow never ends a command. They end it with a denial; we with an abort, and nothing else:
 * one refused request is no reason to lose the rest. */
START_TEST(r10_only_an_abort_ends_a_command)
{
	struct fixture_request request = { 0 };
	const struct approver_answer abort_it = { .action = POLICY_DENY, .is_abort = true };

	fixture_open(NULL);
	fixture_ask(&request, HOST, FIXTURE_EXEC);
	if (_i < 2)
		ck_assert_int_eq(fixture_answer(_i ? POLICY_DENY : POLICY_ALLOW, GATEWAY_ONCE), 0);
	else
		ck_assert_int_eq(
			gateway_answer(fixture.gw, fixture.approver.last.id, &abort_it, NULL), 0);
	fixture_settle();
	ck_assert_uint_eq(fixture.aborts, _i == 2);
	fixture_close();
}
END_TEST

/* 12: only "never" turns questions off. */
START_TEST(r12_never_asks_nobody)
{
	struct fixture_request request = { 0 };

	fixture_open(_i ? "approvals never" : "approvals on-request");
	fixture_ask(&request, HOST, FIXTURE_EXEC);
	ck_assert_uint_eq(request.told, _i);
	if (_i)
		fixture_expect(&request, POLICY_DENY, POLICY_NO_APPROVER);
	fixture_close();
}
END_TEST

/* 13: without a sandbox of ours there is no gateway: a request of no command we started is never
 * asked about. 15, 25: theirs may be ambiguous among commands; each of ours came in by its own
 * listener. 24: and what comes of one that has ended is refused, and touches nobody. */
START_TEST(r13_r15_r24_r25_who_asks_is_known)
{
	struct fixture_request unknown = { 0 }, ended = { 0 }, open = { 0 };

	fixture_open(NULL);
	fixture_ask(&open, HOST, FIXTURE_EXEC_TWO);
	fixture_ask(&unknown, HOST, 77);
	fixture_expect(&unknown, POLICY_DENY, POLICY_EXEC_ENDED);
	gateway_exec_end(fixture.gw, FIXTURE_EXEC, 0);
	fixture_ask(&ended, HOST, FIXTURE_EXEC);
	fixture_expect(&ended, POLICY_DENY, POLICY_EXEC_ENDED);
	ck_assert_uint_eq(fixture.approver.last.waiting, 1);
	ck_assert_uint_eq(open.told + fixture.aborts, 0);
	fixture_close();
}
END_TEST

/* 16 to 21: which words win. Theirs is one text for a command; ours is a verdict for each request,
 * and none changes another. What a person said is what who waited is told, whatever policy or the
 * client's own going says later; 26: and only those who waited. */
START_TEST(r16_to_r21_r26_each_request_keeps_its_own_words)
{
	struct fixture_request ruled = { 0 }, denied = { 0 }, left = { 0 }, again = { 0 };

	fixture_open("deny no.test because \"written\"");
	fixture_ask(&ruled, "https://no.test:443", FIXTURE_EXEC);
	ck_assert_str_eq(ruled.verdict.because, "written");
	fixture_ask(&denied, HOST, FIXTURE_EXEC);
	ck_assert_int_eq(answer_id(fixture.approver.last.id, POLICY_DENY, GATEWAY_EXEC, "first"),
			 0);
	fixture_settle();
	ck_assert_str_eq(denied.verdict.because, "first");
	/* 19, 20: a disconnect does not answer, and the next answer is given. */
	fixture_ask(&left, "https://b.test:443", FIXTURE_EXEC_TWO);
	gateway_withdraw(left.ticket);
	fixture_settle();
	fixture_ask(&again, "https://b.test:443", FIXTURE_EXEC_TWO);
	ck_assert_int_eq(answer_id(fixture.approver.last.id, POLICY_DENY, GATEWAY_ONCE, "later"),
			 0);
	fixture_settle();
	ck_assert_str_eq(again.verdict.because, "later");
	/* 17, 18, 21: what stands, stands. */
	ck_assert_str_eq(denied.verdict.because, "first");
	ck_assert_str_eq(ruled.verdict.because, "written");
	fixture_close();
}
END_TEST

/* 22: words are bounded, and nothing in them can move a cursor. */
START_TEST(r22_words_are_bounded)
{
	struct fixture_request request = { 0 };
	auto_free char *words = mem_new(40001);

	memset(words, '\x1b', 40000);
	fixture_open(NULL);
	fixture_ask(&request, HOST, FIXTURE_EXEC);
	ck_assert_int_eq(answer_id(fixture.approver.last.id, POLICY_DENY, GATEWAY_SESSION, words),
			 0);
	fixture_settle();
	ck_assert_uint_lt(strlen(request.verdict.because), GATEWAY_WORDS_MAX);
	ck_assert_ptr_nonnull(strstr(request.verdict.because, "\\x1b..."));
	fixture_close();
}
END_TEST

/* 23: later requests get the same answer, however often they ask. */
START_TEST(r23_a_denial_is_told_again)
{
	struct fixture_request first = { 0 }, second = { 0 }, third = { 0 };

	fixture_open(NULL);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	ck_assert_int_eq(answer_id(fixture.approver.last.id, POLICY_DENY, GATEWAY_SESSION, "no"),
			 0);
	fixture_settle();
	fixture_ask(&second, HOST, FIXTURE_EXEC);
	fixture_ask(&third, HOST, FIXTURE_EXEC_TWO);
	fixture_expect(&second, POLICY_DENY, POLICY_DENIED_SESSION);
	fixture_expect(&third, POLICY_DENY, POLICY_DENIED_SESSION);
	ck_assert_str_eq(second.verdict.because, "no");
	ck_assert_str_eq(third.verdict.because, "no");
	fixture_close();
}
END_TEST

Suite *suite_reference(void)
{
	Suite *suite = suite_create("reference");
	TCase *tcase = tcase_create("reference");

	tcase_add_test(tcase, r01_r02_r14_one_question_a_key);
	tcase_add_test(tcase, r03_r05_r06_r07_sessions_are_apart_until_copied);
	tcase_add_test(tcase, r04_commands_share_a_question);
	tcase_add_loop_test(tcase, r08_r11_waiters_get_the_decision, 0, 2);
	tcase_add_test(tcase, r09_what_dies_denies_and_leaves_the_next_alone);
	tcase_add_loop_test(tcase, r10_only_an_abort_ends_a_command, 0, 3);
	tcase_add_loop_test(tcase, r12_never_asks_nobody, 0, 2);
	tcase_add_test(tcase, r13_r15_r24_r25_who_asks_is_known);
	tcase_add_test(tcase, r16_to_r21_r26_each_request_keeps_its_own_words);
	tcase_add_test(tcase, r22_words_are_bounded);
	tcase_add_test(tcase, r23_a_denial_is_told_again);
	suite_add_tcase(suite, tcase);
	return suite;
}
