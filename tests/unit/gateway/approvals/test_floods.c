/* Limits on questions, their warnings, and asking the same again. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "policies/policies_tools.h"
#include "tests/unit/gateway/fixture.h"

/* Asks for "https://PREFIX<i>SUFFIX:443"; returns how many were refused. */
static unsigned int ask_many(struct fixture_request *requests, int count, uint64_t exec,
			     const char *prefix, const char *suffix)
{
	unsigned int refused = 0;

	for (int i = 0; i < count; i++) {
		char destination[128];

		(void)snprintf(destination, sizeof(destination), "https://%s%d%s:443", prefix, i,
			       suffix);
		fixture_submit(&requests[i], destination, exec);
	}
	fixture_settle();
	for (int i = 0; i < count; i++)
		refused += requests[i].told;
	return refused;
}

static const struct {
	const char *what, *suffix;
	unsigned int burst, per_s;
	const char *words;
} floods[] = {
	{ "one command, many domains", ".test", GATEWAY_FLOOD_EXEC, GATEWAY_FLOOD_EXEC_PER_S,
	  "this command has asked too many questions" },
	{ "one domain, many names", ".a.example.org", GATEWAY_FLOOD_DOMAIN,
	  GATEWAY_FLOOD_DOMAIN_PER_S, "too many questions were asked about this domain" },
};

START_TEST(a_flood_is_refused_and_drains)
{
	const int more = 5, count = (int)floods[_i].burst + more;
	auto_free struct fixture_request *first = mem_new_array((size_t)count, sizeof(*first));
	auto_free struct fixture_request *then = mem_new_array(64, sizeof(*then));
	struct fixture_request other = { 0 };

	fixture_open(NULL);
	ck_assert_uint_eq(ask_many(first, count, FIXTURE_EXEC, "h", floods[_i].suffix),
			  (unsigned int)more);
	fixture_expect(&first[count - 1], POLICY_DENY, POLICY_OVERLOADED);
	ck_assert_str_eq(first[count - 1].verdict.because, floods[_i].words);
	/* A question that is open costs nothing to join. */
	ck_assert_uint_eq(ask_many(then, 3, FIXTURE_EXEC, "h", floods[_i].suffix), 0);
	/* Somebody else, about something else, is not in the way. */
	fixture_ask(&other, "https://other.test:443", FIXTURE_EXEC_TWO);
	ck_assert_uint_eq(other.told, 0);
	loop_advance(fixture.loop, 3000);
	ck_assert_uint_eq(ask_many(then + 3, (int)(3 * floods[_i].per_s) + 2, FIXTURE_EXEC, "late",
				   floods[_i].suffix),
			  2);
	fixture_close();
}
END_TEST

/* Open at once: the oldest is answered, and there is room again. Who joins one takes none. */
START_TEST(a_command_has_so_many_questions_open)
{
	struct fixture_request first[5] = { 0 }, other = { 0 }, again = { 0 }, later = { 0 };

	fixture_open("limit questions 3");
	ck_assert_uint_eq(ask_many(first, 5, FIXTURE_EXEC, "h", ".test"), 2);
	fixture_expect(&first[3], POLICY_DENY, POLICY_OVERLOADED);
	fixture_expect(&first[4], POLICY_DENY, POLICY_OVERLOADED);
	fixture_ask(&again, "https://h0.test:443", FIXTURE_EXEC);
	ck_assert_uint_eq(again.told, 0);
	fixture_ask(&other, "https://other.test:443", FIXTURE_EXEC_TWO);
	ck_assert_uint_eq(other.told, 0);
	/* A question that another command asked does not count as its own, and counts as its own
	 * from then on. */
	gateway_withdraw(first[0].ticket);
	gateway_withdraw(again.ticket);
	fixture_ask(&later, "https://later.test:443", FIXTURE_EXEC);
	ck_assert_uint_eq(later.told, 0);
	ck_assert_uint_eq(fixture_count_records("limit", NULL), 1);
	ck_assert_uint_eq(gateway_limits_reached(fixture.gw), BIT(POLICY_LIMIT_QUESTIONS));
	fixture_close();
}
END_TEST

/* Many commands, one program: it has its own budget in addition to theirs. Other programs, and
 * unknown ones, do not use it. */
