/* Connections that depend on remembered answers: listed, revoked, ended with their time. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "gateway/approvers/ledger_impl.h"
#include "tests/unit/gateway/fixture.h"

#define HOST "https://a.example.org:443"

static struct {
	unsigned int cuts;
	struct policy_verdict cut;
	unsigned int grants, lives;
	struct approver_grant grant;
	struct approver_live live;
	char text[APPROVER_KEY_MAX], rule[POLICY_TEXT_MAX];
} it;

static void report(struct fixture_request *request, enum policy_reason closed, uint64_t up)
{
	struct gateway_report said = {
		.facts = fixture_facts(HOST, FIXTURE_EXEC),
		.ticket = take(request->pass),
		.verdict = request->verdict,
		.closed = closed,
		.bytes_up = up,
		.bytes_down = 2 * up,
	};

	gateway_report(fixture.client, &said);
}

static void on_cut(const struct policy_verdict *verdict, void *arg)
{
	it.cuts++;
	it.cut = *verdict;
	report(arg, verdict->reason, 100);
}

static void on_grant(const struct approver_grant *grant, void *arg)
{
	it.grants++;
	it.grant = *grant;
	(void)snprintf(it.text, sizeof(it.text), "%s", grant->text);
	it.grant.text = it.text;
}

static void on_live(const struct approver_live *live, void *arg)
{
	it.lives++;
	it.live = *live;
	(void)snprintf(it.rule, sizeof(it.rule), "%s", live->rule);
	it.live.rule = it.rule;
}

static void look(void)
{
	it.grants = it.lives = 0;
	gateway_each_grant(fixture.gw, on_grant, NULL);
	(void)gateway_each_live(fixture.gw, SIZE_MAX, on_live, NULL);
}

static void play(void)
{
	memset(&it, 0, sizeof(it));
	fixture_open(NULL);
	gateway_client_on_cut(fixture.client, on_cut);
}

static void allow(struct fixture_request *request, enum gateway_scope scope,
		  struct approver_width width)
{
	const struct approver_answer answer = {
		.action = POLICY_ALLOW, .scope = scope, .by = "ana on tty", .width = width
	};

	fixture_ask(request, HOST, FIXTURE_EXEC);
	ck_assert_int_eq(gateway_answer(fixture.gw, fixture.approver.last.id, &answer, NULL), 0);
	fixture_settle();
	ck_assert_int_eq(request->verdict.action, POLICY_ALLOW);
}

START_TEST(grants_and_connections_are_listed)
{
	struct fixture_request first = { 0 }, second = { 0 };

	play();
	look();
	ck_assert_uint_eq(it.grants + it.lives, 0);
	allow(&first, GATEWAY_SESSION, (struct approver_width){ .is_domain = true, .for_s = 60 });
	fixture_ask(&second, "https://b.example.org:443", FIXTURE_EXEC_TWO);
	look();
	ck_assert_uint_eq(it.grants, 1);
	ck_assert_uint_eq(it.grant.id, 1);
	ck_assert_str_eq(it.text, "https://**.example.org:443 for 1m");
	ck_assert_str_eq(it.grant.by, "ana on tty");
	ck_assert_int_eq(it.grant.until_s - it.grant.since_s, 60);
	ck_assert_uint_eq(it.grant.connections, 2);
	ck_assert_uint_eq(it.grant.live, 2);
	ck_assert_uint_eq(it.lives, 2);
	ck_assert_uint_eq(it.live.grant, 1);
	ck_assert_uint_eq(it.live.exec, FIXTURE_EXEC_TWO);
	ck_assert_str_eq(it.live.facts->dst.host, "b.example.org");
	report(&first, POLICY_DONE, 10);
	look();
	ck_assert_uint_eq(it.grant.live, 1);
	ck_assert_uint_eq(it.grant.connections, 2);
	ck_assert_uint_eq(it.grant.bytes_up, 10);
	ck_assert_uint_eq(it.grant.bytes_down, 20);
	ck_assert_uint_eq(it.lives, 1);
	fixture_close();
}
END_TEST

/* A command chooses how many connections are open: a list decides again about those that it shows,
 * and counts the others. */
