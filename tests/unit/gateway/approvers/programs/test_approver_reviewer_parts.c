#include "tests/unit/gateway/approvers/test_approver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "gateway/approvers/programs/reviewer.h"

static const struct {
	const char *line;
	int want;
	enum reviewer_say say;
	const char *id;
} lines[] = {
	{ "{\"id\":\"7-1.1\",\"answer\":\"allow\"}", 0, REVIEWER_ALLOW, "7-1.1" },
	{ "{\"answer\":\"deny\",\"id\":\"7-1.1\",\"reason\":\"no\"}", 0, REVIEWER_DENY, "7-1.1" },
	{ "{\"id\":\"7-1.1\",\"answer\":\"abstain\",\"ttl_s\":0}", 0, REVIEWER_ABSTAIN, "7-1.1" },
	{ "{\"id\":\"7-1.1\",\"answer\":\"allow\",\"ttl_s\":86400,\"negative_ttl_s\":1}", 0,
	  REVIEWER_ALLOW, "7-1.1" },
	{ "{\"id\":\"7-1.1\",\"answer\":\"allow\",\"ttl_s\":86401}", -EBADMSG, REVIEWER_ABSTAIN,
	  "7-1.1" },
	{ "{\"id\":\"7-1.1\",\"answer\":\"allow\",\"width\":{}}", -EBADMSG, REVIEWER_ABSTAIN,
	  "7-1.1" },
	{ "{\"id\":\"7-1.1\"}", -EBADMSG, REVIEWER_ABSTAIN, "7-1.1" },
	{ "{\"id\":\"\",\"answer\":\"allow\"}", -EBADMSG, REVIEWER_ABSTAIN, "" },
	{ "{\"id\":7,\"answer\":\"allow\"}", -EBADMSG, REVIEWER_ABSTAIN, "" },
	{ "{\"id\":\"7\\u0000-1\",\"answer\":\"allow\"}", -EBADMSG, REVIEWER_ABSTAIN, "" },
	{ "{\"id\":\"123456789012345678901234567890123456789012345678\",\"answer\":\"allow\"}",
	  -EBADMSG, REVIEWER_ABSTAIN, "" },
	{ "{\"answer\":\"allow\"}", -EBADMSG, REVIEWER_ABSTAIN, "" },
	{ "[\"7-1.1\",\"allow\"]", -EBADMSG, REVIEWER_ABSTAIN, "" },
	{ "{\"id\":\"7-1.1\",\"answer\":\"allow\"} x", -EBADMSG, REVIEWER_ABSTAIN, "" },
	{ "allow", -EBADMSG, REVIEWER_ABSTAIN, "" },
	{ "", -EBADMSG, REVIEWER_ABSTAIN, "" },
};
START_TEST(a_line_is_an_answer_or_none)
{
	struct reviewer_reply reply;

	ck_assert_int_eq(reviewer_line_parse(lines[_i].line, strlen(lines[_i].line), &reply),
			 lines[_i].want);
	ck_assert_int_eq(reply.say, lines[_i].say);
	ck_assert_str_eq(reply.id, lines[_i].id);
}
END_TEST

START_TEST(a_reason_cannot_move_a_cursor)
{
	static const char line[] = "{\"id\":\"1\",\"answer\":\"deny\",\"reason\":\"\\u001b[2J\"}";
	struct reviewer_reply reply;

	ck_assert_int_eq(reviewer_line_parse(line, strlen(line), &reply), 0);
	ck_assert_str_eq(reply.reason, "\\x1b[2J");
}
END_TEST

static struct approver_question sample(void)
{
	return (struct approver_question){
		.id = "7f3a-1",
		.dst = { .protocol = POLICY_HTTPS, .port = 443, .host = "a.test" },
		.waiting = 1,
		.command_count = 1,
		.commands = { "curl https://a.test/" },
		.rule = "",
		.because = "",
		.plea = "to fetch https://a.test/?key=geheim with token=geheim",
		.program = "/usr/bin/curl",
		.chain = "sh -c 'curl --header \"Authorization: geheim\"' > curl",
		.warning = "",
		.risk = APPROVER_FIRST_SEEN | APPROVER_RAW_TCP,
	};
}