START_TEST(a_program_has_its_own_budget)
{
	const struct socket_owner_file files[] = { { .inode = 7 }, { .inode = 8 }, { 0 } };
	struct flood_bucket execs[2 * GATEWAY_FLOOD_PROGRAM / GATEWAY_FLOOD_EXEC] = { { 0 } };
	struct policy_destination dst = { .port = 443 };
	struct flood_source source = { .program = &files[0], .dst = &dst };
	struct floods floods_of;
	int taken = 0;

	floods_init(&floods_of);
	for (int i = 0; i < GATEWAY_FLOOD_PROGRAM + 3; i++) {
		source.exec = &execs[i % ARRAY_SIZE(execs)];
		(void)snprintf(dst.host, sizeof(dst.host), "h%d.test", i);
		ck_assert(i >= GATEWAY_FLOOD_PROGRAM || !floods_check(&floods_of, &source, 1000));
		taken += !floods_take(&floods_of, &source, 1000);
	}
	ck_assert_int_eq(taken, GATEWAY_FLOOD_PROGRAM);
	ck_assert_str_eq(floods_take(&floods_of, &source, 1000),
			 "this program has asked too many questions");
	for (size_t i = 1; i < ARRAY_SIZE(files); i++) {
		source.program = &files[i];
		ck_assert_ptr_null(floods_take(&floods_of, &source, 1000));
	}
	source.program = &files[0];
	for (int i = 0; i < GATEWAY_FLOOD_PROGRAM_PER_S; i++)
		ck_assert_ptr_null(floods_take(&floods_of, &source, 2000));
	ck_assert_ptr_nonnull(floods_take(&floods_of, &source, 2000));
	floods_done(&floods_of);
}
END_TEST

/* More programs than are counted: those that asked lately are not forgotten for others. */
START_TEST(programs_without_end)
{
	struct policy_destination dst = { .host = "a.test" };
	struct socket_owner_file file = { .inode = 1 };
	struct flood_source source = { .program = &file, .dst = &dst };
	struct floods floods_of;

	floods_init(&floods_of);
	for (int i = 0; i < GATEWAY_FLOOD_PROGRAMS_MAX; i++) {
		(void)snprintf(dst.host, sizeof(dst.host), "h%d.test", i);
		file.inode = (uint64_t)i + 1;
		ck_assert_ptr_null(floods_take(&floods_of, &source, 1000));
	}
	file.inode++;
	(void)snprintf(dst.host, sizeof(dst.host), "more.test");
	ck_assert_str_eq(floods_take(&floods_of, &source, 1000),
			 "too many programs have asked recently");
	ck_assert_ptr_null(floods_take(&floods_of, &source, 2000));
	floods_done(&floods_of);
}
END_TEST

/* However many names below a domain are asked for, an answer is for one. */
START_TEST(a_flood_widens_nothing)
{
	auto_free struct fixture_request *requests = mem_new_array(200, sizeof(*requests));
	unsigned int open;

	fixture_open(NULL);
	(void)ask_many(requests, 200, FIXTURE_EXEC, "h", ".example.org");
	open = fixture.gw->question_count;
	ck_assert_uint_eq(open, GATEWAY_FLOOD_DOMAIN);
	ck_assert_str_eq(fixture.approver.last.typed, "example.org");
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_SESSION), 0);
	ck_assert_uint_eq(fixture.gw->question_count, open - 1);
	fixture_close();
}
END_TEST

static void refused_by_the_gate(struct fixture_request *request, enum policy_reason reason)
{
	struct gateway_report report = {
		.facts = fixture_facts("https://a.example.org:443", FIXTURE_EXEC),
		.ticket = request->pass,
		.verdict = { .action = POLICY_DENY, .reason = reason },
	};

	gateway_report(fixture.client, &report);
	fixture_settle();
}

static const struct {
	enum policy_reason reason;
	const char *policy;
	bool is_futile;
} futile[] = {
	{ POLICY_PRIVATE_ADDRESS, NULL, true },
	{ POLICY_METADATA_ADDRESS, NULL, true },
	{ POLICY_SPECIAL_ADDRESS, NULL, true },
	{ POLICY_DNS_FAILED, NULL, false },
	{ POLICY_CONNECT_REFUSED, NULL, false },
	{ POLICY_PRIVATE_ADDRESS, "ask a.example.org private", false }, /* since then */
};

