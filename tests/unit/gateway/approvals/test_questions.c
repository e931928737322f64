#include "tests/unit/gateway/fixture.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"

#define HOST "https://a.test:443"

static void expect_asked(const char *key)
{
	char text[POLICY_DESTINATION_TEXT_MAX];

	ck_assert_str_eq(policy_destination_text(&fixture.approver.last.dst, text), key);
}

/* What is shown is the key: other bytes are another question, and not covered by its answer. */
START_TEST(other_bytes_are_another_question)
{
	struct fixture_request right = { 0 }, plain = { 0 }, later = { 0 };
	struct policy_facts facts = fixture_facts("https://a.test:443", FIXTURE_EXEC);

	fixture_open(NULL);
	facts.way = POLICY_WAY_HTTP;
	facts.carries = POLICY_HTTP;
	plain.ticket = gateway_submit(fixture.client, &facts, fixture_on_verdict, &plain);
	fixture_settle();
	expect_asked("http://a.test:443");
	ck_assert_int_eq(fixture_answer(POLICY_DENY, GATEWAY_ONCE), 0);
	fixture_expect(&plain, POLICY_DENY, POLICY_DENIED_ONCE);
	fixture_ask(&right, "https://a.test:443", FIXTURE_EXEC);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_SESSION), 0);
	fixture_expect(&right, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	later.ticket = gateway_submit(fixture.client, &facts, fixture_on_verdict, &later);
	fixture_settle();
	ck_assert_uint_eq(later.told, 0);
	expect_asked("http://a.test:443");
	gateway_withdraw(later.ticket);
	fixture_close();
}
END_TEST

/* A tunnel to any port, and what it is held to. */
static const struct {
	const char *policy, *destination;
	enum policy_way way;
	enum policy_action want;
	const char *as; /* what is promised, or asked about */
} tunnels[] = {
	{ "allow https://h.test:8443", "tcp://h.test:8443", POLICY_WAY_CONNECT, POLICY_ALLOW,
	  "https" },
	{ "allow https://h.test:8443", "tcp://h.test:8443", POLICY_WAY_SOCKS5, POLICY_ALLOW,
	  "https" },
	{ "allow http://h.test:8080", "tcp://h.test:8080", POLICY_WAY_CONNECT, POLICY_ALLOW,
	  "http" },
	{ "allow tcp://h.test:8443", "tcp://h.test:8443", POLICY_WAY_CONNECT, POLICY_ALLOW, "tcp" },
	{ "allow h.test:8443", "tcp://h.test:8443", POLICY_WAY_CONNECT, POLICY_ALLOW, "tcp" },
	{ "allow https://h.test:80", "http://h.test:80", POLICY_WAY_CONNECT, POLICY_ALLOW,
	  "https" },
	{ "allow http://h.test:443", "https://h.test:443", POLICY_WAY_SOCKS5, POLICY_ALLOW,
	  "http" },
	/* What is not TLS is allowed, and HTTP can be held to that. */
	{ "deny https://h.test:8443\nallow tcp://h.test:8443", "tcp://h.test:8443",
	  POLICY_WAY_CONNECT, POLICY_ALLOW, "http" },
	{ "deny tcp://h.test:8443\nallow https://h.test:8443", "tcp://h.test:8443",
	  POLICY_WAY_CONNECT, POLICY_DENY, NULL },
	{ "deny http://h.test:*\nallow https://h.test:8443", "tcp://h.test:8443",
	  POLICY_WAY_CONNECT, POLICY_ALLOW, "https" },
	{ "!default deny\nask https://h.test:8443", "tcp://h.test:8443", POLICY_WAY_CONNECT,
	  POLICY_ASK, "https://h.test:8443" },
	{ "ask http://h.test:8443", "tcp://h.test:8443", POLICY_WAY_CONNECT, POLICY_ASK,
	  "http://h.test:8443" },
	{ "", "tcp://h.test:8443", POLICY_WAY_CONNECT, POLICY_ASK, "tcp://h.test:8443" },
	{ "", "http://h.test:8443", POLICY_WAY_HTTP, POLICY_ASK, "http://h.test:8443" },
	{ "allow https://h.test:8443", "http://h.test:8443", POLICY_WAY_HTTP, POLICY_ASK,
	  "http://h.test:8443" },
	{ "allow tcp://h.test:8443", "http://h.test:8443", POLICY_WAY_HTTP, POLICY_ALLOW, "tcp" },
};

