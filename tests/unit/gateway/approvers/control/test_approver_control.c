#include "tests/unit/gateway/approvers/control/test_approver_wire.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/mem.h"
#include "gateway/approvers/control/control.h"

#define QUESTION                                                                                   \
	"{\"id\":\"7f3a-1\",\"protocol\":\"https\",\"host\":\"a.test\",\"port\":443,"              \
	"\"waiting\":1,\"commands\":[\"curl -sS https://example.org/\"],\"command_count\":1,"      \
	"\"age_s\":0,\"left_s\":299,\"rule\":\"\",\"because\":\"\",\"private\":false,"             \
	"\"session\":\"test\",\"run\":\"7f3a\",\"touched\":false,\"shared\":true,\"risk\":[],"     \
	"\"warning\":\"\","                                                                        \
	"\"typed\":\"a.test\",\"times\":0,\"program\":\"\",\"chain\":\"\",\"plea\":\"\"}"

static const struct {
	const char *line, *want; /* NULL: closed */
} lines[] = {
	{ "{\"id\":1,\"op\":\"list\"}\n",
	  "{\"id\":1,\"ok\":true,\"questions\":[" QUESTION "],\"agent_questions\":[]}" },
	{ "{\"id\":0,\"op\":\"watch\"}\r\n",
	  "{\"id\":0,\"ok\":true,\"questions\":[" QUESTION "],\"agent_questions\":[]}" },
	{ "{\"id\":2,\"op\":\"allow\",\"question\":\"7f3a-1\"}\n",
	  "{\"id\":2,\"ok\":true,\"text\":\"https://a.test:443\"}" },
	{ "{\"id\":2,\"op\":\"allow\",\"question\":\"7f3a-2\"}\n", "finished" },
	{ "{\"id\":2,\"op\":\"allow\",\"question\":\"\"}\n", "finished" },
	{ "{\"id\":2,\"op\":\"touch\",\"question\":\"7f3a-1\"}\n", "{\"id\":2,\"ok\":true}" },
	{ "{\"id\":2,\"op\":\"touch\",\"question\":\"7f3a-2\"}\n", "finished" },
	{ "{\"id\":2,\"op\":\"touch\"}\n", "malformed" },
	{ "{\"id\":2,\"op\":\"touch\",\"question\":\"7f3a-1\",\"scope\":\"once\"}\n", "malformed" },
	{ "{\"id\":2,\"op\":\"allow\"}\n", "malformed" },
	{ "{\"id\":2,\"op\":\"allow\",\"question\":7}\n", "malformed" },
	{ "{\"id\":2,\"op\":\"allow\",\"question\":null}\n", "malformed" },
	{ "{\"id\":2,\"op\":\"allow\",\"question\":[\"7f3a-1\"]}\n", "malformed" },
	{ "{\"id\":2,\"op\":\"allow\",\"question\":\"7f3a-1\",\"scope\":\"forever\"}\n",
	  "malformed" },
	{ "{\"id\":2,\"op\":\"allow\",\"question\":\"7f3a-1\",\"scope\":\"\"}\n", "malformed" },
	{ "{\"id\":2,\"op\":\"allow\",\"question\":\"7f3a-1\",\"scop\":\"once\"}\n", "malformed" },
	{ "{\"id\":2,\"op\":\"allow\",\"question\":\"7f3a-1\",\"ttl\":60}\n", "malformed" },
	{ "{\"id\":2,\"op\":\"abort\",\"question\":\"7f3a-1\",\"scope\":\"once\"}\n", "malformed" },
	{ "{\"id\":2,\"op\":\"list\",\"question\":\"7f3a-1\"}\n", "malformed" },
	{ "{\"id\":2,\"op\":\"ALLOW\",\"question\":\"7f3a-1\"}\n", "unknown_op" },
	{ "{\"id\":2,\"op\":\"\"}\n", "unknown_op" },
	{ "{\"id\":2,\"op\":true}\n", "malformed" },
	{ "{\"id\":2}\n", "malformed" },
	{ "{\"op\":\"list\"}\n", "malformed" },
	{ "{\"id\":-1,\"op\":\"list\"}\n", "malformed" },
	{ "{\"id\":1.5,\"op\":\"list\"}\n", "malformed" },
	{ "{\"id\":\"1\",\"op\":\"list\"}\n", "malformed" },
	{ "{}\n", "malformed" },
	{ "[]\n", "malformed" },
	{ "[{\"id\":1,\"op\":\"list\"}]\n", "malformed" },
	{ "\n", NULL },
	{ "list\n", NULL },
	{ "{\"id\":1,\"op\":\"list\"\n", NULL },
	{ "{\"id\":1,\"op\":\"list\"}}\n", NULL },
	{ "{\"id\":1,\"op\":\"deny\",\"op\":\"allow\",\"question\":\"7f3a-1\"}\n", NULL },
	{ "{\"id\":1,\"op\":\"li\xff\"}\n", NULL },
	{ "GET / HTTP/1.1\r\n\r\n", NULL },
};

