#include "tests/contract/contract.h"

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
#include "gateway/core.h"
#include "policies/policies_tools.h"

/* One approver of the table, on a gateway that has no other. */
static struct {
	struct contract_place place;
	struct loop *loop;
	struct policy *policy;
	struct gateway *gw;
	struct gateway_client *client;
	int screen, keys; /* the terminal's two ends */
	struct gateway_terminal terminal;
	size_t fds;
	unsigned int told;
	enum policy_reason reason;
} stage;

static void settle(void)
{
	for (int i = 0; i < 50; i++)
		loop_step(stage.loop);
	/* A person's screen is read. */
	char seen[4096];

	(void)fd_set_nonblocking(stage.screen, true);
	while (read(stage.screen, seen, sizeof(seen)) > 0)
		;
}

static void stage_open(int i)
{
	const struct approver_ops *const table[] = { approver_table[i], NULL };
	struct err why = { 0 };

	memset(&stage, 0, sizeof(stage));
	unsetenv("TMUX"); /* the developer's */
	stage.fds = contract_count_fds();
	contract_open(&stage.place);
	ck_assert_int_eq(openpty(&stage.screen, &stage.keys, NULL, NULL, NULL), 0);
	stage.terminal.fd = stage.keys;
	stage.loop = loop_new_fake();
	stage.policy = policy_new();
	ck_assert_int_eq(policy_load_text(stage.policy, "<test>", "version 1\ndefault ask\n"), 0);
	ck_assert_int_eq(policy_finish(stage.policy), 0);
	stage.place.config.policy = stage.policy;
	stage.place.config.terminal = &stage.terminal;
	stage.place.config.is_patient = true; /* whoever is attached */
	stage.gw = gateway_new_with(stage.loop, &stage.place.config, table, &why);
	ck_assert_msg(stage.gw != NULL, "%s", why.text);
	ck_assert_uint_eq(stage.gw->approver_count, 1);
	stage.client = gateway_client_new(stage.gw);
	gateway_exec_begin(stage.gw, 1, "npm ci");
	settle();
}

static void stage_close(void)
{
	gateway_free(stage.gw);
	settle();
	gateway_client_free(stage.client);
	policy_free(stage.policy);
	loop_free(stage.loop);
	fd_close(stage.screen);
	fd_close(stage.keys);
	ck_assert_uint_eq(contract_count_fds(), stage.fds);
	contract_close(&stage.place);
}

static void on_verdict(const struct policy_verdict *verdict, void *arg)
{
	stage.told++;
	stage.reason = verdict->reason;
}

static struct gateway_ticket *ask_for(const char *destination)
{
	struct policy_facts facts = { .way = POLICY_WAY_CONNECT, .exec = 1 };
	struct gateway_ticket *ticket;

	ck_assert_int_eq(policy_destination_parse(destination, &facts.dst, NULL), 0);
	facts.dst.protocol = facts.carries = policy_protocol_of_port(facts.dst.port);
	ticket = gateway_submit(stage.client, &facts, on_verdict, NULL);
	settle();
	return ticket;
}

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
	first = ask_for("https://a.test:443");
	second = ask_for("https://a.test:443"); /* changed */
	(void)ask_for("tcp://b.test:22");
	gateway_withdraw(first);
	settle();
	gateway_withdraw(second); /* retracted */
	settle();
	loop_advance(stage.loop, 60000); /* the other runs into its deadline */
	settle();
	ck_assert_uint_eq(stage.told, 1);
	ck_assert_int_eq(stage.reason, POLICY_PROMPT_TIMEOUT);
	stage_close();
}
END_TEST

START_TEST(may_be_closed_with_questions_open)
{
	stage_open(_i);
	for (int i = 0; i < 5; i++)
		(void)ask_for(i % 2 ? "https://a.test:443" : "tcp://192.0.2.1:22");
	stage_close();
	ck_assert_uint_eq(stage.told, 5);
	ck_assert_int_eq(stage.reason, POLICY_GATE_CLOSING);
}
END_TEST

/* Settled elsewhere: what it is told it forgets, and the next question is put as if nothing had
 * been. */
START_TEST(forgets_what_another_has_answered)
{
	stage_open(_i);
	for (int i = 0; i < 5; i++) {
		const struct approver_answer no = { .action = POLICY_DENY, .by = "somebody else" };
		char id[APPROVER_ID_MAX];

		(void)ask_for("https://a.test:443");
		memcpy(id, TAILQ_FIRST(&stage.gw->questions)->id, sizeof(id));
		ck_assert_int_eq(gateway_answer(stage.gw, id, &no, NULL), 0);
		settle();
		ck_assert_uint_eq(stage.told, (unsigned int)i + 1);
	}
	stage_close();
}
END_TEST

