/* The worst behaviour of an approver's other end: a program, person, page or client that hangs,
 * crashes, sends malformed answers, answers twice, or answers a question that it was not asked. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "gateway/state.h"
#include "gateway/audit/journal.h"
#include "tests/contract/contract_stage.h"

#define HOST "https://a.test:443"

enum mood { NONSENSE, CRASH, HANG, TWICE, UNKNOWN, MOODS };
static const char *const moods[MOODS] = {
	[NONSENSE] =
		"while read -r q; do printf '\\001\\377}{\"id\":\\n{\"id\":1,\"answer\":1}\\n'; "
		"done",
	[CRASH] = "read -r q; printf '{\"id\":\"7f3a-1.1\",\"answer\":\"allow\"'; kill -9 $$",
	[HANG] = "exec sleep 1000",
	[TWICE] = "read -r q; printf '{\"id\":\"7f3a-1.1\",\"answer\":\"deny\"}\\n"
		  "{\"id\":\"7f3a-1.1\",\"answer\":\"allow\"}\\n'; exec sleep 1000",
	[UNKNOWN] =
		"read -r q; for id in 7f3a-1 7f3a-2.1 7f3a-1.2 7f3a-99.1 ''; do "
		"printf '{\"id\":\"%s\",\"answer\":\"allow\"}\\n' \"$id\"; done; exec sleep 1000",
};

static const char *stage_name(void)
{
	return stage.gw->approvers[0].ops->name;
}

/* Programs and terminals take their own time. */
static void wait_until_told(unsigned int told, int tries)
{
	for (int i = 0; i < tries && stage.told < told; i++) {
		stage_settle();
		(void)usleep(1000);
	}
}

/* For every line of the table, though only a reviewer is listened to. */
START_TEST(a_program_at_its_worst_allows_nothing)
{
	enum mood mood = (enum mood)(_i % MOODS);
	bool is_denial;

	contract_script(moods[mood]);
	stage_open(_i / MOODS);
	is_denial = strcmp(stage_name(), "reviewer") == 0 && mood == TWICE;
	(void)stage_ask(HOST);
	wait_until_told(1, is_denial ? 10000 : 200);
	ck_assert_uint_eq(stage.told, is_denial);
	loop_advance(stage.loop, 60000);
	wait_until_told(1, 10000);
	ck_assert_int_eq(stage.reason, is_denial ? POLICY_DENIED_REVIEW : POLICY_PROMPT_TIMEOUT);
	stage_close();
}
END_TEST

/* In the form of the other end: a letter, a line, a page's request. */
static void end_says(int *fd, const char *id, const char *action)
{
	auto_free char *line =
		mem_printf("{\"id\":1,\"op\":\"%s\",\"question\":\"%s\"}\n", action, id);
	auto_free char *body = mem_printf(
		"{\"question\":\"%s\",\"action\":\"%s\",\"scope\":\"once\",\"text\":\"%s\"}", id,
		action, HOST);

	if (strcmp(stage_name(), "control") == 0)
		stage_say(*fd, line, strlen(line));
	else if (strcmp(stage_name(), "web") == 0)
		stage_say_to_page(*fd, "POST /api/answer", strlen(body), body);
	else { /* Enter counts for what has been on the screen */
		stage_say(*fd, action[0] == 'a' ? "y" : "n", 1);
		for (int i = 0; i < 100; i++) {
			stage_settle();
			(void)usleep(1000);
		}
		loop_advance(stage.loop, 1000);
		stage_settle();
		stage_say(*fd, "\r", 1);
	}
}

/* A terminal without a question: typed keys do not answer. */
static void end_was_recorded(const char *id)
{
	auto_free char *said = mem_printf("\"question\":\"%s\",\"said\":\"allow once\"", id);
	unsigned int count = 0, want = strcmp(stage_name(), "tty") == 0 ? 0 : 1;
	while (journal_publish_now(stage.gw->journal) == 1)
		;
	FILE *file = fopen(stage.place.audit, "r");
	uint64_t records;
	char line[8192];

	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file))
		count += strstr(line, "\"event\":\"late_answer\"") && strstr(line, said);
	(void)fclose(file);
	ck_assert_uint_eq(count, want);
	ck_assert_int_eq(
		gateway_audit_verify(stage.place.audit, stage.place.dir, NULL, &records, NULL), 0);
}

/* Keys count from here on. */
static void end_is_ready(void)
{
	for (int i = 0; i < 3; i++) {
		stage_settle();
		loop_advance(stage.loop, 1000);
	}
	stage_settle();
}

static bool end_can_say(void)
{
	return strcmp(stage_name(), "tty") == 0 || strcmp(stage_name(), "control") == 0 ||
	       strcmp(stage_name(), "web") == 0;
}

/* The first of two answers counts, and the other approver is told, if there is one. */
static void end_was_told(int fd)
{
	char answers[8192] = "";

	if (strcmp(stage_name(), "tty") == 0)
		return;
	ck_assert_int_gt(recv(fd, answers, sizeof(answers) - 1, MSG_DONTWAIT), 0);
	ck_assert_msg(strstr(answers, "\"finished\"") != NULL, "%s: %s", stage_name(), answers);
}

START_TEST(a_second_answer_does_nothing)
{
	int fd;

	stage_open(_i);
	(void)stage_ask(HOST);
	fd = stage_other_end();
	if (end_can_say()) {
		end_is_ready();
		end_says(&fd, "7f3a-1", "deny");
		wait_until_told(1, 10000); /* what is typed goes through the kernel's terminal */
		if (strcmp(stage_name(), "web") == 0) { /* a connection is one request */
			fd_close(fd);
			fd = stage_other_end();
		}
		end_says(&fd, "7f3a-1", "allow");
		ck_assert_uint_eq(stage.told, 1);
		ck_assert_int_eq(stage.reason, POLICY_DENIED_ONCE);
		end_was_told(fd);
		end_was_recorded("7f3a-1");
	}
	fd_close(fd);
	stage_settle();
	stage_close();
}
END_TEST

START_TEST(an_answer_to_nothing_does_nothing)
{
	const struct approver_answer no = { .action = POLICY_DENY, .by = "somebody else" };
	int fd;

	stage_open(_i);
	(void)stage_ask(HOST);
	fd = stage_other_end();
	if (end_can_say()) {
		end_is_ready();
		/* A terminal answers what stands on it: that has just gone. */
		if (strcmp(stage_name(), "tty") == 0)
			ck_assert_int_eq(gateway_answer(stage.gw, "7f3a-1", &no, NULL), 0);
		end_says(&fd, "7f3a-99", "allow");
		if (strcmp(stage_name(), "tty") != 0)
			ck_assert_uint_eq(stage.told, 0);
		end_was_told(fd);
		end_was_recorded("7f3a-99");
	}
	loop_advance(stage.loop, 60000);
	stage_settle();
	ck_assert_uint_eq(stage.told, 1);
	ck_assert_int_ne(stage.reason, POLICY_GRANTED_ONCE);
	fd_close(fd);
	stage_settle();
	stage_close();
}
END_TEST

Suite *suite_approver_ends(void)
{
	Suite *suite = suite_create("approver-ends");
	TCase *tcase = tcase_create("every approver's other end");
	int count = 0;

	while (approver_table[count])
		count++;
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, a_program_at_its_worst_allows_nothing, 0, count * MOODS);
	tcase_add_loop_test(tcase, a_second_answer_does_nothing, 0, count);
	tcase_add_loop_test(tcase, an_answer_to_nothing_does_nothing, 0, count);
	suite_add_tcase(suite, tcase);
	return suite;
}