START_TEST(one_line)
{
	const char *got, *want = lines[_i].want;

	fake_ask(&wire.gw, "7f3a-1", "a.test");
	got = wire_ask(wire.client, lines[_i].line);
	if (!want) {
		ck_assert_str_eq(got, "closed");
	} else if (want[0] == '{') {
		ck_assert_str_eq(got, want);
	} else {
		auto_free char *code = mem_printf("\"code\":\"%s\"}", want);

		ck_assert_msg(strstr(got, code) != NULL, "%s", got);
		ck_assert_ptr_nonnull(strstr(got, "\"ok\":false"));
		/* and the connection goes on */
		got = wire_ask(wire.client, "{\"id\":9,\"op\":\"list\"}\n");
		ck_assert_int_eq(strncmp(got, "{\"id\":9,\"ok\":true", 16), 0);
		ck_assert_uint_eq(wire.gw.answer_count, 0);
	}
}
END_TEST

static const struct {
	const char *op, *scope;
	enum policy_action action;
	enum gateway_scope want;
	bool is_abort;
} answers[] = {
	{ "allow", NULL, POLICY_ALLOW, GATEWAY_ONCE, false },
	{ "allow", "once", POLICY_ALLOW, GATEWAY_ONCE, false },
	{ "allow", "exec", POLICY_ALLOW, GATEWAY_EXEC, false },
	{ "allow", "session", POLICY_ALLOW, GATEWAY_SESSION, false },
	{ "allow", "always", POLICY_ALLOW, GATEWAY_ALWAYS, false },
	{ "deny", NULL, POLICY_DENY, GATEWAY_ONCE, false },
	{ "deny", "exec", POLICY_DENY, GATEWAY_EXEC, false },
	{ "deny", "session", POLICY_DENY, GATEWAY_SESSION, false },
	{ "deny", "always", POLICY_DENY, GATEWAY_ALWAYS, false },
	{ "abort", NULL, POLICY_DENY, GATEWAY_ONCE, true },
};

START_TEST(every_answer)
{
	auto_free char *scope = answers[_i].scope
					? mem_printf(",\"scope\":\"%s\"", answers[_i].scope)
					: mem_strdup("");
	auto_free char *line = mem_printf("{\"id\":5,\"op\":\"%s\",\"question\":\"7f3a-1\"%s}\n",
					  answers[_i].op, scope);

	fake_ask(&wire.gw, "7f3a-1", "a.test");
	ck_assert_str_eq(wire_ask(wire.client, line),
			 answers[_i].is_abort
				 ? "{\"id\":5,\"ok\":true}"
				 : "{\"id\":5,\"ok\":true,\"text\":\"https://a.test:443\"}");
	ck_assert_uint_eq(wire.gw.answer_count, 1);
	ck_assert_str_eq(wire.gw.answers[0].id, "7f3a-1");
	ck_assert_int_eq(wire.gw.answers[0].answer.action, answers[_i].action);
	ck_assert_int_eq(wire.gw.answers[0].answer.scope, answers[_i].want);
	ck_assert_int_eq(wire.gw.answers[0].answer.is_abort, answers[_i].is_abort);
	ck_assert_ptr_nonnull(strstr(wire.gw.answers[0].by, " on approve"));

	ck_assert_ptr_nonnull(strstr(wire_ask(wire.client, line), "\"code\":\"finished\""));
	ck_assert_uint_eq(wire.gw.answer_count, 1);
}
END_TEST