START_TEST(a_list_of_connections_has_a_limit)
{
	struct fixture_request requests[3] = { 0 };

	play();
	allow(&requests[0], GATEWAY_SESSION, (struct approver_width){ 0 });
	fixture_ask(&requests[1], HOST, FIXTURE_EXEC);
	fixture_ask(&requests[2], HOST, FIXTURE_EXEC);
	ck_assert_uint_eq(gateway_each_live(fixture.gw, 2, on_live, NULL), 3);
	ck_assert_uint_eq(it.lives, 2);
	for (size_t i = 0; i < 3; i++)
		report(&requests[i], POLICY_DONE, 0);
	fixture_close();
}
END_TEST

/* Its rule is also found again by the program that asked. */
START_TEST(a_rule_for_one_command_is_shown)
{
	static const char *const argv[] = { "npm", "ci", NULL };
	struct fixture_request first = { 0 };

	memset(&it, 0, sizeof(it));
	fixture_open("allow a.example.org from \"npm ci\"\n");
	gateway_exec_set_argv(fixture.gw, FIXTURE_EXEC, argv);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	fixture_expect(&first, POLICY_ALLOW, POLICY_RULE_ALLOW);
	look();
	ck_assert_uint_eq(it.lives, 1);
	ck_assert_ptr_nonnull(strstr(it.live.rule, "from \"npm ci\""));
	fixture_close();
}
END_TEST

/* Of what a person allowed once, nothing is remembered. */
START_TEST(once_leaves_nothing)
{
	struct fixture_request first = { 0 };

	play();
	allow(&first, GATEWAY_ONCE, (struct approver_width){ 0 });
	look();
	ck_assert_uint_eq(it.grants, 0);
	ck_assert_uint_eq(it.lives, 1);
	ck_assert_uint_eq(it.live.grant, 0);
	fixture_close();
}
END_TEST

START_TEST(revoking_cuts_and_asks_again)
{
	struct fixture_request first = { 0 }, other = { 0 }, again = { 0 };
	struct approver_revoked revoked = { 0 };
	struct err why = { 0 };

	play();
	allow(&first, _i ? GATEWAY_EXEC : GATEWAY_SESSION, (struct approver_width){ 0 });
	fixture_ask(&other, HOST, FIXTURE_EXEC);
	report(&other, POLICY_DONE, 5);
	ck_assert_int_eq(gateway_revoke(fixture.gw, 99, "bob", &revoked, &why), -ENOENT);
	ck_assert_int_eq(gateway_revoke(fixture.gw, 1, "bob", &revoked, &why), 0);
	ck_assert_uint_eq(revoked.cut, 1);
	ck_assert_uint_eq(revoked.bytes_up, 5);
	ck_assert_int_eq(gateway_revoke(fixture.gw, 1, "bob", &revoked, &why), -ENOENT);
	ck_assert_uint_eq(it.cuts, 0); /* never inside the call */
	look();
	ck_assert_uint_eq(it.grants, 0);
	fixture_settle();
	ck_assert_uint_eq(it.cuts, 1);
	ck_assert_int_eq(it.cut.reason, POLICY_REVOKED);
	ck_assert_str_eq(it.cut.by, "bob");
	fixture_ask(&again, HOST, FIXTURE_EXEC);
	ck_assert_uint_eq(again.told, 0);
	ck_assert_uint_eq(fixture_count_records("closed", "revoked"), 1);
	ck_assert_uint_eq(fixture_count_records("revoked", "revoked"), 1);
	gateway_withdraw(again.ticket);
	fixture_close();
}
END_TEST

