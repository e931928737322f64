/* Answers that are wider than their question: the shown text is exactly what is kept and granted.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "gateway/approvals/approval.h"
#include "tests/unit/gateway/fixture.h"

#define HOUR 3600

static const struct {
	const char *destination;
	struct approver_width width;
	int want;
	const char *text;
} texts[] = {
	{ "https://a.example.org:443", { 0 }, 0, "https://a.example.org:443" },
	{ "https://a.example.org:443", { .is_domain = true }, 0, "https://**.example.org:443" },
	{ "https://a.b.example.co.uk:443",
	  { .is_domain = true },
	  0,
	  "https://**.example.co.uk:443" },
	{ "tcp://a.example.org:22", { .is_every_port = true }, 0, "tcp://a.example.org:*" },
	{ "http://a.example.org:80",
	  { .is_domain = true, .is_every_port = true, .for_s = HOUR },
	  0,
	  "http://**.example.org:* for 1h" },
	{ "https://a.example.org:443", { .for_s = 1 }, 0, "https://a.example.org:443 for 1s" },
	{ "https://a.example.org:443", { .for_s = 90 }, 0, "https://a.example.org:443 for 90s" },
	{ "https://a.example.org:443", { .for_s = 5400 }, 0, "https://a.example.org:443 for 90m" },
	{ "https://a.example.org:443",
	  { .for_s = 7 * 86400 },
	  0,
	  "https://a.example.org:443 for 7d" },
	{ "tcp://192.0.2.1:22", { .is_every_port = true }, 0, "tcp://192.0.2.1:*" },
	{ "tcp://[2001:db8::1]:22", { .for_s = HOUR }, 0, "tcp://[2001:db8::1]:22 for 1h" },
	{ "tcp://10.1.2.3:22", { .is_every_port = true }, 0, "tcp://10.1.2.3:*" },
	{ "https://a.example.org:443",
	  { .is_domain = true,
	    .for_s = HOUR,
	    .upload_max = 65536,
	    .download_max = 3 << 20,
	    .connections_max = 4 },
	  0,
	  "https://**.example.org:443 for 1h upload 64k download 3m connections 4" },
	{ "https://a.example.org:443",
	  { .upload_max = 1025 },
	  0,
	  "https://a.example.org:443 upload 1025" },
	{ "https://a.example.org:443",
	  { .download_max = UINT64_C(1) << 40 },
	  0,
	  "https://a.example.org:443 download 1024g" },
	{ "https://a.example.org:443", { .download_max = (UINT64_C(1) << 40) + 1 }, -EINVAL, NULL },
	{ "https://a.example.org:443", { .connections_max = 65536 }, -EINVAL, NULL },
	/* A wildcard on a public suffix is everybody's. */
	{ "https://github.io:443", { .is_domain = true }, -EINVAL, NULL },
	{ "https://co.uk:443", { .is_domain = true }, -EINVAL, NULL },
	{ "https://ana.github.io:443", { .is_domain = true }, 0, "https://**.ana.github.io:443" },
	{ "https://intranet:443", { .is_domain = true }, -EINVAL, NULL },
	{ "tcp://192.0.2.1:22", { .is_domain = true }, -EINVAL, NULL },
	{ "https://a.example.org:443", { .for_s = -1 }, -EINVAL, NULL },
	{ "https://a.example.org:443", { .for_s = INT64_MAX }, -EINVAL, NULL },
	{ "https://a.example.org:443", { .is_program = true }, -ENOTSUP, NULL },
};