START_TEST(answer_that_fails)
{
	fake_ask(&wire.gw, "7f3a-1", "a.test");
	wire.gw.next_result = -EROFS;
	wire.gw.next_why = "cannot write \x1b[2J the file";
	ck_assert_str_eq(wire_ask(wire.client, "{\"id\":5,\"op\":\"allow\",\"question\":\"7f3a-1\","
					       "\"scope\":\"always\"}\n"),
			 "{\"id\":5,\"ok\":false,\"error\":\"cannot write \\u001B[2J the file\","
			 "\"code\":\"failed\"}");
	wire.gw.next_result = -EINVAL;
	wire.gw.next_why = NULL;
	ck_assert_ptr_nonnull(strstr(
		wire_ask(wire.client, "{\"id\":6,\"op\":\"allow\",\"question\":\"7f3a-1\"}\n"),
		"\"code\":\"refused\""));
}
END_TEST

/* What is sent behind it is served behind it. */
START_TEST(answer_that_is_being_written)
{
	fake_ask(&wire.gw, "7f3a-1", "a.test");
	wire.gw.next_result = -EINPROGRESS;
	wire_say(wire.client, "{\"id\":5,\"op\":\"allow\",\"question\":\"7f3a-1\","
			      "\"scope\":\"always\"}\n{\"id\":6,\"op\":\"list\"}\n");
	while (!wire.gw.kept)
		loop_step(wire.gw.loop);
	ck_assert_uint_eq(wire.gw.question_count, 1);
	wire.gw.kept->is_waiting = false;
	wire.gw.kept->fn(wire.gw.kept->arg);
	ck_assert_ptr_nonnull(strstr(wire_line(wire.client), "{\"id\":5,\"ok\":true"));
	ck_assert_ptr_nonnull(strstr(wire_line(wire.client), "{\"id\":6,\"ok\":true"));
	ck_assert_uint_eq(wire.gw.question_count, 0);
}
END_TEST

START_TEST(watcher_is_told_everything)
{
	ck_assert(!wire.gw.ops->is_attached(wire.gw.approver));
	ck_assert_str_eq(wire_ask(wire.client, "{\"id\":1,\"op\":\"watch\"}\n"),
			 "{\"id\":1,\"ok\":true,\"questions\":[],\"agent_questions\":[]}");
	ck_assert(wire.gw.ops->is_attached(wire.gw.approver));
	ck_assert_uint_eq(wire.gw.changed_count, 1);

	fake_ask(&wire.gw, "7f3a-1", "a.test");
	ck_assert_str_eq(wire_line(wire.client), "{\"event\":\"asked\",\"question\":" QUESTION "}");
	fake_changed(&wire.gw, "7f3a-1", 8);
	ck_assert_ptr_nonnull(strstr(wire_line(wire.client), "{\"event\":\"changed\","));
	ck_assert_ptr_nonnull(strstr(wire.reply, "\"waiting\":8,"));
	fake_retract(&wire.gw, "7f3a-1", "allowed for session by ana on tty");
	ck_assert_str_eq(wire_line(wire.client),
			 "{\"event\":\"retracted\",\"question\":{\"id\":\"7f3a-1\"},"
			 "\"how\":\"allowed for session by ana on tty\"}");
	ck_assert_str_eq(wire_line(wire.client), "");

	fd_close(wire.client);
	wire.client = -1;
	fake_settle(&wire.gw);
	ck_assert(!wire.gw.ops->is_attached(wire.gw.approver));
	ck_assert_uint_eq(wire.gw.changed_count, 2);
}
END_TEST

START_TEST(lister_is_no_approver)
{
	(void)wire_ask(wire.client, "{\"id\":1,\"op\":\"list\"}\n");
	fake_ask(&wire.gw, "7f3a-1", "a.test");
	ck_assert_str_eq(wire_line(wire.client), "");
	ck_assert(!wire.gw.ops->is_attached(wire.gw.approver));
	fd_close(wire.client);
	wire.client = -1;
	fake_settle(&wire.gw);
	ck_assert_uint_eq(wire.gw.changed_count, 0);
}
END_TEST

