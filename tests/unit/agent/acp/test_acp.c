#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agent_acp.h"
#include "base/crypto/base64.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "tests/unit/agent/test_agent.h"

#define STEPS  40
#define PIECE  65536
#define PIECES 192 /* 12 MiB: more than may wait anywhere */

/* We are the editor, at editor[0], and the server, at server[0]. */
struct rig {
	struct loop *loop;
	struct acp *acp;
	int editor[2], server[2], pipe[2], errors;
	char heard[1 << 18];
};

static void step(struct rig *rig)
{
	for (int i = 0; i < STEPS; i++)
		loop_step(rig->loop);
}

static void say(struct rig *rig, int fd, const char *line)
{
	ck_assert_int_eq(write(fd, line, strlen(line)), (ssize_t)strlen(line));
	ck_assert_int_eq(write(fd, "\n", 1), 1);
	step(rig);
}

/* All that came since; "" at its end, too. */
static const char *hear(struct rig *rig, int fd)
{
	ssize_t got = read(fd, rig->heard, sizeof(rig->heard) - 1);

	rig->heard[got > 0 ? got : 0] = '\0';
	return rig->heard;
}

static void begin(struct rig *rig)
{
	static const char *const command[] = { "agent", NULL };
	const int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
	struct err why = { 0 };

	rig->loop = loop_new_fake();
	rig->errors = open("/dev/null", O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(socketpair(AF_UNIX, type, 0, rig->editor), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, type, 0, rig->server), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, type, 0, rig->pipe), 0);
	const struct acp_config config = {
		.loop = rig->loop,
		.in = rig->editor[1],
		.out = rig->editor[1],
		.errors = rig->errors,
		.agent = rig->server[1],
		.pipe = { rig->pipe[0], rig->pipe[1] },
		.command = command,
	};

	rig->acp = acp_new(&config, &why);
	ck_assert_ptr_nonnull(rig->acp);
	step(rig);
	ck_assert_ptr_nonnull(strstr(hear(rig, rig->server[0]), "\"command\":[\"agent\"]"));
}

static void end(struct rig *rig)
{
	acp_free(rig->acp);
	loop_free(rig->loop);
	fd_close(rig->errors);
	for (int i = 0; i < 2; i++) {
		fd_close(rig->editor[i]);
		fd_close(rig->server[i]);
		fd_close(rig->pipe[i]);
	}
}

static void has(const char *heard, const char *wanted)
{
	ck_assert_msg(strstr(heard, wanted) != NULL, "no %s in %.2000s", wanted, heard);
}

/* What the server says of the program's output. */
static char *output_of(const char *text, size_t len)
{
	auto_free char *encoded = base64_encode(text, len);

	return mem_printf("{\"jsonrpc\":\"2.0\",\"method\":\"exec_output\",\"params\":{\"id\":"
			  "\"program\",\"stream\":\"stdout\",\"base64\":\"%s\"}}",
			  encoded);
}

static void agent_says(struct rig *rig, const char *line)
{
	auto_free char *text = mem_printf("%s\n", line);
	auto_free char *told = output_of(text, strlen(text));

	say(rig, rig->server[0], told);
}

static const char begun[] = "{\"jsonrpc\":\"2.0\",\"method\":\"exec_begin\",\"params\":{\"id\":"
			    "\"program\",\"exec\":7}}";