START_TEST(a_question_is_one_line_without_secrets)
{
	const struct approver_question question = sample();
	json_t *what = reviewer_line_describe(&question);
	auto_free char *line = reviewer_line_ask(what, "7f3a-1.1", 5000);

	ck_assert_ptr_nonnull(line);
	ck_assert_ptr_eq(strchr(line, '\n'), line + strlen(line) - 1);
	ck_assert_ptr_null(strstr(line, "geheim"));
	ck_assert_ptr_nonnull(strstr(line, "\"id\":\"7f3a-1.1\""));
	ck_assert_ptr_nonnull(strstr(line, "\"deadline_ms\":5000"));
	ck_assert_ptr_nonnull(strstr(line, "\"destination\":\"https://a.test:443\""));
	ck_assert_ptr_nonnull(strstr(line, "\"risk\":[\"first_seen\",\"raw_tcp\"]"));
	json_decref(what);
}
END_TEST

/* The key is of all that is shown, and of nothing else. */
START_TEST(what_looks_the_same_has_the_same_key)
{
	char keys[4][DIGEST_TEXT_MAX];
	struct approver_question questions[4] = { sample(), sample(), sample(), sample() };

	memcpy(questions[1].id, "7f3a-2", 7);
	questions[1].waiting = 100;
	questions[1].age_ms = 5000;
	questions[2].commands[0] = "curl -o x https://a.test/";
	questions[3].program = "/tmp/curl";
	for (int i = 0; i < 4; i++) {
		json_t *what = reviewer_line_describe(&questions[i]);

		ck_assert_int_eq(reviewer_line_key(what, keys[i]), 0);
		json_decref(what);
	}
	ck_assert_str_eq(keys[0], keys[1]);
	ck_assert_str_ne(keys[0], keys[2]);
	ck_assert_str_ne(keys[0], keys[3]);
}
END_TEST

START_TEST(a_breaker_opens_at_three_and_doubles)
{
	struct reviewer_breaker breaker = { 0 };
	int64_t want_ms = REVIEWER_OPEN_MS;

	ck_assert(!reviewer_breaker_failed(&breaker));
	ck_assert(!reviewer_breaker_failed(&breaker));
	reviewer_breaker_answered(&breaker);
	ck_assert(!reviewer_breaker_failed(&breaker));
	ck_assert(!reviewer_breaker_failed(&breaker));
	ck_assert(reviewer_breaker_failed(&breaker));
	ck_assert(!reviewer_breaker_failed(&breaker)); /* open already */
	for (int i = 0; i < 6; i++) {
		ck_assert_int_eq(breaker.open_ms, want_ms);
		want_ms = want_ms * 2 > REVIEWER_OPEN_MAX_MS ? REVIEWER_OPEN_MAX_MS : want_ms * 2;
		reviewer_breaker_try(&breaker);
		ck_assert_int_eq(breaker.fitness, REVIEWER_ON_TRIAL);
		ck_assert(reviewer_breaker_failed(&breaker)); /* one is enough on trial */
	}
	reviewer_breaker_try(&breaker);
	reviewer_breaker_answered(&breaker);
	ck_assert_int_eq(breaker.fitness, REVIEWER_FIT);
}
END_TEST

START_TEST(a_breaker_counts_denials_in_a_row)
{
	struct reviewer_breaker breaker = { 0 };

	for (int i = 1; i < REVIEWER_DENIALS_MAX; i++)
		ck_assert(!reviewer_breaker_used(&breaker, true));
	ck_assert(!reviewer_breaker_used(&breaker, false));
	for (int i = 1; i < REVIEWER_DENIALS_MAX; i++)
		ck_assert(!reviewer_breaker_used(&breaker, true));
	ck_assert(reviewer_breaker_used(&breaker, true));
	ck_assert_int_eq(breaker.fitness, REVIEWER_UNFIT);
}
END_TEST

START_TEST(a_full_memory_forgets_what_ends_first)
{
	static struct reviewer_memory memory;
	struct reviewer_reply reply = { .say = REVIEWER_ALLOW };
	char key[DIGEST_TEXT_MAX] = "";

	for (int i = 0; i <= REVIEWER_MEMORY_MAX; i++) {
		reply.ttl_s = i == 7 ? 1 : 1000 + i;
		(void)snprintf(key, sizeof(key), "%d", i);
		reviewer_memory_keep(&memory, key, &reply, 0);
	}
	ck_assert_ptr_null(reviewer_memory_find(&memory, "7", 0));
	ck_assert_ptr_nonnull(reviewer_memory_find(&memory, "0", 0));
	ck_assert_ptr_nonnull(reviewer_memory_find(&memory, "128", 0));
	ck_assert_ptr_nonnull(reviewer_memory_find(&memory, "0", 999999));
	ck_assert_ptr_null(reviewer_memory_find(&memory, "0", 1000000));
}
END_TEST