START_TEST(lines_in_pieces_and_together)
{
	static const char split[] = "{\"id\":1,\"op\":\"list\"}\n";

	for (size_t i = 0; i + 1 < sizeof(split) - 1; i++) {
		ck_assert_int_eq(send(wire.client, &split[i], 1, 0), 1);
		ck_assert_str_eq(wire_line(wire.client), "");
	}
	ck_assert_ptr_nonnull(strstr(wire_ask(wire.client, "\n"), "\"id\":1,"));
	ck_assert_ptr_nonnull(strstr(wire_ask(wire.client, "{\"id\":2,\"op\":\"list\"}\n"
							   "{\"id\":3,\"op\":\"list\"}\n"),
				     "\"id\":2,"));
	ck_assert_ptr_nonnull(strstr(wire_line(wire.client), "\"id\":3,"));
}
END_TEST

START_TEST(nul_in_a_line)
{
	static const char line[] = "{\"id\":1,\"op\":\"list\"}\0{}\n";

	ck_assert_int_eq(send(wire.client, line, sizeof(line) - 1, 0), (ssize_t)sizeof(line) - 1);
	ck_assert_str_eq(wire_line(wire.client), "closed");
}
END_TEST

/* One byte over, with its end (0) and without (1); the greatest line that is taken (2). */
START_TEST(line_limit)
{
	size_t len = CONTROL_LINE_MAX_BYTES + (_i < 2);
	auto_free char *line = mem_new(len + 2);
	size_t sent = 0;
	static const char request[] = "{\"id\":1,\"op\":\"list\"}";

	memset(line, ' ', len);
	memcpy(line, request, sizeof(request) - 1);
	if (_i != 1)
		line[len++] = '\n';
	while (sent < len) {
		ssize_t n = send(wire.client, line + sent, len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);

		fake_settle(&wire.gw);
		if (n < 0 && errno != EAGAIN)
			break;
		sent += n > 0 ? (size_t)n : 0;
	}
	if (_i == 2)
		ck_assert_ptr_nonnull(strstr(wire_line(wire.client), "\"ok\":true"));
	else
		ck_assert_str_eq(wire_line(wire.client), "closed");
}
END_TEST

START_TEST(watcher_that_does_not_read)
{
	int other = wire_connect();
	unsigned int told = 0;

	(void)wire_line(other);
	(void)wire_ask(other, "{\"id\":1,\"op\":\"watch\"}\n");
	(void)wire_ask(wire.client, "{\"id\":1,\"op\":\"watch\"}\n");
	fake_ask(&wire.gw, "7f3a-1", "a.test");
	while (told++ < 4000) {
		wire.gw.ops->changed(wire.gw.approver, &wire.gw.questions[0]);
		loop_step(wire.gw.loop);
		while (recv(other, wire.reply, sizeof(wire.reply), MSG_DONTWAIT) > 0)
			; /* this one reads */
	}
	/* What it has not read is no more than it may be, and what it does not read is not kept. */
	ck_assert_uint_eq(wire.gw.changed_count, 2);
	loop_advance(wire.gw.loop, CONTROL_IDLE_MS);
	ck_assert_uint_eq(wire.gw.changed_count, 3); /* one was dropped */
	ck_assert_uint_gt((size_t)told *
				  sizeof("{\"event\":\"changed\",\"question\":" QUESTION "}"),
			  4 * CONTROL_AHEAD_BYTES);
	ck_assert(wire.gw.ops->is_attached(wire.gw.approver));
	ck_assert_ptr_nonnull(strstr(wire_ask(other, "{\"id\":2,\"op\":\"list\"}\n"), "\"id\":2,"));
	fd_close(other);
}
END_TEST

/* As much as the command may choose: some 12 KiB each, more than one client may have queued. */
#define FLOOD_QUESTIONS 256

static char flood_text[1000];

