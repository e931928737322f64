#include "tests/contract/contract_stage.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "gateway/approvers/approver_impl.h"
#include "gateway/state.h"
#include "policies/policies_tools.h"

START_TEST(not_wanted_is_not_an_error)
{
	const struct gateway_config nothing = { .session = "contract", .run = "7f3a" };
	struct loop *loop = loop_new_fake();
	struct err why = { 0 };

	ck_assert_ptr_null(approver_table[_i]->open(NULL, loop, &nothing, &why));
	ck_assert_str_eq(why.text, "");
	loop_free(loop);
}
END_TEST

START_TEST(has_a_name_and_all_its_parts)
{
	const struct approver_ops *ops = approver_table[_i];

	ck_assert_ptr_nonnull(ops->name);
	ck_assert(ops->open && ops->is_attached && ops->ask && ops->changed && ops->retract &&
		  ops->close);
	for (int i = 0; i < _i; i++)
		ck_assert_str_ne(approver_table[i]->name, ops->name);
}
END_TEST

START_TEST(opens_and_closes_and_leaves_nothing)
{
	stage_open(_i);
	stage_close();
}
END_TEST

START_TEST(lives_through_a_questions_whole_life)
{
	struct gateway_ticket *first, *second;

	stage_open(_i);
	first = stage_ask("https://a.test:443");
	second = stage_ask("https://a.test:443"); /* changed */
	(void)stage_ask("tcp://b.test:22");
	gateway_withdraw(first);
	stage_settle();
	gateway_withdraw(second); /* retracted */
	stage_settle();
	loop_advance(stage.loop, 60000); /* the other runs into its deadline */
	stage_settle();
	ck_assert_uint_eq(stage.told, 1);
	ck_assert_int_eq(stage.reason, POLICY_PROMPT_TIMEOUT);
	stage_close();
}
END_TEST

START_TEST(may_be_closed_with_questions_open)
{
	stage_open(_i);
	for (int i = 0; i < 5; i++)
		(void)stage_ask(i % 2 ? "https://a.test:443" : "tcp://192.0.2.1:22");
	stage_close();
	ck_assert_uint_eq(stage.told, 5);
	ck_assert_int_eq(stage.reason, POLICY_GATE_CLOSING);
}
END_TEST

/* Answered elsewhere: the approver forgets the question, and the next one is shown as if nothing
 * had been. */
START_TEST(forgets_what_another_has_answered)
{
	stage_open(_i);
	for (int i = 0; i < 5; i++) {
		const struct approver_answer no = { .action = POLICY_DENY, .by = "somebody else" };
		char id[APPROVER_ID_MAX];

		(void)stage_ask("https://a.test:443");
		memcpy(id, TAILQ_FIRST(&stage.gw->questions)->id, sizeof(id));
		ck_assert_int_eq(gateway_answer(stage.gw, id, &no, NULL), 0);
		stage_settle();
		ck_assert_uint_eq(stage.told, (unsigned int)i + 1);
	}
	stage_close();
}
END_TEST

/* A notice about a question that it was never asked has no effect. */
START_TEST(a_retract_of_nothing_is_nothing)
{
	struct approver_seat seat;

	stage_open(_i);
	seat = stage.gw->approvers[0];
	seat.ops->retract(seat.self,
			  &(struct approver_end){ .id = "7f3a-99", .how = "allowed once by ana" });
	seat.ops->retract(seat.self, &(struct approver_end){ .id = "", .how = "" });
	stage_settle();
	(void)stage_ask("https://a.test:443");
	seat.ops->retract(seat.self,
			  &(struct approver_end){ .id = "7f3a-99", .how = "allowed once by ana" });
	stage_settle();
	stage_close();
}
END_TEST