/* What a name leads to was refused whatever a person says of the name: they are not asked again and
 * again. For a moment, since names move. */
START_TEST(what_cannot_work_is_not_asked_again)
{
	struct fixture_request first = { 0 }, again = { 0 }, other = { 0 }, late = { 0 };

	fixture_open(futile[_i].policy);
	fixture_ask(&first, "https://a.example.org:443", FIXTURE_EXEC);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_ONCE), 0);
	fixture_expect(&first, POLICY_ALLOW, POLICY_GRANTED_ONCE);
	refused_by_the_gate(&first, futile[_i].reason);
	fixture_ask(&again, "https://a.example.org:443", FIXTURE_EXEC_TWO);
	ck_assert_uint_eq(again.told, futile[_i].is_futile);
	ck_assert_uint_eq(fixture.approver.asked, futile[_i].is_futile ? 1 : 2);
	if (futile[_i].is_futile)
		fixture_expect(&again, POLICY_DENY, futile[_i].reason);
	fixture_ask(&other, "http://a.example.org:80", FIXTURE_EXEC);
	ck_assert_uint_eq(other.told, 0);
	loop_advance(fixture.loop, GATEWAY_GRACE_MS + 1);
	fixture_ask(&late, "https://a.example.org:443", FIXTURE_EXEC);
	ck_assert_uint_eq(late.told, 0);
	fixture_close();
}
END_TEST

static const struct {
	const char *ended; /* how the first ends */
	int64_t pause_ms;
	bool is_same;
} comebacks[] = {
	{ "timeout", 1000, true },
	{ "timeout", GATEWAY_GRACE_MS, true },
	{ "timeout", GATEWAY_GRACE_MS + 1, false },
	{ "left", 1000, true },
	{ "gone", 1000, true },
	{ "denied", 1000, false },
	{ "allowed", 1000, false },
};

static void end_question(struct fixture_request *request, const char *how)
{
	if (strcmp(how, "timeout") == 0) {
		loop_advance(fixture.loop, fixture.config.prompt_timeout_ms);
	} else if (strcmp(how, "left") == 0) {
		gateway_withdraw(request->ticket);
	} else if (strcmp(how, "gone") == 0) {
		fixture.approver.is_attached = false;
		gateway_approvers_changed(fixture.gw);
		fixture_settle();
		fixture.approver.is_attached = true;
	} else {
		ck_assert_int_eq(
			fixture_answer(strcmp(how, "allowed") == 0 ? POLICY_ALLOW : POLICY_DENY,
				       GATEWAY_ONCE),
			0);
	}
	fixture_settle();
}

START_TEST(who_comes_back_asks_the_same_question)
{
	struct fixture_request first = { 0 }, second = { 0 }, third = { 0 };
	const struct approver_answer yes = { .action = POLICY_ALLOW, .by = "ana" };
	char id[APPROVER_ID_MAX];

	fixture_open(NULL);
	fixture_ask(&first, "https://a.test:443", FIXTURE_EXEC);
	memcpy(id, fixture.approver.last.id, sizeof(id));
	ck_assert_uint_eq(fixture.approver.last.times, 1);
	end_question(&first, comebacks[_i].ended);
	ck_assert_int_eq(gateway_answer(fixture.gw, id, &yes, NULL), -ENOENT);
	loop_advance(fixture.loop, comebacks[_i].pause_ms);
	fixture_ask(&second, "https://a.test:443", FIXTURE_EXEC);
	ck_assert_uint_eq(fixture.approver.last.times, comebacks[_i].is_same ? 2 : 1);
	ck_assert_int_eq(strcmp(fixture.approver.last.id, id) == 0, comebacks[_i].is_same);
	/* Nothing was remembered: it waits for an answer, to it as it is now. */
	ck_assert_uint_eq(second.told, 0);
	end_question(&second, "left");
	fixture_ask(&third, "https://a.test:443", FIXTURE_EXEC);
	ck_assert_uint_eq(fixture.approver.last.times, comebacks[_i].is_same ? 3 : 2);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_ONCE), 0);
	fixture_expect(&third, POLICY_ALLOW, POLICY_GRANTED_ONCE);
	fixture_close();
}
END_TEST

