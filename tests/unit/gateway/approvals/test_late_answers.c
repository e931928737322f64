/* Answers that come when the question is over: they do nothing, and stand in the audit log, a few
 * of each question. */
#include "tests/unit/gateway/fixture.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/approvers/table.h"
#include "gateway/gateway_agent.h"
#include "gateway/gateway_tools.h"

#define HOST "https://a.test:443"

static const struct approver_answer late = { .action = POLICY_ALLOW,
					     .scope = GATEWAY_SESSION,
					     .by = "bob on web" };

/* The last record of a late answer. Returned owned; NULL: there is none. */
static char *last_late(void)
{
	fixture_publish();
	FILE *file = fopen(fixture.audit, "r");
	char line[16384];
	char *found = NULL;

	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file)) {
		if (!strstr(line, "\"event\":\"late_answer\""))
			continue;
		free(found);
		found = mem_strdup(line);
	}
	(void)fclose(file);
	return found;
}

static void expect_last(const char *members)
{
	fixture_settle();
	auto_free char *line = last_late();

	ck_assert_ptr_nonnull(line);
	ck_assert_msg(strstr(line, members) != NULL, "%s", line);
}

/* Asks for @destination and denies it; @id: of that question. */
static void settle_one(const char *destination, char id[APPROVER_ID_MAX])
{
	struct fixture_request request = { 0 };

	fixture_ask(&request, destination, FIXTURE_EXEC);
	memcpy(id, fixture.approver.last.id, APPROVER_ID_MAX);
	ck_assert_int_eq(fixture_answer(POLICY_DENY, GATEWAY_ONCE), 0);
	fixture_expect(&request, POLICY_DENY, POLICY_DENIED_ONCE);
}

START_TEST(it_is_recorded_with_what_it_came_to)
{
	struct approver_answer wide = late;
	char id[APPROVER_ID_MAX];

	fixture_open(NULL);
	settle_one(HOST, id);
	ck_assert_uint_eq(fixture_count_records("late_answer", NULL), 0);
	ck_assert_int_eq(gateway_answer(fixture.gw, id, &late, NULL), -ENOENT);
	expect_last("\"event\":\"late_answer\",\"reason\":\"denied_once\",\"by\":\"bob on "
		    "web\",\"question\":\"7f3a-1\","
		    "\"said\":\"allow session\",\"answers\":1,\"host\":\"a.test\","
		    "\"protocol\":\"https\",\"port\":443,\"cause\":\"denied once by ana on tty\"");
	wide.width = (struct approver_width){ .is_domain = true, .for_s = 3600 };
	ck_assert_int_eq(gateway_answer(fixture.gw, id, &wide, NULL), -ENOENT);
	expect_last("\"said\":\"allow session: https://**.a.test:443 for 1h\"");
	wide = (struct approver_answer){ .is_abort = true, .by = "bob on web" };
	ck_assert_int_eq(gateway_answer(fixture.gw, id, &wide, NULL), -ENOENT);
	expect_last("\"said\":\"abort\",\"answers\":3");
	ck_assert_uint_eq(fixture_count_records("late_answer", NULL), 3);
	/* What it would have been is not asked about here. */
	char text[APPROVER_KEY_MAX];

	ck_assert_int_eq(gateway_answer_text(fixture.gw, id, &late, text, NULL), -ENOENT);
	fixture_settle();
	ck_assert_uint_eq(fixture_count_records("late_answer", NULL), 3);
	fixture_close();
}
END_TEST

/* Nobody was asked that, or nobody can tell any more: one count for all of them. */
START_TEST(a_stray_one_is_recorded_too)
{
	struct approver_answer wide = late;

	fixture_open(NULL);
	ck_assert_int_eq(gateway_answer(fixture.gw, "7f3a-99", &late, NULL), -ENOENT);
	expect_last(
		"\"event\":\"late_answer\",\"by\":\"bob on web\",\"question\":\"7f3a-99\","
		"\"said\":\"allow session\",\"answers\":1,\"cause\":\"there is no such question, "
		"or it ended long ago\"");
	wide.width.is_every_port = true;
	ck_assert_int_eq(gateway_answer(fixture.gw, "\x1b[2J\"\\", &wide, NULL), -ENOENT);
	expect_last("\"said\":\"allow session: with another width\",\"answers\":2");
	ck_assert_int_eq(gateway_answer(fixture.gw, "", &late, NULL), -ENOENT);
	ck_assert_uint_eq(fixture_count_records("late_answer", NULL), 2); /* a turn is due */
	fixture_settle();
	ck_assert_uint_eq(fixture_count_records("late_answer", NULL), 3);
	fixture_close();
}
END_TEST