/* The longest of everything, with bytes that move a cursor where bytes can get in at all. */
START_TEST(any_question_can_be_put)
{
	struct approver_question question = {
		.id = "7f3a-12345678901234567",
		.waiting = 4000000000U,
		.command_count = 4000000000U,
		.rule = "p:1: ask **.test because \"\\x1b[2J\"",
		.because = "\x1b[2J\r\n\xff\xc2\x9b",
		.age_ms = INT64_MAX,
		.left_ms = 0,
		.is_private = true,
	};
	char command[1024];
	struct approver_seat seat;

	stage_open(_i);
	seat = stage.gw->approvers[0];
	memset(question.dst.host, 'a', sizeof(question.dst.host) - 1);
	question.dst.protocol = POLICY_TCP;
	question.dst.port = 65535;
	memset(command, '\\', sizeof(command) - 1);
	command[sizeof(command) - 1] = '\0';
	for (int i = 0; i < APPROVER_COMMANDS_MAX; i++)
		question.commands[i] = command;
	seat.ops->ask(seat.self, &question);
	stage_settle();
	seat.ops->changed(seat.self, &question);
	stage_settle();
	seat.ops->retract(seat.self, &(struct approver_end){ .id = question.id, .how = command });
	stage_settle();
	stage_close();
}
END_TEST

/* A malformed answer does not count: the question waits for its deadline, and is denied. */
START_TEST(garbage_allows_nothing)
{
	static const char line[] = "{\"id\":1,\"op\":\"allow\",\"question\":\"7f3a-99\"}\n";
	uint32_t state = 7;
	char noise[4096];
	int fd;

	stage_open(_i);
	(void)stage_ask("https://a.test:443");
	fd = stage_other_end();
	for (size_t i = 0; i < sizeof(noise); i++) {
		state = state * 1664525u + 1013904223u;
		noise[i] = (char)(state >> 24);
		/* Letters of the prompt are answers; and so is a key that gives up. */
		if (strchr("yesanESDqYA\x03\x04\x1c\r\n", noise[i]))
			noise[i] = '~';
	}
	stage_say(fd, line, sizeof(line) - 1); /* to a question that never was */
	stage_say(fd, noise, sizeof(noise));
	ck_assert_uint_eq(stage.told, 0);
	/* Keys that arrive late, on a busy machine, give the question a minute more, once. */
	for (int i = 0; i < 3 && stage.told == 0; i++) {
		loop_advance(stage.loop, 60000);
		stage_settle();
	}
	ck_assert_uint_eq(stage.told, 1);
	ck_assert_int_eq(stage.reason, POLICY_PROMPT_TIMEOUT);
	fd_close(fd);
	stage_settle();
	stage_close();
}
END_TEST

/* The other end hangs: it takes nothing and says nothing, while much is asked. Nobody waits for it.
 */
START_TEST(an_end_that_hangs_holds_nobody_up)
{
	static const char watch[] = "{\"id\":1,\"op\":\"watch\"}\n";
	const struct approver_answer no = { .action = POLICY_DENY, .by = "somebody else" };
	int fd;

	stage_open(_i);
	fd = stage_other_end();
	if (strcmp(approver_table[_i]->name, "control") == 0)
		stage_say(fd, watch, strlen(watch));
	if (strcmp(approver_table[_i]->name, "web") == 0)
		stage_say_to_page(fd, "GET /api/events", 0, "");
	for (int i = 0; i < 200; i++) {
		char destination[64];

		(void)snprintf(destination, sizeof(destination), "https://h%d.test:443", i);
		(void)stage_submit(destination);
		for (int step = 0; step < 5; step++)
			loop_step(stage.loop);
	}
	ck_assert_int_eq(gateway_answer(stage.gw, TAILQ_FIRST(&stage.gw->questions)->id, &no, NULL),
			 0);
	for (int step = 0; step < 20; step++)
		loop_step(stage.loop);
	ck_assert_uint_eq(stage.told, 1);
	loop_advance(stage.loop, 60000);
	stage_settle();
	ck_assert_uint_eq(stage.told, 200);
	fd_close(fd);
	stage_close();
}
END_TEST