START_TEST(a_tunnel_is_held_to_what_is_allowed)
{
	struct fixture_request request = { 0 };
	struct policy_facts facts;

	fixture_open(tunnels[_i].policy);
	facts = fixture_facts(tunnels[_i].destination, FIXTURE_EXEC);
	facts.way = tunnels[_i].way;
	if (facts.way == POLICY_WAY_HTTP)
		facts.carries = POLICY_HTTP;
	request.ticket = gateway_submit(fixture.client, &facts, fixture_on_verdict, &request);
	fixture_settle();
	if (tunnels[_i].want == POLICY_ASK) {
		ck_assert_uint_eq(request.told, 0);
		expect_asked(tunnels[_i].as);
		ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_SESSION), 0);
		ck_assert_int_eq(request.verdict.action, POLICY_ALLOW);
	} else {
		fixture_expect(&request, tunnels[_i].want,
			       tunnels[_i].as ? POLICY_RULE_ALLOW : POLICY_RULE_DENY);
	}
	if (tunnels[_i].as && tunnels[_i].want == POLICY_ALLOW)
		ck_assert_str_eq(policy_protocol_name(request.verdict.promise), tunnels[_i].as);
	fixture_close();
}
END_TEST

START_TEST(policy_answers_without_a_question)
{
	struct fixture_request yes = { 0 }, no = { 0 };

	fixture_open("allow yes.example.org\ndeny no.example.org");
	fixture_submit(&yes, "https://yes.example.org:443", FIXTURE_EXEC);
	fixture_submit(&no, "https://no.example.org:443", FIXTURE_EXEC);
	ck_assert_uint_eq(yes.told + no.told, 0);
	fixture_settle();
	fixture_expect(&yes, POLICY_ALLOW, POLICY_RULE_ALLOW);
	fixture_expect(&no, POLICY_DENY, POLICY_RULE_DENY);
	ck_assert_uint_eq(fixture.approver.asked, 0);
	ck_assert_uint_eq(fixture_count_records("decision", NULL), 2);
	fixture_close();
}
END_TEST

START_TEST(same_key_is_one_question_from_all_ways_and_execs)
{
	struct fixture_request requests[4] = { 0 };
	struct policy_facts facts;

	fixture_open(NULL);
	fixture_ask(&requests[0], "tcp://h.test:8000", FIXTURE_EXEC);
	fixture_ask(&requests[1], "tcp://h.test:8000", FIXTURE_EXEC);
	fixture_ask(&requests[2], "tcp://h.test:8000", FIXTURE_EXEC_TWO);
	facts = fixture_facts("tcp://h.test:8000", FIXTURE_EXEC);
	facts.way = POLICY_WAY_SOCKS5;
	requests[3].ticket =
		gateway_submit(fixture.client, &facts, fixture_on_verdict, &requests[3]);
	fixture_settle();
	ck_assert_uint_eq(fixture.approver.asked, 1);
	ck_assert_uint_eq(fixture.approver.last.waiting, 4);
	ck_assert_uint_eq(fixture.approver.last.command_count, 2);
	ck_assert_str_eq(fixture.approver.last.commands[0], "npm ci");
	ck_assert_str_eq(fixture.approver.last.commands[1], "curl -sS https://example.org/");
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_ONCE), 0);
	for (int i = 0; i < 4; i++)
		fixture_expect(&requests[i], POLICY_ALLOW, POLICY_GRANTED_ONCE);
	ck_assert_int_eq(requests[0].verdict.promise, POLICY_TCP);
	ck_assert_str_eq(requests[0].verdict.by, "ana on tty");
	ck_assert_str_eq(fixture.approver.how, "allowed once by ana on tty");
	ck_assert_uint_eq(fixture_count_records("decision", "granted_once"), 4);
	fixture_close();
}
END_TEST