START_TEST(unanswered_questions_are_forgotten_in_the_end)
{
	struct fixture_request request;

	fixture_open(NULL);
	for (int i = 0; i < GATEWAY_GRACES_MAX + 10; i++) {
		char destination[64];

		/* Slow enough for the guard. */
		loop_advance(fixture.loop, 300);
		request = (struct fixture_request){ 0 };
		(void)snprintf(destination, sizeof(destination), "https://h%d.test:443", i);
		fixture_ask(&request, destination, FIXTURE_EXEC);
		ck_assert_uint_eq(request.told, 0);
		gateway_withdraw(request.ticket);
		ck_assert_uint_le(fixture.gw->graces.table.count, GATEWAY_GRACES_MAX);
	}
	ck_assert_uint_le(fixture.gw->graces.table.count, GATEWAY_GRACE_MS / 300 + 1);
	fixture_close();
}
END_TEST

static const struct {
	const char *destination;
	unsigned int risk, after; /* when it was allowed once */
	const char *typed;
} risks[] = {
	{ "https://a.example.org:443", APPROVER_FIRST_SEEN, 0, "example.org" },
	{ "http://example.org:80", APPROVER_FIRST_SEEN, 0, "example.org" },
	{ "https://github.com:443", 0, 0, "github.com" },
	{ "https://api.github.com:443", 0, 0, "github.com" },
	{ "tcp://github.com:22", APPROVER_RAW_TCP, 0, "github.com" },
	{ "tcp://db.example.org:5432", APPROVER_RAW_TCP | APPROVER_FIRST_SEEN, 0, "example.org" },
	{ "tcp://192.0.2.1:22", APPROVER_LITERAL | APPROVER_RAW_TCP | APPROVER_FIRST_SEEN, 0,
	  "192.0.2.1" },
	{ "https://[2001:db8::1]:443", APPROVER_LITERAL | APPROVER_FIRST_SEEN, 0, "2001:db8::1" },
	{ "https://xn--exmple-cua.org:443", APPROVER_LOOKALIKE | APPROVER_FIRST_SEEN, 0,
	  "xn--exmple-cua.org" },
	{ "https://a.xn--exmple-cua.org:443", APPROVER_LOOKALIKE | APPROVER_FIRST_SEEN, 0,
	  "xn--exmple-cua.org" },
	{ "https://api.gihtub.com:443", APPROVER_LOOKALIKE | APPROVER_FIRST_SEEN, 0, "gihtub.com" },
	{ "https://x.pastebin.com:443", APPROVER_LISTED | APPROVER_FIRST_SEEN, APPROVER_LISTED,
	  "pastebin.com" },
	{ "https://1.1.1.1:443", APPROVER_LISTED | APPROVER_LITERAL | APPROVER_FIRST_SEEN,
	  APPROVER_LISTED, "1.1.1.1" },
	{ "https://notpastebin.com:443", APPROVER_FIRST_SEEN, 0, "notpastebin.com" },
	{ "https://configured:443", APPROVER_FIRST_SEEN, 0, "configured" },
};

START_TEST(a_question_says_how_risky_it_is)
{
	struct fixture_request first = { 0 }, again = { 0 };
	struct stat status;
	char path[128];

	fixture_prepare(NULL);
	(void)snprintf(path, sizeof(path), "%s/seen", fixture.dir);
	fixture.config.seen_path = path;
	fixture_start();
	fixture_ask(&first, risks[_i].destination, FIXTURE_EXEC);
	ck_assert_uint_eq(fixture.approver.last.risk, risks[_i].risk);
	ck_assert_str_eq(fixture.approver.last.typed, risks[_i].typed);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_ONCE), 0);
	fixture_ask(&again, risks[_i].destination, FIXTURE_EXEC);
	ck_assert_uint_eq(fixture.approver.last.risk, risks[_i].after);
	gateway_withdraw(again.ticket);
	/* Another run has heard of it, too. */
	gateway_client_free(fixture.client);
	gateway_free(fixture.gw);
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert_int_eq(status.st_mode & 07777, 0600);
	fixture_start();
	fixture_ask(&again, risks[_i].destination, FIXTURE_EXEC);
	ck_assert_uint_eq(fixture.approver.last.risk, risks[_i].after);
	gateway_withdraw(again.ticket);
	ck_assert_int_eq(unlink(path), 0);
	fixture_close();
}
END_TEST