START_TEST(revoking_always_takes_the_line_out)
{
	struct fixture_request first = { 0 };
	struct approver_revoked revoked = { 0 };
	char kept[512] = "";
	struct err why = { 0 };

	play();
	allow(&first, GATEWAY_ALWAYS, (struct approver_width){ .is_domain = true });
	if (_i == 1)
		ck_assert_int_eq(unlink(fixture.answers), 0); /* by hand: it is gone already */
	ck_assert_int_eq(gateway_revoke(fixture.gw, 1, "bob", &revoked, &why), 0);
	fixture_settle();
	ck_assert_uint_eq(it.cuts, 1);
	FILE *file = fopen(fixture.answers, "r");

	ck_assert_int_eq(file != NULL, _i == 0);
	if (file) {
		ck_assert_uint_gt(fread(kept, 1, sizeof(kept) - 1, file), 0);
		ck_assert_int_eq(fclose(file), 0);
		ck_assert_str_eq(kept, "version 1\n");
	}
	fixture_close();
}
END_TEST

/* A file that cannot be changed: the answer would hold again with the next run, so it holds. */
START_TEST(what_cannot_be_taken_out_stays)
{
	struct fixture_request first = { 0 };
	struct approver_revoked revoked = { 0 };
	struct err why = { 0 };
	char aside[128];

	play();
	allow(&first, GATEWAY_ALWAYS, (struct approver_width){ 0 });
	(void)snprintf(aside, sizeof(aside), "%s.aside", fixture.answers);
	ck_assert_int_eq(rename(fixture.answers, aside), 0);
	ck_assert_int_eq(symlink(aside, fixture.answers), 0);
	ck_assert_int_lt(gateway_revoke(fixture.gw, 1, "bob", &revoked, &why), 0);
	ck_assert_str_ne(why.text, "");
	look();
	ck_assert_uint_eq(it.grants, 1);
	ck_assert_uint_eq(it.grant.live, 1);
	ck_assert_int_eq(unlink(aside), 0);
	fixture_close();
}
END_TEST

/* The line is read while the run goes on: what lived by the answer lives on, and counts as before.
 */
START_TEST(a_kept_answer_that_is_read_back_is_the_same)
{
	struct fixture_request first = { 0 }, second = { 0 }, third = { 0 };
	struct approver_revoked revoked = { 0 };
	struct policy *policy = policy_new();
	struct err why = { 0 };

	play();
	allow(&first, GATEWAY_ALWAYS,
	      (struct approver_width){ .for_s = 3600, .upload_max = 4096, .connections_max = 2 });
	policy_set_default(policy, POLICY_ASK);
	ck_assert_int_eq(policy_load_layer(policy, fixture.answers, POLICY_USER), 0);
	ck_assert_int_eq(policy_finish(policy), 0);
	gateway_reload(fixture.gw,
		       &(struct gateway_reload){ .policy = policy, .digest = "", .files = "" });
	fixture_settle();
	ck_assert_uint_eq(it.cuts, 0);
	fixture_ask(&second, HOST, FIXTURE_EXEC);
	fixture_expect(&second, POLICY_ALLOW, POLICY_GRANTED_ALWAYS);
	ck_assert_uint_eq(second.verdict.limits.account, first.verdict.limits.account);
	look();
	ck_assert_uint_eq(it.grant.live, 2);
	fixture_ask(&third, HOST, FIXTURE_EXEC);
	fixture_expect(&third, POLICY_DENY, POLICY_CONNECTIONS_SPENT);
	ck_assert_int_eq(gateway_revoke(fixture.gw, it.grant.id, "bob", &revoked, &why), 0);
	ck_assert_uint_eq(revoked.cut, 2);
	fixture_settle();
	policy_free(fixture.policy);
	fixture.policy = policy;
	fixture_close();
}
END_TEST