/* 8, and 16, 32, … 512; of questions that are known, and of all others together. */
START_TEST(a_flood_of_them_is_a_few_records)
{
	char first[APPROVER_ID_MAX], second[APPROVER_ID_MAX], stray[APPROVER_ID_MAX];

	fixture_open(NULL);
	settle_one(HOST, first);
	settle_one("https://b.test:443", second);
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(stray, sizeof(stray), "7f3a-%d", 1000 + i);
		ck_assert_int_eq(gateway_answer(fixture.gw, first, &late, NULL), -ENOENT);
		ck_assert_int_eq(gateway_answer(fixture.gw, stray, &late, NULL), -ENOENT);
	}
	fixture_settle();
	ck_assert_uint_eq(fixture_count_records("late_answer", NULL), 28);
	ck_assert_int_eq(gateway_answer(fixture.gw, second, &late, NULL), -ENOENT);
	expect_last("\"answers\":1,\"host\":\"b.test\"");
	fixture_close();
}
END_TEST

/* The same question again: it has its number, and what came to it too late before. */
START_TEST(a_question_that_was_asked_again_goes_on_counting)
{
	struct fixture_request again = { 0 }, request = { 0 };
	char id[APPROVER_ID_MAX];

	fixture_open(NULL);
	fixture_ask(&request, HOST, FIXTURE_EXEC);
	memcpy(id, fixture.approver.last.id, sizeof(id));
	loop_advance(fixture.loop, fixture.config.prompt_timeout_ms);
	fixture_settle();
	fixture_expect(&request, POLICY_DENY, POLICY_PROMPT_TIMEOUT);
	ck_assert_int_eq(gateway_answer(fixture.gw, id, &late, NULL), -ENOENT);
	expect_last("\"answers\":1");
	fixture_ask(&again, HOST, FIXTURE_EXEC);
	ck_assert_str_eq(fixture.approver.last.id, id);
	ck_assert_int_eq(fixture_answer(POLICY_DENY, GATEWAY_ONCE), 0);
	ck_assert_int_eq(gateway_answer(fixture.gw, id, &late, NULL), -ENOENT);
	expect_last("\"answers\":2,\"host\":\"a.test\",\"protocol\":\"https\",\"port\":443,"
		    "\"cause\":\"denied once by ana on tty\"");
	fixture_close();
}
END_TEST

START_TEST(the_oldest_questions_are_forgotten)
{
	char first[APPROVER_ID_MAX], last[APPROVER_ID_MAX];

	fixture_open(NULL);
	settle_one(HOST, first);
	for (int i = 0; i < GATEWAY_LATE_QUESTIONS_MAX; i++) {
		char destination[64];

		(void)snprintf(destination, sizeof(destination), "https://h%d.test:443", i);
		settle_one(destination, last);
	}
	ck_assert_int_eq(gateway_answer(fixture.gw, first, &late, NULL), -ENOENT);
	expect_last("\"cause\":\"there is no such question, or it ended long ago\"");
	ck_assert_int_eq(gateway_answer(fixture.gw, last, &late, NULL), -ENOENT);
	expect_last("\"cause\":\"denied once by ana on tty\"");
	fixture_close();
}
END_TEST

START_TEST(those_of_a_list_are_recorded_each)
{
	struct fixture_request open = { 0 };
	const char *ids[3] = { "7f3a-1", "7f3a-2", "7f3a-99" };
	char id[APPROVER_ID_MAX];
	int results[3];

	fixture_open(NULL);
	settle_one(HOST, id);
	fixture_ask(&open, "https://b.test:443", FIXTURE_EXEC);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		results[i] = gateway_answer(fixture.gw, ids[i], &late, NULL);
	fixture_settle();
	fixture_expect(&open, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	ck_assert_int_eq(results[0], -ENOENT);
	ck_assert_int_eq(results[1], 0);
	ck_assert_int_eq(results[2], -ENOENT);
	ck_assert_uint_eq(fixture_count_records("late_answer", NULL), 2);
	fixture_close();
}
END_TEST

/* A program that holds the gateway in its own process. */
START_TEST(a_programs_own_is_recorded)
{
	char id[APPROVER_ID_MAX];

	fixture_open(NULL);
	settle_one(HOST, id);
	ck_assert_int_eq(gateway_embedded_answer(fixture.gw, id, &late, NULL, NULL, NULL), -ENOENT);
	expect_last("\"by\":\"bob on web\",\"question\":\"7f3a-1\",\"said\":\"allow session\"");
	ck_assert_uint_eq(fixture_count_records("late_answer", NULL), 1);
	fixture_close();
}
END_TEST

Suite *suite_late(void)
{
	Suite *suite = suite_create("late");
	TCase *tcase = tcase_create("late answers");

	tcase_add_test(tcase, it_is_recorded_with_what_it_came_to);
	tcase_add_test(tcase, a_stray_one_is_recorded_too);
	tcase_add_test(tcase, a_flood_of_them_is_a_few_records);
	tcase_add_test(tcase, a_question_that_was_asked_again_goes_on_counting);
	tcase_add_test(tcase, the_oldest_questions_are_forgotten);
	tcase_add_test(tcase, those_of_a_list_are_recorded_each);
	tcase_add_test(tcase, a_programs_own_is_recorded);
	tcase_set_timeout(tcase, 60);
	suite_add_tcase(suite, tcase);
	return suite;
}