/* What a person allows makes the questions that wait for the same domain less risky, at once. */
START_TEST(an_answer_weighs_the_other_questions)
{
	struct fixture_request first = { 0 }, second = { 0 }, other = { 0 };
	struct approver_question question;

	fixture_open(NULL);
	fixture_ask(&other, "https://other.test:443", FIXTURE_EXEC);
	fixture_ask(&second, "https://b.example.org:443", FIXTURE_EXEC);
	ck_assert_str_eq(fixture.approver.last.typed, "example.org");
	memcpy(&question, &fixture.approver.last, sizeof(question));
	fixture_ask(&first, "https://a.example.org:443", FIXTURE_EXEC);
	ck_assert_uint_eq(fixture.approver.last.risk, APPROVER_FIRST_SEEN);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_ONCE), 0);
	ck_assert_int_eq(gateway_find_question(fixture.gw, question.id, &question), 0);
	ck_assert_uint_eq(question.risk, 0);
	ck_assert_str_eq(question.warning, "");
	fixture_settle();
	ck_assert_str_eq(fixture.approver.last.id, question.id); /* the approvers were told */
	gateway_withdraw(second.ticket);
	gateway_withdraw(other.ticket);
	fixture_close();
}
END_TEST

/* Which answers have to be confirmed by typing. */
static const struct {
	unsigned int risk;
	enum policy_protocol protocol;
	bool is_private;
	struct approver_answer answer;
	const char *because; /* NULL: one key is enough */
} typings[] = {
	{ 0, POLICY_HTTPS, false, { .action = POLICY_ALLOW }, NULL },
	{ APPROVER_FIRST_SEEN, POLICY_HTTPS, false, { .action = POLICY_ALLOW }, NULL },
	{ APPROVER_RAW_TCP, POLICY_TCP, false, { .action = POLICY_ALLOW }, NULL },
	{ APPROVER_LOOKALIKE, POLICY_HTTPS, false, { .action = POLICY_ALLOW }, "W" },
	{ APPROVER_LISTED, POLICY_HTTPS, false, { .action = POLICY_ALLOW }, "W" },
	{ APPROVER_LITERAL, POLICY_HTTPS, false, { .action = POLICY_ALLOW }, "W" },
	{ APPROVER_LISTED, POLICY_HTTPS, false, { .action = POLICY_DENY }, NULL },
	{ APPROVER_LISTED,
	  POLICY_HTTPS,
	  true,
	  { .action = POLICY_DENY, .scope = GATEWAY_ALWAYS },
	  NULL },
	{ 0,
	  POLICY_HTTPS,
	  true,
	  { .action = POLICY_ALLOW },
	  "an address of your own network or machine" },
	{ 0, POLICY_TCP, false, { .action = POLICY_ALLOW, .scope = GATEWAY_SESSION }, NULL },
	{ 0,
	  POLICY_TCP,
	  false,
	  { .action = POLICY_ALLOW, .scope = GATEWAY_ALWAYS },
	  "raw TCP, always" },
	{ 0,
	  POLICY_HTTPS,
	  false,
	  { .action = POLICY_ALLOW, .scope = GATEWAY_SESSION, .width = { .is_domain = true } },
	  NULL },
	{ 0,
	  POLICY_HTTPS,
	  false,
	  { .action = POLICY_ALLOW, .scope = GATEWAY_ALWAYS, .width = { .is_domain = true } },
	  "a whole domain, always" },
	{ 0,
	  POLICY_HTTPS,
	  false,
	  { .action = POLICY_ALLOW, .scope = GATEWAY_ALWAYS, .width = { .is_every_port = true } },
	  "every port, always" },
};

START_TEST(only_real_risk_is_typed)
{
	const struct approver_question question = {
		.dst = { .protocol = typings[_i].protocol },
		.risk = typings[_i].risk,
		.is_private = typings[_i].is_private,
		.warning = "W",
	};
	const char *because = gateway_typed_because(&question, &typings[_i].answer);

	ck_assert_int_eq(because != NULL, typings[_i].because != NULL);
	if (because)
		ck_assert_str_eq(because, typings[_i].because);
}
END_TEST