static void flood(void)
{
	memset(flood_text, 'x', sizeof(flood_text) - 1);
	for (unsigned int i = 1; i <= FLOOD_QUESTIONS; i++) {
		struct approver_question *question = &wire.gw.questions[wire.gw.question_count++];
		struct approver_question shown = {
			.serial = ++wire.gw.last_serial,
			.dst = { .protocol = POLICY_HTTPS, .port = 443, .host = "a.test" },
			.command_count = APPROVER_COMMANDS_MAX,
			.rule = "",
			.because = "",
			.warning = "",
			.program = flood_text,
			.chain = flood_text,
			.plea = flood_text
		};

		for (size_t k = 0; k < APPROVER_COMMANDS_MAX; k++)
			shown.commands[k] = flood_text;
		*question = shown;
		(void)snprintf(question->id, sizeof(question->id), "7f3a-%u", i);
		/* All in one turn of the loop. */
		wire.gw.ops->ask(wire.gw.approver, question);
	}
}

static size_t note_ids(bool seen[FLOOD_QUESTIONS + 1], const json_t *questions)
{
	for (size_t i = 0; i < json_array_size(questions); i++) {
		const char *id =
			json_string_value(json_object_get(json_array_get(questions, i), "id"));
		unsigned int number = 0;

		ck_assert_int_eq(sscanf(id, "7f3a-%u", &number), 1);
		ck_assert(!seen[number]);
		seen[number] = true;
	}
	return json_array_size(questions);
}

/* 0: it watches before they come; 1: after. */
START_TEST(a_flood_reaches_a_watcher_that_reads)
{
	bool seen[FLOOD_QUESTIONS + 1] = { false };
	size_t count = 0;

	if (_i == 1)
		flood();
	wire_say(wire.client, "{\"id\":1,\"op\":\"watch\"}\n");
	fake_settle(&wire.gw);
	if (_i == 0)
		flood();
	while (count < FLOOD_QUESTIONS) {
		const char *line = wire_line(wire.client);
		json_t *message = json_loads(line, 0, NULL), *one = json_array();

		ck_assert_msg(message != NULL, "%.60s", line);
		ck_assert_uint_le(strlen(line), 2 * CONTROL_AHEAD_BYTES);
		json_t *list = json_object_get(message, "questions");

		if (!list)
			(void)json_array_append(one, json_object_get(message, "question"));
		count += note_ids(seen, list ? list : one);
		json_decref(one);
		json_decref(message);
	}
	/* All of it is told, so what comes now is told at once. */
	ck_assert_str_eq(wire_line(wire.client), "");
	(void)fake_ask(&wire.gw, "7f3a-999", "b.test");
	ck_assert_ptr_nonnull(strstr(wire_line(wire.client), "7f3a-999"));
}
END_TEST

START_TEST(what_changes_behind_a_slow_watcher_is_told_again)
{
	unsigned int changed = 0;

	wire_say(wire.client, "{\"id\":1,\"op\":\"watch\"}\n");
	fake_settle(&wire.gw);
	flood();
	wire.gw.questions[0].waiting = 77;
	wire.gw.ops->changed(wire.gw.approver, &wire.gw.questions[0]);
	for (const char *line = wire_line(wire.client); *line; line = wire_line(wire.client)) {
		bool is_first = strstr(line, "\"id\":\"7f3a-1\"") && strstr(line, "\"waiting\":77");

		changed += is_first && strstr(line, "\"event\":\"changed\"");
	}
	ck_assert_uint_ge(changed, 1);
}
END_TEST

START_TEST(a_flood_is_listed_in_pages)
{
	bool seen[FLOOD_QUESTIONS + 1] = { false };
	json_int_t after = 0;
	size_t count = 0, pages = 0;

	flood();
	while (count < FLOOD_QUESTIONS) {
		auto_free char *ask =
			mem_printf("{\"id\":1,\"op\":\"list\",\"after\":%lld}\n", (long long)after);
		json_t *reply = json_loads(wire_ask(wire.client, ask), 0, NULL);

		ck_assert_ptr_nonnull(reply);
		count += note_ids(seen, json_object_get(reply, "questions"));
		ck_assert_int_eq(json_integer_value(json_object_get(reply, "more")),
				 (json_int_t)(FLOOD_QUESTIONS - count));
		after = json_integer_value(json_object_get(reply, "after"));
		json_decref(reply);
		pages++;
	}
	ck_assert_uint_gt(pages, 1);
}
END_TEST