/* The other end dies in the middle of an answer. */
START_TEST(an_end_that_dies_allows_nothing)
{
	static const char half[] = "{\"id\":1,\"op\":\"allow\",\"question\":\"7f3a-1\"}";
	int fd;

	stage_open(_i);
	(void)stage_ask("https://a.test:443");
	fd = stage_other_end();
	if (strcmp(approver_table[_i]->name, "control") == 0)
		stage_say(fd, half, strlen(half));
	if (strcmp(approver_table[_i]->name, "web") == 0)
		stage_say_to_page(fd, "POST /api/answer", strlen(half) + 1, half);
	fd_close(fd);
	if (strcmp(approver_table[_i]->name, "tty") == 0)
		fd_close(stage.screen); /* the terminal hangs up */
	for (int i = 0; i < 50; i++)
		loop_step(stage.loop);
	loop_advance(stage.loop, 60000);
	for (int i = 0; i < 50; i++)
		loop_step(stage.loop);
	ck_assert_uint_eq(stage.told, 1);
	ck_assert(stage.reason != POLICY_GRANTED_ONCE);
	if (strcmp(approver_table[_i]->name, "tty") == 0)
		stage.screen = open("/dev/null", O_RDONLY | O_CLOEXEC);
	stage_close();
}
END_TEST

/* Two answers to one question, and answers to none: the first counts, the others are told so. */
START_TEST(the_second_answer_is_told_so)
{
	const struct approver_answer no = { .action = POLICY_DENY, .by = "first" };
	const struct approver_answer yes = { .action = POLICY_ALLOW,
					     .scope = GATEWAY_SESSION,
					     .by = "second" };
	struct err why = { 0 };
	char id[APPROVER_ID_MAX];

	stage_open(_i);
	(void)stage_ask("https://a.test:443");
	memcpy(id, TAILQ_FIRST(&stage.gw->questions)->id, sizeof(id));
	ck_assert_int_eq(gateway_answer(stage.gw, "7f3a-99", &yes, &why), -ENOENT);
	ck_assert_int_eq(gateway_answer(stage.gw, "", &yes, &why), -ENOENT);
	ck_assert_int_eq(gateway_answer(stage.gw, id, &no, &why), 0);
	ck_assert_int_eq(gateway_answer(stage.gw, id, &yes, &why), -ENOENT);
	stage_settle();
	ck_assert_uint_eq(stage.told, 1);
	ck_assert_int_eq(stage.reason, POLICY_DENIED_ONCE);
	(void)stage_ask("https://a.test:443");
	ck_assert_uint_eq(stage.told, 1); /* and nothing was remembered */
	stage_close();
}
END_TEST

Suite *suite_approver_contract(void)
{
	Suite *suite = suite_create("approvers");
	TCase *tcase = tcase_create("every approver");
	int count = 0;

	while (approver_table[count])
		count++;
	tcase_add_loop_test(tcase, not_wanted_is_not_an_error, 0, count);
	tcase_add_loop_test(tcase, has_a_name_and_all_its_parts, 0, count);
	tcase_add_loop_test(tcase, opens_and_closes_and_leaves_nothing, 0, count);
	tcase_add_loop_test(tcase, lives_through_a_questions_whole_life, 0, count);
	tcase_add_loop_test(tcase, may_be_closed_with_questions_open, 0, count);
	tcase_add_loop_test(tcase, forgets_what_another_has_answered, 0, count);
	tcase_add_loop_test(tcase, a_retract_of_nothing_is_nothing, 0, count);
	tcase_add_loop_test(tcase, any_question_can_be_put, 0, count);
	tcase_add_loop_test(tcase, garbage_allows_nothing, 0, count);
	tcase_add_loop_test(tcase, an_end_that_hangs_holds_nobody_up, 0, count);
	tcase_add_loop_test(tcase, an_end_that_dies_allows_nothing, 0, count);
	tcase_add_loop_test(tcase, the_second_answer_is_told_so, 0, count);
	suite_add_tcase(suite, tcase);
	return suite;
}