static const struct {
	struct gateway_trust trust;
	bool want;
} sheets[] = {
	{ { 0 }, false },
	{ { .agree_allow = 15, .agree_deny = 5 }, true },
	{ { .agree_allow = 14, .agree_deny = 5 }, false },
	{ { .agree_allow = 14, .agree_deny = 5, .abstained = 100 }, false },
	{ { .agree_allow = 14, .agree_deny = 5, .denied_allowed = 1 }, true },
	{ { .agree_allow = 1000, .agree_deny = 4 }, false },
	{ { .agree_allow = 1000, .agree_deny = 1000, .allowed_denied = 1 }, false },
};
START_TEST(trust_is_earned)
{
	ck_assert_int_eq(gateway_trust_is_enough(&sheets[_i].trust), sheets[_i].want);
}
END_TEST

static const char digest[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

static void on_sheet(const char *name, const char *command, const struct gateway_trust *trust,
		     void *arg)
{
	unsigned int *seen = arg;

	ck_assert_str_eq(name, digest);
	ck_assert_str_eq(command, "review --all");
	ck_assert_uint_eq(trust->agree_deny, 4);
	(*seen)++;
}

START_TEST(sheets_add_up)
{
	char dir[64] = "/tmp/test-trust-XXXXXX", folder[96], sheet[192];
	const struct gateway_trust more = { .agree_allow = 1, .agree_deny = 2 };
	struct gateway_trust trust;
	struct err why = { 0 };
	unsigned int seen = 0;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(folder, sizeof(folder), "%s/sheets", dir);
	(void)snprintf(sheet, sizeof(sheet), "%s/%s.json", folder, digest);
	ck_assert_int_eq(gateway_trust_read(folder, digest, &trust, &why), 0);
	ck_assert_uint_eq(trust.agree_deny, 0);
	ck_assert_int_eq(gateway_trust_each(folder, on_sheet, &seen, &why), 0);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(gateway_trust_add(folder, digest, "review --all", &more, &why), 0);
	ck_assert_int_eq(gateway_trust_read(folder, digest, &trust, &why), 0);
	ck_assert_uint_eq(trust.agree_allow, 2);
	ck_assert_int_eq(gateway_trust_each(folder, on_sheet, &seen, &why), 0);
	ck_assert_uint_eq(seen, 1);
	/* What cannot be understood is trusted by nobody, and is not written over. */
	auto_close int fd = open(sheet, O_WRONLY | O_TRUNC | O_CLOEXEC);

	ck_assert_int_eq(fd_write_all(fd, "{\"version\":1}", 13), 0);
	ck_assert_int_eq(gateway_trust_read(folder, digest, &trust, &why), -EBADMSG);
	ck_assert_int_eq(gateway_trust_add(folder, digest, "x", &more, &why), -EBADMSG);
	ck_assert_int_eq(unlink(sheet), 0);
	ck_assert_int_eq(symlink("/etc/passwd", sheet), 0);
	ck_assert_int_eq(gateway_trust_read(folder, digest, &trust, &why), -ELOOP);
	ck_assert_int_eq(unlink(sheet), 0);
	ck_assert_int_eq(rmdir(folder), 0);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

Suite *suite_reviewer_parts(void)
{
	Suite *suite = suite_create("approver: reviewer, parts");
	TCase *tcase = tcase_create("parts");

	tcase_add_loop_test(tcase, a_line_is_an_answer_or_none, 0, ARRAY_SIZE(lines));
	tcase_add_test(tcase, a_reason_cannot_move_a_cursor);
	tcase_add_test(tcase, a_question_is_one_line_without_secrets);
	tcase_add_test(tcase, what_looks_the_same_has_the_same_key);
	tcase_add_test(tcase, a_breaker_opens_at_three_and_doubles);
	tcase_add_test(tcase, a_breaker_counts_denials_in_a_row);
	tcase_add_test(tcase, a_full_memory_forgets_what_ends_first);
	tcase_add_loop_test(tcase, trust_is_earned, 0, ARRAY_SIZE(sheets));
	tcase_add_test(tcase, sheets_add_up);
	suite_add_tcase(suite, tcase);
	return suite;
}