/* A denial of the session beats an answer that is kept in a file, however wide. */
START_TEST(a_denial_beats_a_kept_answer)
{
	const struct approver_answer no = {
		.action = POLICY_DENY,
		.scope = GATEWAY_SESSION,
		.by = "bob",
		.width = { .is_domain = true },
	};
	struct fixture_request first = { 0 }, second = { 0 };

	fixture_open("answer allow " HOST "   # by ana");
	fixture_ask(&first, "https://b.example.org:443", FIXTURE_EXEC);
	ck_assert_int_eq(gateway_answer(fixture.gw, fixture.approver.last.id, &no, NULL), 0);
	fixture_settle();
	fixture_ask(&second, HOST, FIXTURE_EXEC);
	fixture_expect(&second, POLICY_DENY, POLICY_DENIED_SESSION);
	fixture_close();
}
END_TEST

START_TEST(undo_takes_back_the_last_answer_whole)
{
	struct fixture_request requests[3] = { 0 };
	struct approver_revoked revoked = { 0 };
	const struct approver_answer exec = { POLICY_ALLOW, GATEWAY_EXEC, false, "ana" };
	char text[APPROVER_KEY_MAX];
	struct err why = { 0 };

	play();
	ck_assert_int_eq(gateway_undo(fixture.gw, 0, "bob", text, &revoked, &why), -ENOENT);
	allow(&requests[0], GATEWAY_SESSION, (struct approver_width){ 0 });
	fixture_ask(&requests[1], "tcp://b.test:22", FIXTURE_EXEC);
	fixture_ask(&requests[2], "tcp://b.test:22", FIXTURE_EXEC_TWO);
	ck_assert_int_eq(gateway_answer(fixture.gw, fixture.approver.last.id, &exec, NULL), 0);
	fixture_settle();
	look();
	ck_assert_uint_eq(it.grants, 3); /* one for each command */
	/* An approver that was shown the previous answer does not revoke this one. */
	ck_assert_int_eq(gateway_undo(fixture.gw, it.grant.answer - 1, "bob", text, &revoked, &why),
			 -ESTALE);
	look();
	ck_assert_uint_eq(it.grants, 3);
	ck_assert_int_eq(gateway_undo(fixture.gw, it.grant.answer, "bob", text, &revoked, &why), 0);
	ck_assert_str_eq(text, "allow tcp://b.test:22");
	ck_assert_uint_eq(revoked.cut, 2);
	fixture_settle();
	look();
	ck_assert_uint_eq(it.grants, 1);
	ck_assert_int_eq(gateway_undo(fixture.gw, 0, "bob", text, &revoked, &why), 0);
	ck_assert_str_eq(text, "allow " HOST);
	ck_assert_int_eq(gateway_undo(fixture.gw, 0, "bob", text, &revoked, &why), -ENOENT);
	fixture_settle();
	fixture_close();
}
END_TEST

START_TEST(time_that_is_over_cuts)
{
	struct fixture_request first = { 0 }, again = { 0 };

	play();
	allow(&first, GATEWAY_SESSION, (struct approver_width){ .is_domain = _i, .for_s = 3600 });
	loop_advance(fixture.loop, 3599 * 1000);
	fixture_settle();
	ck_assert_uint_eq(it.cuts, 0);
	loop_advance(fixture.loop, 1000);
	fixture_settle();
	ck_assert_uint_eq(it.cuts, 1);
	ck_assert_int_eq(it.cut.reason, POLICY_EXPIRED);
	look();
	ck_assert_uint_eq(it.grants, 0);
	fixture_ask(&again, HOST, FIXTURE_EXEC);
	ck_assert_uint_eq(again.told, 0);
	ck_assert_uint_eq(fixture_count_records("closed", "expired"), 1);
	ck_assert_uint_eq(fixture_count_records("revoked", "expired"), 1);
	gateway_withdraw(again.ticket);
	fixture_close();
}
END_TEST