START_TEST(client_limit)
{
	int more[CONTROL_CLIENTS_MAX];

	for (int i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		more[i] = wire_connect();
		if (i < CONTROL_CLIENTS_MAX - 1)
			ck_assert_ptr_nonnull(strstr(wire_line(more[i]), "sallyport"));
		else
			ck_assert_str_eq(wire_line(more[i]), "closed");
	}
	fd_close(more[0]);
	fake_settle(&wire.gw);
	more[0] = wire_connect();
	ck_assert_ptr_nonnull(strstr(wire_line(more[0]), "sallyport"));
	for (int i = 0; i < CONTROL_CLIENTS_MAX; i++)
		fd_close(more[i]);
}
END_TEST

START_TEST(idle_client_is_closed_and_watcher_stays)
{
	int watcher = wire_connect();

	(void)wire_line(watcher);
	(void)wire_ask(watcher, "{\"id\":1,\"op\":\"watch\"}\n");
	loop_advance(wire.gw.loop, CONTROL_IDLE_MS - 1);
	ck_assert_str_eq(wire_line(wire.client), "");
	(void)wire_ask(wire.client, "{\"id\":1,\"op\":\"list\"}\n");
	loop_advance(wire.gw.loop, CONTROL_IDLE_MS - 1);
	ck_assert_str_eq(wire_line(wire.client), "");
	loop_advance(wire.gw.loop, 1);
	ck_assert_str_eq(wire_line(wire.client), "closed");
	ck_assert_str_eq(wire_line(watcher), "");
	fd_close(watcher);
}
END_TEST

/* What a name may bring along is text here, and seven bits wide. */
START_TEST(hostile_bytes)
{
	struct approver_question *question =
		fake_ask(&wire.gw, "7f3a-1", "a\x1b]0;x\x07\x9b\xe2\x80\xae.test");
	const char *got;
	json_t *parsed;

	question->commands[0] = "sh -c '\n{\"event\":\"asked\"}'";
	question->rule = "f:1: ask \xff\n";
	got = wire_ask(wire.client, "{\"id\":1,\"op\":\"list\"}\n");
	for (const char *at = got; *at; at++)
		ck_assert(*at >= 0x20 && *at < 0x7f);
	parsed = json_loads(got, 0, NULL);
	ck_assert_ptr_nonnull(parsed);
	json_decref(parsed);
	ck_assert_ptr_nonnull(strstr(got, "\\\\x1b]0;x\\\\x07\\\\x9b\\\\xe2\\\\x80\\\\xae.test"));
}
END_TEST

Suite *suite_control(void)
{
	Suite *suite = suite_create("control");
	TCase *tcase = tcase_create("control");

	tcase_add_checked_fixture(tcase, wire_setup, wire_teardown);
	tcase_add_loop_test(tcase, one_line, 0, (int)ARRAY_SIZE(lines));
	tcase_add_loop_test(tcase, every_answer, 0, (int)ARRAY_SIZE(answers));
	tcase_add_test(tcase, answer_that_fails);
	tcase_add_test(tcase, answer_that_is_being_written);
	tcase_add_test(tcase, watcher_is_told_everything);
	tcase_add_test(tcase, lister_is_no_approver);
	tcase_add_test(tcase, lines_in_pieces_and_together);
	tcase_add_test(tcase, nul_in_a_line);
	tcase_add_loop_test(tcase, line_limit, 0, 3);
	tcase_add_test(tcase, watcher_that_does_not_read);
	tcase_add_loop_test(tcase, a_flood_reaches_a_watcher_that_reads, 0, 2);
	tcase_add_test(tcase, what_changes_behind_a_slow_watcher_is_told_again);
	tcase_add_test(tcase, a_flood_is_listed_in_pages);
	tcase_add_test(tcase, client_limit);
	tcase_add_test(tcase, idle_client_is_closed_and_watcher_stays);
	tcase_add_test(tcase, hostile_bytes);
	suite_add_tcase(suite, tcase);
	return suite;
}