START_TEST(a_denial_is_not_seen)
{
	struct fixture_request first = { 0 }, again = { 0 };

	fixture_open(NULL);
	fixture_ask(&first, "https://a.example.org:443", FIXTURE_EXEC);
	ck_assert_int_eq(fixture_answer(POLICY_DENY, GATEWAY_ONCE), 0);
	fixture_ask(&again, "https://a.example.org:443", FIXTURE_EXEC);
	ck_assert_uint_eq(fixture.approver.last.risk, APPROVER_FIRST_SEEN);
	gateway_withdraw(again.ticket);
	fixture_close();
}
END_TEST

/* Whatever the file holds, it only makes more seem new; and what two runs write, both keep. */
static const struct {
	const char *text;
	mode_t mode;
	unsigned int risk;
} files[] = {
	{ "example.org\n", 0600, 0 },
	{ "# old\n\nother.test\nexample.org", 0600, 0 },
	{ "https://example.org\n", 0600, APPROVER_FIRST_SEEN },
	{ "org\n**.example.org\n*.org\n*\nexample.org evil\n", 0600, APPROVER_FIRST_SEEN },
	{ "example.org\n", 0666, APPROVER_FIRST_SEEN },
	{ "\x1b[2J\n\xff\xfe", 0600, APPROVER_FIRST_SEEN },
};

START_TEST(a_file_of_what_was_seen_is_a_hint)
{
	struct fixture_request first = { 0 };
	auto_free char *text = NULL;
	char path[128];

	fixture_prepare(NULL);
	(void)snprintf(path, sizeof(path), "%s/seen", fixture.dir);
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(files[_i].text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(chmod(path, files[_i].mode), 0);
	fixture.config.seen_path = path;
	fixture_start();
	fixture_ask(&first, "https://a.example.org:443", FIXTURE_EXEC);
	ck_assert_uint_eq(fixture.approver.last.risk, files[_i].risk);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_ONCE), 0);
	/* Another run writes meanwhile. */
	file = fopen(path, "w");
	ck_assert_int_ge(fputs("theirs.test\n", file), 0);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(chmod(path, 0600), 0);
	loop_advance(fixture.loop, 2000);
	fixture_settle();
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(fd_read_all(fd, 4096, &text, NULL, NULL), 0);
	if (files[_i].risk) {
		ck_assert_ptr_nonnull(strstr(text, "\nexample.org\n"));
		ck_assert_ptr_nonnull(strstr(text, "\ntheirs.test\n"));
	}
	ck_assert_int_eq(unlink(path), 0);
	fixture_close();
}
END_TEST

Suite *suite_floods(void)
{
	Suite *suite = suite_create("floods");
	TCase *tcase = tcase_create("floods");

	tcase_add_loop_test(tcase, a_flood_is_refused_and_drains, 0,
			    sizeof(floods) / sizeof(floods[0]));
	tcase_add_loop_test(tcase, what_cannot_work_is_not_asked_again, 0, (int)ARRAY_SIZE(futile));
	tcase_add_test(tcase, a_program_has_its_own_budget);
	tcase_add_test(tcase, a_command_has_so_many_questions_open);
	tcase_add_test(tcase, programs_without_end);
	tcase_add_test(tcase, a_flood_widens_nothing);
	tcase_add_loop_test(tcase, who_comes_back_asks_the_same_question, 0,
			    sizeof(comebacks) / sizeof(comebacks[0]));
	tcase_add_test(tcase, unanswered_questions_are_forgotten_in_the_end);
	tcase_add_loop_test(tcase, a_question_says_how_risky_it_is, 0,
			    sizeof(risks) / sizeof(risks[0]));
	tcase_add_test(tcase, an_answer_weighs_the_other_questions);
	tcase_add_loop_test(tcase, only_real_risk_is_typed, 0,
			    sizeof(typings) / sizeof(typings[0]));
	tcase_add_test(tcase, a_denial_is_not_seen);
	tcase_add_loop_test(tcase, a_file_of_what_was_seen_is_a_hint, 0,
			    sizeof(files) / sizeof(files[0]));
	suite_add_tcase(suite, tcase);
	return suite;
}