/* The same hosts and ports again: it keeps its id, and its time begins anew. */
START_TEST(the_same_answer_again_is_renewed)
{
	static const struct socket_owner_file nobody;
	struct policy_facts facts;
	struct grants *grants;
	struct grant_order order = {
		.action = POLICY_ALLOW,
		.reason = POLICY_GRANTED_SESSION,
		.scope = GATEWAY_SESSION,
		.width = { .is_domain = _i, .for_s = 60 },
		.text = _i ? "https://**.example.org:443 for 1m"
			   : "https://a.example.org:443 for 1m",
		.by = "ana",
		.words = "",
		.since_s = 1000,
	};

	play();
	grants = &fixture.gw->grants;
	facts = fixture_facts(HOST, FIXTURE_EXEC);
	order.dst = &facts.dst;
	ck_assert_ptr_nonnull(grants_put(grants, &grants->session, &order, NULL));
	order.text = _i ? "https://**.example.org:443 for 2m" : "https://a.example.org:443 for 2m";
	order.since_s = 1050;
	order.width.for_s = 120;
	ck_assert_ptr_nonnull(grants_put(grants, &grants->session, &order, NULL));
	look();
	ck_assert_uint_eq(it.grants, 1);
	ck_assert_uint_eq(it.grant.id, 1);
	ck_assert_str_eq(it.text, order.text);
	facts.now = 1169;
	ck_assert_ptr_nonnull(grants_find(grants, FIXTURE_EXEC, 0, &facts, &nobody));
	facts.now = 1170;
	ck_assert_ptr_null(grants_find(grants, FIXTURE_EXEC, 0, &facts, &nobody));
	fixture_close();
}
END_TEST

START_TEST(one_connection_is_cut_and_no_more)
{
	struct fixture_request first = { 0 }, second = { 0 }, third = { 0 };
	struct err why = { 0 };

	play();
	allow(&first, GATEWAY_SESSION, (struct approver_width){ 0 });
	fixture_ask(&second, HOST, FIXTURE_EXEC);
	look();
	ck_assert_int_eq(gateway_cut(fixture.gw, 999, "bob", &why), -ENOENT);
	ck_assert_int_eq(gateway_cut(fixture.gw, it.live.id, "bob", &why), 0);
	ck_assert_int_eq(gateway_cut(fixture.gw, it.live.id, "bob", &why), -ENOENT);
	fixture_settle();
	ck_assert_uint_eq(it.cuts, 1);
	ck_assert_str_eq(it.cut.by, "bob");
	look();
	ck_assert_uint_eq(it.lives, 1);
	ck_assert_uint_eq(it.grants, 1);
	fixture_ask(&third, HOST, FIXTURE_EXEC);
	fixture_expect(&third, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	fixture_close();
}
END_TEST

Suite *suite_ledger(void)
{
	Suite *suite = suite_create("ledger");
	TCase *tcase = tcase_create("ledger");

	tcase_add_test(tcase, grants_and_connections_are_listed);
	tcase_add_test(tcase, a_list_of_connections_has_a_limit);
	tcase_add_test(tcase, a_rule_for_one_command_is_shown);
	tcase_add_test(tcase, once_leaves_nothing);
	tcase_add_loop_test(tcase, revoking_cuts_and_asks_again, 0, 2);
	tcase_add_loop_test(tcase, revoking_always_takes_the_line_out, 0, 2);
	tcase_add_test(tcase, what_cannot_be_taken_out_stays);
	tcase_add_test(tcase, a_kept_answer_that_is_read_back_is_the_same);
	tcase_add_test(tcase, a_denial_beats_a_kept_answer);
	tcase_add_test(tcase, undo_takes_back_the_last_answer_whole);
	tcase_add_loop_test(tcase, time_that_is_over_cuts, 0, 2);
	tcase_add_loop_test(tcase, the_same_answer_again_is_renewed, 0, 2);
	tcase_add_test(tcase, one_connection_is_cut_and_no_more);
	suite_add_tcase(suite, tcase);
	return suite;
}