/* What it was never asked, it is told about without harm. */
START_TEST(a_retract_of_nothing_is_nothing)
{
	struct approver_seat seat;

	stage_open(_i);
	seat = stage.gw->approvers[0];
	seat.ops->retract(seat.self,
			  &(struct approver_end){ .id = "7f3a-99", .how = "allowed once by ana" });
	seat.ops->retract(seat.self, &(struct approver_end){ .id = "", .how = "" });
	settle();
	(void)ask_for("https://a.test:443");
	seat.ops->retract(seat.self,
			  &(struct approver_end){ .id = "7f3a-99", .how = "allowed once by ana" });
	settle();
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
	settle();
	seat.ops->changed(seat.self, &question);
	settle();
	seat.ops->retract(seat.self, &(struct approver_end){ .id = question.id, .how = command });
	settle();
	stage_close();
}
END_TEST

/* Whoever sits at the other end of it: bytes on the terminal, a client of the socket. Another
 * approver's way in is added here. -1: it has none. */
static int other_end(const struct approver_ops *ops)
{
	if (strcmp(ops->name, "tty") == 0)
		return dup(stage.screen);
	if (strcmp(ops->name, "web") == 0)
		return contract_web_connect(&stage.place.web);
	if (strcmp(ops->name, "control") != 0)
		return -1;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/7f3a.sock", stage.place.dir);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	settle();
	return fd;
}

static void say(int fd, const char *bytes, size_t len)
{
	if (fd >= 0)
		(void)!write(fd, bytes, len); /* whether it still listens is its affair */
	settle();
}

/* A request of a page that was entered, as far as @body. */
static void say_to_page(int fd, const char *method, size_t length, const char *body)
{
	auto_free char *fields = contract_web_enter(&stage.place.web, settle);
	auto_free char *request = mem_printf("%s HTTP/1.1\r\n%sContent-Length: %zu\r\n\r\n%s",
					     method, fields, length, body);

	say(fd, request, strlen(request));
}

/* Garbage is no answer: the question waits for its deadline, and is denied. */
START_TEST(garbage_allows_nothing)
{
	static const char line[] = "{\"id\":1,\"op\":\"allow\",\"question\":\"7f3a-99\"}\n";
	uint32_t state = 7;
	char noise[4096];
	int fd;

	stage_open(_i);
	(void)ask_for("https://a.test:443");
	fd = other_end(approver_table[_i]);
	for (size_t i = 0; i < sizeof(noise); i++) {
		state = state * 1664525u + 1013904223u;
		noise[i] = (char)(state >> 24);
		/* Letters of the prompt are answers; and so is a key that gives up. */
		if (strchr("yesanESDqYA\x03\x04\x1c\r\n", noise[i]))
			noise[i] = '~';
	}
	say(fd, line, sizeof(line) - 1); /* to a question that never was */
	say(fd, noise, sizeof(noise));
	ck_assert_uint_eq(stage.told, 0);
	loop_advance(stage.loop, 60000);
	settle();
	ck_assert_uint_eq(stage.told, 1);
	ck_assert_int_eq(stage.reason, POLICY_PROMPT_TIMEOUT);
	fd_close(fd);
	settle();
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
	fd = other_end(approver_table[_i]);
	if (strcmp(approver_table[_i]->name, "control") == 0)
		say(fd, watch, strlen(watch));
	if (strcmp(approver_table[_i]->name, "web") == 0)
		say_to_page(fd, "GET /api/events", 0, "");
	for (int i = 0; i < 200; i++) {
		char destination[64];

		(void)snprintf(destination, sizeof(destination), "https://h%d.test:443", i);
		struct policy_facts facts = { .way = POLICY_WAY_CONNECT, .exec = 1 };

		ck_assert_int_eq(policy_destination_parse(destination, &facts.dst, NULL), 0);
		facts.carries = POLICY_HTTPS;
		(void)gateway_submit(stage.client, &facts, on_verdict, NULL);
		for (int step = 0; step < 5; step++)
			loop_step(stage.loop);
	}
	ck_assert_int_eq(gateway_answer(stage.gw, TAILQ_FIRST(&stage.gw->questions)->id, &no, NULL),
			 0);
	for (int step = 0; step < 20; step++)
		loop_step(stage.loop);
	ck_assert_uint_eq(stage.told, 1);
	loop_advance(stage.loop, 60000);
	settle();
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
	(void)ask_for("https://a.test:443");
	fd = other_end(approver_table[_i]);
	if (strcmp(approver_table[_i]->name, "control") == 0)
		say(fd, half, strlen(half));
	if (strcmp(approver_table[_i]->name, "web") == 0)
		say_to_page(fd, "POST /api/answer", strlen(half) + 1, half);
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
	(void)ask_for("https://a.test:443");
	memcpy(id, TAILQ_FIRST(&stage.gw->questions)->id, sizeof(id));
	ck_assert_int_eq(gateway_answer(stage.gw, "7f3a-99", &yes, &why), -ENOENT);
	ck_assert_int_eq(gateway_answer(stage.gw, "", &yes, &why), -ENOENT);
	ck_assert_int_eq(gateway_answer(stage.gw, id, &no, &why), 0);
	ck_assert_int_eq(gateway_answer(stage.gw, id, &yes, &why), -ENOENT);
	settle();
	ck_assert_uint_eq(stage.told, 1);
	ck_assert_int_eq(stage.reason, POLICY_DENIED_ONCE);
	(void)ask_for("https://a.test:443");
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