static const char prompted[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session/prompt\","
			       "\"params\":{\"sessionId\":\"s\"}}";
static const char answer[] = "{\"jsonrpc\":\"2.0\",\"id\":\"sallyport:1\",\"result\":{\"outcome\":"
			     "{\"outcome\":\"selected\",\"optionId\":\"%s\"}}}";

/* Which options a question has, and whether an allow is sent to the server. */
static const struct {
	const char *question, *offered, *chosen, *told;
} questions[] = {
	{ "\"kind\":\"network\",\"destination\":{\"host\":\"a.test\",\"protocol\":\"https\","
	  "\"port\":443},\"risk\":[\"first_seen\"],\"confirmation\":\"a.test\"",
	  "Allow a.test always", "always", "\"confirmation\":\"a.test\"" },
	{ "\"kind\":\"network\",\"destination\":{\"host\":\"a.test\",\"protocol\":\"tcp\","
	  "\"port\":22},\"risk\":[\"first_seen\",\"raw_tcp\"],\"confirmation\":\"a.test\"",
	  "Allow a.test this time", "always", NULL },
	{ "\"kind\":\"network\",\"destination\":{\"host\":\"a.test\",\"protocol\":\"https\","
	  "\"port\":443},\"risk\":[\"first_seen\",\"lookalike\"],\"confirmation\":\"a.test\"",
	  "Deny a.test this time", "approved", NULL },
	{ "\"kind\":\"network\",\"destination\":{\"host\":\"a.test\",\"protocol\":\"https\","
	  "\"port\":443},\"risk\":[],\"private\":true",
	  "Deny this time", "approved", NULL },
	{ "\"kind\":\"network\",\"destination\":{\"host\":\"a.test\",\"protocol\":\"https\","
	  "\"port\":443},\"risk\":[]",
	  "Allow this time", "approved", "\"decision\":\"approved\"" },
	{ "\"kind\":\"exec\",\"command\":[\"make\"]", "Allow this time", "approved",
	  "\"decision\":\"approved\"" },
	{ "\"kind\":\"exec\",\"command\":[\"make\"],\"confirmation\":\"a.test\"",
	  "Deny a.test this time", "approved", NULL },
	{ "\"kind\":\"exec\",\"command\":[\"make\"]", "Allow this time", "approved_unconfined",
	  NULL },
	{ "\"kind\":\"exec\",\"command\":[\"make\"]", "Allow this time", "abort", NULL },
};

START_TEST(only_what_one_key_may_allow_is_offered)
{
	struct rig rig;
	auto_free char *question = mem_printf(
		"{\"jsonrpc\":\"2.0\",\"method\":\"approval_request\",\"params\":{\"approval\":"
		"\"q\",\"decisions\":[\"denied\",\"abort\",\"approved\",\"always\","
		"\"approved_unconfined\"],%s}}",
		questions[_i].question);
	auto_free char *chosen = mem_printf(answer, questions[_i].chosen);

	begin(&rig);
	say(&rig, rig.editor[0], prompted);
	say(&rig, rig.server[0], question);
	const char *heard = hear(&rig, rig.editor[0]);

	has(heard, questions[_i].offered);
	ck_assert_ptr_null(strstr(heard, "\"optionId\":\"abort\""));
	ck_assert_ptr_null(strstr(heard, "\"optionId\":\"approved_unconfined\""));
	say(&rig, rig.editor[0], chosen);
	heard = hear(&rig, rig.server[0]);
	if (questions[_i].told)
		has(heard, questions[_i].told);
	else
		ck_assert_ptr_null(strstr(heard, "\"approve\""));
	end(&rig);
}
END_TEST

/* Backticks in what is shown do not end the block that shows it. */
START_TEST(no_markdown_changes_what_is_shown)
{
	struct rig rig;

	begin(&rig);
	say(&rig, rig.editor[0], prompted);
	say(&rig, rig.server[0],
	    "{\"jsonrpc\":\"2.0\",\"method\":\"approval_request\",\"params\":{\"approval\":\"q\","
	    "\"kind\":\"elicitation\",\"items\":[\"`````\",\"<!--\\n# x\"],\"decisions\":["
	    "\"denied\"]}}");
	const char *heard = hear(&rig, rig.editor[0]);

	has(heard, "\"text\":\"``````\\nAllow this (elicitation)?\\n  `````\\n  <!--\\\\x0a# x\\n");
	has(heard, "\\n``````\"");
	end(&rig);
}
END_TEST

/* The program is read from as slowly as the editor reads, and nothing is lost. */
START_TEST(who_does_not_read_holds_the_other)
{
	struct rig rig;
	auto_free char *text = mem_new(PIECE + 1);
	size_t told = 0, heard = 0;

	begin(&rig);
	int length =
		snprintf(text, PIECE,
			 "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"x\":\"");

	memset(text + length, 'x', (size_t)(PIECE - length));
	memcpy(text + PIECE - 4, "\"}}\n", 4);
	auto_free char *output = output_of(text, PIECE);
	auto_free char *line = mem_printf("%s\n", output);
	size_t all = PIECES * strlen(line), len = strlen(line), most = 0;

	while (heard < (size_t)PIECES * PIECE) {
		ssize_t sent = 0;

		while (told < all && sent >= 0) {
			sent = send(rig.server[0], line + told % len, len - told % len,
				    MSG_NOSIGNAL);
			told += sent > 0 ? (size_t)sent : 0;
			step(&rig);
		}
		ck_assert(told == all || errno == EAGAIN);
		size_t waiting = told / len * PIECE - heard;

		most = waiting > most ? waiting : most;
		size_t got = strlen(hear(&rig, rig.editor[0]));

		ck_assert_msg(got > 0 || told < all, "%zu of %d bytes came", heard, PIECES * PIECE);
		heard += got;
		step(&rig);
	}
	ck_assert_msg(most < (10U << 20), "%zu bytes waited", most);
	end(&rig);
}
END_TEST

/* A program that does not read its input is tried again, and gets the rest in order. */
START_TEST(input_is_sent_again)
{
	struct rig rig;

	begin(&rig);
	say(&rig, rig.editor[0], "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}");
	ck_assert_str_eq(hear(&rig, rig.server[0]), ""); /* it does not run yet */
	say(&rig, rig.server[0], begun);
	auto_free char *first = mem_strdup(hear(&rig, rig.server[0]));

	has(first, "\"write_input\"");
	has(first, "\"exec\":7");
	say(&rig, rig.server[0], "{\"jsonrpc\":\"2.0\",\"id\":\"input\",\"result\":{\"taken\":0}}");
	ck_assert_str_eq(hear(&rig, rig.server[0]), "");
	loop_advance(rig.loop, 1000);
	ck_assert_str_eq(hear(&rig, rig.server[0]), first);
	say(&rig, rig.server[0], "{\"jsonrpc\":\"2.0\",\"id\":\"input\",\"result\":{\"taken\":3}}");
	const char *rest = hear(&rig, rig.server[0]);

	has(rest, "\"write_input\"");
	ck_assert_str_ne(rest, first);
	end(&rig);
}
END_TEST

/* After the editor has gone its program's input ends, and then the program. */
START_TEST(the_editor_goes)
{
	struct rig rig;
	char byte;

	begin(&rig);
	say(&rig, rig.server[0], begun);
	ck_assert_int_eq(shutdown(rig.editor[0], SHUT_WR), 0);
	step(&rig);
	has(hear(&rig, rig.server[0]), "\"eof\":true");
	say(&rig, rig.server[0], "{\"jsonrpc\":\"2.0\",\"id\":\"input\",\"result\":{\"taken\":0}}");
	agent_says(&rig,
		   "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"last\":1}}");
	has(hear(&rig, rig.editor[0]), "\"last\":1");
	ck_assert_int_eq(read(rig.server[0], &byte, 1), -1);
	loop_advance(rig.loop, 60000);
	ck_assert_int_eq(read(rig.server[0], &byte, 1), 0);
	ck_assert_int_eq(acp_status(rig.acp), 0);
	end(&rig);
}
END_TEST

/* All that it said before its end reaches the editor. */
START_TEST(the_program_ends)
{
	struct rig rig;
	char byte;

	begin(&rig);
	say(&rig, rig.server[0], begun);
	agent_says(&rig,
		   "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"last\":1}}");
	say(&rig, rig.server[0],
	    "{\"jsonrpc\":\"2.0\",\"id\":\"program\",\"result\":{\"status\":\"exited\",\"exit_"
	    "code\":"
	    "9}}");
	has(hear(&rig, rig.editor[0]), "\"last\":1");
	ck_assert_int_eq(read(rig.server[0], &byte, 1), 0);
	ck_assert_int_eq(acp_status(rig.acp), 9);
	end(&rig);
}
END_TEST

TCase *test_acp(void)
{
	TCase *tcase = tcase_create("acp");

	tcase_add_loop_test(tcase, only_what_one_key_may_allow_is_offered, 0,
			    ARRAY_SIZE(questions));
	tcase_add_test(tcase, no_markdown_changes_what_is_shown);
	tcase_add_test(tcase, who_does_not_read_holds_the_other);
	tcase_add_test(tcase, input_is_sent_again);
	tcase_add_test(tcase, the_editor_goes);
	tcase_add_test(tcase, the_program_ends);
	return tcase;
}