START_TEST(the_text_is_what_would_be_granted)
{
	struct approver_answer answer = { .action = POLICY_ALLOW,
					  .scope = GATEWAY_SESSION,
					  .by = "ana",
					  .width = texts[_i].width };
	struct fixture_request request = { 0 };
	char text[APPROVER_KEY_MAX] = "untouched";
	struct err why = { 0 };

	fixture_open(NULL);
	fixture_ask(&request, texts[_i].destination, FIXTURE_EXEC);
	ck_assert_int_eq(
		gateway_answer_text(fixture.gw, fixture.approver.last.id, &answer, text, &why),
		texts[_i].want);
	ck_assert_str_eq(text, texts[_i].text ? texts[_i].text : "untouched");
	ck_assert_int_eq(why.text[0] != '\0', texts[_i].want < 0);
	ck_assert_int_eq(gateway_answer(fixture.gw, fixture.approver.last.id, &answer, NULL),
			 texts[_i].want);
	fixture_settle();
	ck_assert_uint_eq(request.told, texts[_i].want == 0);
	if (texts[_i].text)
		ck_assert_str_eq(TAILQ_FIRST(&fixture.gw->grants.all)->text, texts[_i].text);
	else
		ck_assert(TAILQ_EMPTY(&fixture.gw->grants.all));
	gateway_withdraw(request.ticket);
	fixture_close();
}
END_TEST

/* What was on a screen is not what would be stored: nothing is, whatever led to it. */
START_TEST(what_was_not_shown_is_not_stored)
{
	struct approver_answer answer = { .action = _i ? POLICY_DENY : POLICY_ALLOW,
					  .scope = GATEWAY_SESSION,
					  .by = "ana",
					  .shown = "https://a.test:443",
					  .width = { .is_every_port = true } };
	struct fixture_request request = { 0 };
	struct err why = { 0 };

	fixture_open(NULL);
	fixture_ask(&request, "https://a.test", FIXTURE_EXEC);
	ck_assert_int_eq(gateway_answer(fixture.gw, fixture.approver.last.id, &answer, &why),
			 -ESTALE);
	ck_assert_ptr_nonnull(strstr(why.text, "differs from what was shown"));
	ck_assert(TAILQ_EMPTY(&fixture.gw->grants.all));
	ck_assert_uint_eq(request.told, 0);
	answer.width.is_every_port = false;
	ck_assert_int_eq(gateway_answer(fixture.gw, fixture.approver.last.id, &answer, &why), 0);
	fixture_settle();
	ck_assert_uint_eq(request.told, 1);
	gateway_withdraw(request.ticket);
	fixture_close();
}
END_TEST

/* As if @program held the connection, which is this file now. */
static void ask_by_file(struct fixture_request *request, const char *program, uint64_t inode)
{
	fixture_submit(request, "https://a.example.org:443", FIXTURE_EXEC);
	struct waiter *waiter = (struct waiter *)request->ticket;

	waiter->was_looked_up = true;
	waiter->program = program;
	waiter->program_file.inode = inode;
	fixture_settle();
}

static void ask_by(struct fixture_request *request, const char *program)
{
	ask_by_file(request, program, 7);
}