static const char *const other_keys[] = {
	"tcp://h.test:8443",    /* another port */
	"https://h.test:443",   /* another protocol */
	"tcp://h2.test:8000",   /* another host */
	"tcp://192.0.2.1:8000", /* an address */
};

START_TEST(other_keys_are_other_questions)
{
	struct fixture_request first = { 0 }, second = { 0 };

	fixture_open(NULL);
	fixture_ask(&first, "tcp://h.test:8000", FIXTURE_EXEC);
	fixture_ask(&second, other_keys[_i], FIXTURE_EXEC);
	ck_assert_uint_eq(fixture.approver.asked, 2);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_SESSION), 0);
	fixture_expect(&second, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	ck_assert_uint_eq(first.told, 0);
	gateway_withdraw(first.ticket);
	fixture_close();
}
END_TEST

START_TEST(a_late_joiner_after_once_asks_afresh)
{
	struct fixture_request first = { 0 }, second = { 0 };
	char id[APPROVER_ID_MAX];

	fixture_open(NULL);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	memcpy(id, fixture.approver.last.id, sizeof(id));
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_ONCE), 0);
	fixture_expect(&first, POLICY_ALLOW, POLICY_GRANTED_ONCE);
	fixture_ask(&second, HOST, FIXTURE_EXEC);
	ck_assert_uint_eq(second.told, 0);
	ck_assert_uint_eq(fixture.approver.asked, 2);
	ck_assert_str_ne(fixture.approver.last.id, id);
	gateway_withdraw(second.ticket);
	fixture_close();
}
END_TEST

/* Between the answer and the release the question is already closed: a new request cannot join
 * it. */
START_TEST(a_request_submitted_with_the_answer_asks_afresh)
{
	struct fixture_request first = { 0 }, second = { 0 };
	const struct approver_answer yes = { .action = POLICY_ALLOW, .by = "ana" };

	fixture_open(NULL);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	ck_assert_int_eq(gateway_answer(fixture.gw, fixture.approver.last.id, &yes, NULL), 0);
	ck_assert_uint_eq(first.told, 0);
	fixture_submit(&second, HOST, FIXTURE_EXEC);
	fixture_settle();
	fixture_expect(&first, POLICY_ALLOW, POLICY_GRANTED_ONCE);
	ck_assert_uint_eq(second.told, 0);
	ck_assert_uint_eq(fixture.approver.asked, 2);
	gateway_withdraw(second.ticket);
	fixture_close();
}
END_TEST

START_TEST(a_late_answer_does_nothing_and_says_so)
{
	struct fixture_request first = { 0 }, second = { 0 };
	const struct approver_answer yes = { .action = POLICY_ALLOW,
					     .scope = GATEWAY_SESSION,
					     .by = "ana" };
	char id[APPROVER_ID_MAX];
	struct err why = { 0 };

	fixture_open(NULL);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	memcpy(id, fixture.approver.last.id, sizeof(id));
	ck_assert_int_eq(fixture_answer(POLICY_DENY, GATEWAY_ONCE), 0);
	ck_assert_int_eq(gateway_answer(fixture.gw, id, &yes, &why), -ENOENT);
	ck_assert_ptr_nonnull(strstr(why.text, "the question has ended"));
	ck_assert_int_eq(gateway_answer(fixture.gw, "7f3a-999", &yes, &why), -ENOENT);
	fixture_ask(&second, HOST, FIXTURE_EXEC);
	ck_assert_uint_eq(second.told, 0);
	gateway_withdraw(second.ticket);
	fixture_close();
}
END_TEST

START_TEST(the_first_of_two_answers_wins)
{
	struct fixture_request first = { 0 };
	struct approver_answer answer = { .action = POLICY_DENY, .by = "ana" };
	char id[APPROVER_ID_MAX];

	fixture_open(NULL);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	memcpy(id, fixture.approver.last.id, sizeof(id));
	ck_assert_int_eq(gateway_answer(fixture.gw, id, &answer, NULL), 0);
	answer.action = POLICY_ALLOW;
	ck_assert_int_eq(gateway_answer(fixture.gw, id, &answer, NULL), -ENOENT);
	fixture_settle();
	fixture_expect(&first, POLICY_DENY, POLICY_DENIED_ONCE);
	fixture_close();
}
END_TEST