START_TEST(an_answer_for_one_program_is_for_no_other)
{
	static const char *const argv[] = { "sh", NULL };
	struct approver_answer answer = { .action = POLICY_ALLOW,
					  .scope = GATEWAY_SESSION,
					  .by = "ana",
					  .width = { .is_program = true } };
	struct fixture_request first = { 0 }, other = { 0 }, unknown = { 0 }, second = { 0 },
			       swapped = { 0 };
	char text[APPROVER_KEY_MAX];

	fixture_open(NULL);
	gateway_exec_set_argv(fixture.gw, FIXTURE_EXEC, argv);
	ask_by(&first, "/bin/a");
	ask_by(&other, "/bin/b");
	ask_by(&unknown, NULL);
	struct approval *approval = approval_find(fixture.gw, fixture.approver.last.id);

	free(approval->program);
	approval->program = mem_strdup("/bin/a b");
	ck_assert_int_eq(gateway_answer_text(fixture.gw, approval->id, &answer, text, NULL),
			 -ENOTSUP);
	free(approval->program);
	approval->program = mem_strdup("/bin/a");
	approval->program_file.inode = 7;
	ck_assert_int_eq(gateway_answer_text(fixture.gw, approval->id, &answer, text, NULL), 0);
	ck_assert_str_eq(text, "https://a.example.org:443 by /bin/a");
	ck_assert_int_eq(gateway_answer(fixture.gw, approval->id, &answer, NULL), 0);
	fixture_settle();
	fixture_expect(&first, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	ck_assert_uint_eq(other.told + unknown.told, 0); /* the question is theirs now */
	ask_by(&second, "/bin/a");
	fixture_expect(&second, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	ck_assert_uint_eq(fixture.approver.retracted, 0);
	ask_by_file(&swapped, "/bin/a", 8); /* another file has its name by now */
	ck_assert_uint_eq(swapped.told, 0);
	ck_assert_int_eq(fixture_answer(POLICY_DENY, GATEWAY_ONCE), 0);
	fixture_expect(&swapped, POLICY_DENY, POLICY_DENIED_ONCE);
	fixture_expect(&other, POLICY_DENY, POLICY_DENIED_ONCE);
	fixture_expect(&unknown, POLICY_DENY, POLICY_DENIED_ONCE);
	fixture_close();
}
END_TEST

static int answer_wide(enum policy_action action, enum gateway_scope scope,
		       struct approver_width width)
{
	const struct approver_answer answer = {
		.action = action, .scope = scope, .by = "ana on tty", .width = width
	};
	int r = gateway_answer(fixture.gw, fixture.approver.last.id, &answer, NULL);

	fixture_settle();
	return r;
}

/* What a grant for https://a.example.org:443 and its width decides. ASK: it is asked. */
static const struct {
	struct approver_width width;
	const char *destination;
	enum policy_action want;
} covers[] = {
	{ { .is_domain = true }, "https://b.example.org:443", POLICY_ALLOW },
	{ { .is_domain = true }, "https://example.org:443", POLICY_ALLOW },
	{ { .is_domain = true }, "https://x.y.example.org:443", POLICY_ALLOW },
	{ { .is_domain = true }, "https://badexample.org:443", POLICY_ASK },
	{ { .is_domain = true }, "https://example.org.test:443", POLICY_ASK },
	{ { .is_domain = true }, "http://b.example.org:80", POLICY_ASK },
	{ { .is_domain = true }, "tcp://b.example.org:8443", POLICY_ASK },
	{ { .is_every_port = true }, "tcp://a.example.org:8443", POLICY_ALLOW }, /* as https */
	{ { .is_every_port = true }, "https://b.example.org:443", POLICY_ASK },
	{ { .for_s = HOUR }, "https://a.example.org:443", POLICY_ALLOW },
	{ { .for_s = HOUR }, "https://b.example.org:443", POLICY_ASK },
};

START_TEST(a_wide_answer_covers_what_it_says_and_no_more)
{
	struct fixture_request first = { 0 }, second = { 0 };

	fixture_open(NULL);
	fixture_ask(&first, "https://a.example.org:443", FIXTURE_EXEC);
	ck_assert_int_eq(answer_wide(POLICY_ALLOW, GATEWAY_SESSION, covers[_i].width), 0);
	fixture_expect(&first, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	fixture_ask(&second, covers[_i].destination, FIXTURE_EXEC_TWO);
	ck_assert_uint_eq(second.told, covers[_i].want != POLICY_ASK);
	if (second.told > 0)
		fixture_expect(&second, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	gateway_withdraw(second.ticket);
	fixture_close();
}
END_TEST

START_TEST(every_port_of_tcp_is_every_port)
{
	struct fixture_request first = { 0 }, ssh = { 0 }, web = { 0 };

	fixture_open(NULL);
	fixture_ask(&first, "tcp://a.example.org:22", FIXTURE_EXEC);
	ck_assert_int_eq(answer_wide(POLICY_ALLOW, GATEWAY_EXEC,
				     (struct approver_width){ .is_every_port = true }),
			 0);
	fixture_ask(&ssh, "tcp://a.example.org:2222", FIXTURE_EXEC);
	fixture_expect(&ssh, POLICY_ALLOW, POLICY_GRANTED_EXEC);
	fixture_ask(&web, "https://a.example.org:443", FIXTURE_EXEC);
	fixture_expect(&web, POLICY_ALLOW, POLICY_GRANTED_EXEC);
	ck_assert_int_eq(web.verdict.promise, POLICY_HTTPS); /* never wider than the request */
	fixture_close();
}
END_TEST

/* A denial for the domain beats an allow for the very host, and the other way round; whichever came
 * first, and whosever they are. */
START_TEST(a_denial_wins_however_wide)
{
	bool is_narrow_denied = _i & 1, is_first = _i & 2;
	const struct approver_width wide = { .is_domain = true }, narrow = { 0 };
	struct fixture_request first = { 0 }, second = { 0 }, third = { 0 };
	struct gateway *gw;
	struct grant_order deny = {
		.action = POLICY_DENY,
		.reason = POLICY_DENIED_SESSION,
		.scope = GATEWAY_SESSION,
		.width = { .is_domain = !is_narrow_denied },
		.text = is_narrow_denied ? "https://a.example.org:443"
					 : "https://**.example.org:443",
		.by = "bob",
		.words = "",
		.since_s = 1,
	};

	fixture_open(NULL);
	gw = fixture.gw;
	fixture_ask(&first, "https://a.example.org:443", FIXTURE_EXEC);
	struct policy_destination dst = TAILQ_FIRST(&gw->questions)->dst;

	deny.dst = &dst;
	if (is_first)
		ck_assert_ptr_nonnull(grants_put(&gw->grants, &gw->grants.session, &deny, NULL));
	ck_assert_int_eq(answer_wide(POLICY_ALLOW, GATEWAY_EXEC, is_narrow_denied ? wide : narrow),
			 0);
	if (is_first)
		fixture_expect(&first, POLICY_DENY, POLICY_DENIED_SESSION);
	else
		ck_assert_ptr_nonnull(grants_put(&gw->grants, &gw->grants.session, &deny, NULL));
	fixture_ask(&second, "https://a.example.org:443", FIXTURE_EXEC);
	fixture_expect(&second, POLICY_DENY, POLICY_DENIED_SESSION);
	ck_assert_str_eq(second.verdict.by, "bob");
	fixture_ask(&third, "https://c.example.org:443", FIXTURE_EXEC);
	if (is_narrow_denied)
		fixture_expect(&third, POLICY_ALLOW, POLICY_GRANTED_EXEC);
	else
		fixture_expect(&third, POLICY_DENY, POLICY_DENIED_SESSION);
	fixture_close();
}
END_TEST

START_TEST(other_questions_end_with_a_wide_answer)
{
	struct fixture_request a = { 0 }, b = { 0 }, b2 = { 0 }, c = { 0 };

	fixture_open(NULL);
	fixture_ask(&c, "https://c.test:443", FIXTURE_EXEC);
	fixture_ask(&b, "https://b.example.org:443", FIXTURE_EXEC);
	fixture_ask(&b2, "https://b.example.org:443", FIXTURE_EXEC_TWO);
	fixture_ask(&a, "https://a.example.org:443", FIXTURE_EXEC);
	ck_assert_int_eq(answer_wide(_i ? POLICY_DENY : POLICY_ALLOW, GATEWAY_SESSION,
				     (struct approver_width){ .is_domain = true }),
			 0);
	fixture_expect(&a, _i ? POLICY_DENY : POLICY_ALLOW,
		       _i ? POLICY_DENIED_SESSION : POLICY_GRANTED_SESSION);
	fixture_expect(&b, a.verdict.action, a.verdict.reason);
	fixture_expect(&b2, a.verdict.action, a.verdict.reason);
	ck_assert_uint_eq(fixture.approver.retracted, 2);
	ck_assert_str_eq(fixture.approver.how,
			 _i ? "denied by ana on tty, with https://**.example.org:443"
			    : "allowed by ana on tty, with https://**.example.org:443");
	ck_assert_uint_eq(c.told, 0);
	ck_assert_uint_eq(fixture.gw->question_count, 1);
	gateway_withdraw(c.ticket);
	fixture_close();
}
END_TEST

/* For this command: requests of other commands continue to wait. */
START_TEST(a_wide_answer_for_a_command_leaves_the_others)
{
	struct fixture_request a = { 0 }, b = { 0 }, b2 = { 0 };

	fixture_open(NULL);
	fixture_ask(&b, "https://b.example.org:443", FIXTURE_EXEC);
	fixture_ask(&b2, "https://b.example.org:443", FIXTURE_EXEC_TWO);
	fixture_ask(&a, "https://a.example.org:443", FIXTURE_EXEC);
	ck_assert_int_eq(answer_wide(POLICY_ALLOW, GATEWAY_EXEC,
				     (struct approver_width){ .is_domain = true }),
			 0);
	fixture_expect(&b, POLICY_ALLOW, POLICY_GRANTED_EXEC);
	ck_assert_uint_eq(b2.told, 0);
	ck_assert_uint_eq(fixture.gw->question_count, 1);
	ck_assert_uint_eq(fixture.approver.last.waiting, 1);
	gateway_withdraw(b2.ticket);
	fixture_close();
}
END_TEST

static const struct approver_answer none[] = {
	{ .action = POLICY_ALLOW, .scope = GATEWAY_ONCE, .width = { .is_domain = true } },
	{ .action = POLICY_DENY, .scope = GATEWAY_ONCE, .width = { .for_s = 5 } },
	{ .action = POLICY_DENY, .is_abort = true, .width = { .is_every_port = true } },
	{ .action = POLICY_DENY, .scope = GATEWAY_SESSION, .width = { .upload_max = 1 } },
	{ .action = POLICY_DENY, .scope = GATEWAY_SESSION, .width = { .connections_max = 1 } },
};

START_TEST(some_widths_are_no_answers)
{
	struct fixture_request request = { 0 };
	char text[APPROVER_KEY_MAX];
	struct err why = { 0 };

	fixture_open(NULL);
	fixture_ask(&request, "https://a.example.org:443", FIXTURE_EXEC);
	ck_assert_int_eq(gateway_answer(fixture.gw, fixture.approver.last.id, &none[_i], &why),
			 -EINVAL);
	ck_assert_str_ne(why.text, "");
	ck_assert_int_eq(
		gateway_answer_text(fixture.gw, fixture.approver.last.id, &none[_i], text, &why),
		-EINVAL);
	ck_assert_int_eq(gateway_answer_text(fixture.gw, "7f3a-99",
					     &(struct approver_answer){ .action = POLICY_DENY },
					     text, &why),
			 -ENOENT);
	fixture_settle();
	ck_assert_uint_eq(request.told, 0);
	gateway_withdraw(request.ticket);
	fixture_close();
}
END_TEST

/* Its limits bind those who waited for it, too, and are one account for all it covers. */
START_TEST(an_answer_may_be_limited)
{
	const struct approver_width width = {
		.is_domain = _i, .for_s = 60, .upload_max = 4096, .connections_max = 2
	};
	struct fixture_request first = { 0 }, second = { 0 }, third = { 0 };

	fixture_open(NULL);
	fixture_ask(&first, "https://a.example.org:443", FIXTURE_EXEC);
	ck_assert_int_eq(answer_wide(POLICY_ALLOW, GATEWAY_SESSION, width), 0);
	fixture_expect(&first, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	fixture_ask(&second, _i ? "https://b.example.org:443" : "https://a.example.org:443",
		    FIXTURE_EXEC_TWO);
	fixture_expect(&second, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	ck_assert_uint_eq(first.verdict.limits.upload, 4096);
	ck_assert_uint_eq(first.verdict.limits.account, second.verdict.limits.account);
	ck_assert_uint_ne(first.verdict.limits.account, 0);
	ck_assert_int_eq(first.verdict.limits.until_s,
			 TAILQ_FIRST(&fixture.gw->grants.all)->until_s);
	fixture_ask(&third, "https://a.example.org:443", FIXTURE_EXEC);
	ck_assert_uint_eq(third.told, 0); /* it is spent: see test_kept.c */
	gateway_withdraw(third.ticket);
	fixture_close();
}
END_TEST

/* What a rule asks about within limits is answered within them, once for all its answers. */
START_TEST(answers_to_one_rule_share_its_limits)
{
	const struct approver_width width = { .upload_max = 1024 };
	struct fixture_request first = { 0 }, second = { 0 };

	fixture_open("ask **.example.org upload 4k\n");
	fixture_ask(&first, "https://a.example.org:443", FIXTURE_EXEC);
	ck_assert_int_eq(answer_wide(POLICY_ALLOW, GATEWAY_SESSION, width), 0);
	fixture_expect(&first, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	fixture_ask(&second, "https://b.example.org:443", FIXTURE_EXEC);
	ck_assert_int_eq(answer_wide(POLICY_ALLOW, GATEWAY_SESSION, width), 0);
	fixture_expect(&second, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	ck_assert_uint_eq(first.verdict.limits.upload, 1024);
	ck_assert_uint_eq(first.verdict.limits.account, second.verdict.limits.account);
	fixture_close();
}
END_TEST

START_TEST(always_keeps_the_very_text)
{
	struct fixture_request first = { 0 };
	char kept[512] = "";

	fixture_open(NULL);
	fixture_ask(&first, "https://a.example.org:443", FIXTURE_EXEC);
	ck_assert_int_eq(answer_wide(POLICY_ALLOW, GATEWAY_ALWAYS,
				     (struct approver_width){ .is_domain = true, .for_s = HOUR }),
			 0);
	ck_assert_str_eq(fixture.approver.how,
			 "allowed always by ana on tty: https://**.example.org:443 for 1h");
	FILE *file = fopen(fixture.answers, "r");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_gt(fread(kept, 1, sizeof(kept) - 1, file), 0);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_str_eq(kept, "version 1\nanswer allow https://**.example.org:443 for 1h   # by "
			       "ana on tty, 2023-11-14T22:13:20Z, run 7f3a, asked by: npm ci\n");
	fixture_close();
}
END_TEST

START_TEST(an_answer_is_over_when_its_time_is)
{
	struct fixture_request first = { 0 }, second = { 0 }, third = { 0 };
	const struct approver_width width = { .is_domain = _i, .for_s = HOUR };

	fixture_open(NULL);
	fixture_ask(&first, "https://a.example.org:443", FIXTURE_EXEC);
	ck_assert_int_eq(answer_wide(POLICY_ALLOW, GATEWAY_SESSION, width), 0);
	loop_advance(fixture.loop, HOUR * 1000 - 1000);
	fixture_ask(&second, "https://a.example.org:443", FIXTURE_EXEC);
	fixture_expect(&second, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	loop_advance(fixture.loop, 1000);
	fixture_ask(&third, "https://a.example.org:443", FIXTURE_EXEC);
	ck_assert_uint_eq(third.told, 0);
	gateway_withdraw(third.ticket);
	fixture_close();
}
END_TEST

/* An allow is on its way to those who waited; then somebody denies the domain. */
START_TEST(a_denial_meets_an_allow_on_its_way)
{
	const struct approver_answer yes = { .action = POLICY_ALLOW, .by = "ana" };
	const struct approver_answer no = { .action = POLICY_DENY,
					    .scope = GATEWAY_SESSION,
					    .by = "bob",
					    .words = "not that one\x1b[2J",
					    .width = { .is_domain = true } };
	struct fixture_request a = { 0 }, b = { 0 };
	char id[APPROVER_ID_MAX];

	fixture_open(NULL);
	fixture_ask(&a, "https://a.example.org:443", FIXTURE_EXEC);
	memcpy(id, fixture.approver.last.id, sizeof(id));
	fixture_ask(&b, "https://b.example.org:443", FIXTURE_EXEC);
	ck_assert_int_eq(gateway_answer(fixture.gw, id, &yes, NULL), 0);
	ck_assert_int_eq(gateway_answer(fixture.gw, fixture.approver.last.id, &no, NULL), 0);
	fixture_settle();
	fixture_expect(&a, POLICY_DENY, POLICY_DENIED_SESSION);
	fixture_expect(&b, POLICY_DENY, POLICY_DENIED_SESSION);
	ck_assert_str_eq(a.verdict.because, "not that one\\x1b[2J");
	fixture_close();
}
END_TEST

START_TEST(words_stand_behind_those_of_the_policy)
{
	const struct approver_answer no = {
		.action = POLICY_DENY, .scope = GATEWAY_EXEC, .by = "ana", .words = "use the mirror"
	};
	struct fixture_request a = { 0 }, again = { 0 };

	fixture_open("ask a.test because \"why?\"");
	fixture_ask(&a, "https://a.test:443", FIXTURE_EXEC);
	ck_assert_int_eq(gateway_answer(fixture.gw, fixture.approver.last.id, &no, NULL), 0);
	fixture_settle();
	ck_assert_str_eq(a.verdict.because, "why?; use the mirror");
	fixture_ask(&again, "https://a.test:443", FIXTURE_EXEC);
	fixture_expect(&again, POLICY_DENY, POLICY_DENIED_EXEC);
	ck_assert_str_eq(again.verdict.because, "why?; use the mirror");
	fixture_close();
}
END_TEST

START_TEST(many_are_answered_together_each_for_itself)
{
	struct fixture_request requests[3] = { 0 };
	const struct approver_answer yes = { .action = POLICY_ALLOW,
					     .scope = GATEWAY_SESSION,
					     .by = "ana",
					     .width = { .is_domain = _i } };
	const char *ids[5];
	int results[5] = { 7, 7, 7, 7, 7 };

	fixture_open(NULL);
	fixture_ask(&requests[0], "https://a.example.org:443", FIXTURE_EXEC);
	fixture_ask(&requests[1], "https://b.example.org:443", FIXTURE_EXEC);
	fixture_ask(&requests[2], "https://c.example.org:443", FIXTURE_EXEC);
	ids[0] = fixture.approver.ids[0];
	ids[1] = "7f3a-99";
	ids[2] = fixture.approver.ids[1];
	ids[3] = "";
	ids[4] = "other-1"; /* another run's */
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		results[i] = gateway_answer(fixture.gw, ids[i], &yes, NULL);
	fixture_settle();
	ck_assert_int_eq(results[0], 0);
	ck_assert_int_eq(results[1], -ENOENT);
	ck_assert_int_eq(results[2], _i ? -ENOENT : 0); /* the first one's domain covers it */
	ck_assert_int_eq(results[3], -ENOENT);
	ck_assert_int_eq(results[4], -ENOENT);
	fixture_expect(&requests[0], POLICY_ALLOW, POLICY_GRANTED_SESSION);
	fixture_expect(&requests[1], POLICY_ALLOW, POLICY_GRANTED_SESSION);
	ck_assert_uint_eq(requests[2].told, _i); /* nobody ticked it; the domain covers it */
	gateway_withdraw(requests[2].ticket);
	fixture_close();
}
END_TEST

Suite *suite_widths(void)
{
	Suite *suite = suite_create("widths");
	TCase *tcase = tcase_create("widths");

	tcase_add_test(tcase, an_answer_for_one_program_is_for_no_other);
	tcase_add_loop_test(tcase, the_text_is_what_would_be_granted, 0,
			    sizeof(texts) / sizeof(texts[0]));
	tcase_add_loop_test(tcase, a_wide_answer_covers_what_it_says_and_no_more, 0,
			    sizeof(covers) / sizeof(covers[0]));
	tcase_add_loop_test(tcase, what_was_not_shown_is_not_stored, 0, 2);
	tcase_add_test(tcase, every_port_of_tcp_is_every_port);
	tcase_add_loop_test(tcase, a_denial_wins_however_wide, 0, 4);
	tcase_add_loop_test(tcase, other_questions_end_with_a_wide_answer, 0, 2);
	tcase_add_test(tcase, a_wide_answer_for_a_command_leaves_the_others);
	tcase_add_loop_test(tcase, some_widths_are_no_answers, 0, sizeof(none) / sizeof(none[0]));
	tcase_add_loop_test(tcase, an_answer_may_be_limited, 0, 2);
	tcase_add_test(tcase, answers_to_one_rule_share_its_limits);
	tcase_add_test(tcase, always_keeps_the_very_text);
	tcase_add_loop_test(tcase, an_answer_is_over_when_its_time_is, 0, 2);
	tcase_add_test(tcase, a_denial_meets_an_allow_on_its_way);
	tcase_add_test(tcase, words_stand_behind_those_of_the_policy);
	tcase_add_loop_test(tcase, many_are_answered_together_each_for_itself, 0, 2);
	suite_add_tcase(suite, tcase);
	return suite;
}