START_TEST(an_approver_may_answer_while_it_is_asked)
{
	const struct approver_answer yes = { .action = POLICY_ALLOW, .by = "program" };
	struct fixture_request first = { 0 };

	fixture_open(NULL);
	fixture.approver.instead = &yes;
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	ck_assert_int_eq(fixture.approver.instead_result, 0);
	fixture_expect(&first, POLICY_ALLOW, POLICY_GRANTED_ONCE);
	ck_assert_uint_eq(fixture.approver.retracted, 1);
	fixture_close();
}
END_TEST

static void count_question(const struct approver_question *question, void *arg)
{
	unsigned int *count = arg;
	const struct approver_answer no = { .action = POLICY_DENY, .by = "ana" };

	++*count;
	if (*count == 1) /* ends the one that is shown */
		ck_assert_int_eq(gateway_answer(fixture.gw, question->id, &no, NULL), 0);
}

START_TEST(every_question_is_shown_though_some_end_meanwhile)
{
	struct fixture_request requests[3] = { 0 };
	unsigned int count = 0;

	fixture_open(NULL);
	fixture_ask(&requests[0], "https://a.test:443", FIXTURE_EXEC);
	fixture_ask(&requests[1], "https://b.test:443", FIXTURE_EXEC);
	fixture_ask(&requests[2], "https://c.test:443", FIXTURE_EXEC);
	gateway_each_question(fixture.gw, count_question, &count);
	ck_assert_uint_eq(count, 3);
	fixture_settle();
	fixture_expect(&requests[0], POLICY_DENY, POLICY_DENIED_ONCE);
	gateway_withdraw(requests[1].ticket);
	gateway_withdraw(requests[2].ticket);
	fixture_close();
}
END_TEST

START_TEST(a_private_literal_is_marked_and_carries_its_leave)
{
	struct fixture_request inside = { 0 }, outside = { 0 };

	fixture_open(NULL);
	fixture_ask(&outside, "tcp://h.test:8000", FIXTURE_EXEC);
	ck_assert(!fixture.approver.last.is_private);
	gateway_withdraw(outside.ticket);
	fixture_ask(&inside, "tcp://10.1.2.3:8000", FIXTURE_EXEC);
	ck_assert(fixture.approver.last.is_private);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_ONCE), 0);
	fixture_expect(&inside, POLICY_ALLOW, POLICY_GRANTED_ONCE);
	ck_assert(inside.verdict.may_private);
	fixture_close();
}
END_TEST

Suite *suite_questions(void)
{
	Suite *suite = suite_create("questions");
	TCase *one = tcase_create("one question");

	tcase_add_test(one, other_bytes_are_another_question);
	tcase_add_loop_test(one, a_tunnel_is_held_to_what_is_allowed, 0, (int)ARRAY_SIZE(tunnels));
	tcase_add_test(one, policy_answers_without_a_question);
	tcase_add_test(one, same_key_is_one_question_from_all_ways_and_execs);
	tcase_add_loop_test(one, other_keys_are_other_questions, 0,
			    sizeof(other_keys) / sizeof(other_keys[0]));
	tcase_add_test(one, a_late_joiner_after_once_asks_afresh);
	tcase_add_test(one, a_request_submitted_with_the_answer_asks_afresh);
	tcase_add_test(one, a_late_answer_does_nothing_and_says_so);
	tcase_add_test(one, the_first_of_two_answers_wins);
	tcase_add_test(one, an_approver_may_answer_while_it_is_asked);
	tcase_add_test(one, every_question_is_shown_though_some_end_meanwhile);
	tcase_add_test(one, a_private_literal_is_marked_and_carries_its_leave);
	suite_add_tcase(suite, one);
	return suite;
}
