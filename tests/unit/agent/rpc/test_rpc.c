#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/rpc/channel.h"
#include "agent/rpc/rpc.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "tests/unit/agent/test_agent.h"

#define STEPS 40

struct rig {
	struct loop *loop;
	struct rpc *rpc;
	int ends[2]; /* [0] is ours */
	char told[512], heard[8192];
	bool has_ended;
};

static void on_message(const struct rpc_message *message, void *arg)
{
	struct rig *rig = arg;
	auto_free char *id = message->id ? rpc_id_text(message->id) : mem_strdup("no id");

	(void)snprintf(rig->told, sizeof(rig->told), "%s %s%s%s",
		       message->method ? message->method : "reply", id,
		       message->result ? " result" : "", message->error ? " error" : "");
	if (message->method && message->id && strcmp(message->method, "echo") == 0)
		rpc_reply(rig->rpc, message->id, json_deep_copy(message->params));
}

static void on_nothing(void *arg)
{
}

static void on_end(const char *why, void *arg)
{
	struct rig *rig = arg;

	rig->has_ended = true;
}

static const struct rpc_events events = {
	.on_message = on_message,
	.on_room = on_nothing,
	.on_end = on_end,
	.on_empty = on_nothing,
};

static void begin(struct rig *rig, bool is_trusted)
{
	struct err why = { 0 };

	*rig = (struct rig){ .loop = loop_new_fake() };
	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, rig->ends), 0);
	const struct rpc_config config = {
		.loop = rig->loop,
		.in = rig->ends[1],
		.out = rig->ends[1],
		.request_max = 64,
		.is_trusted = is_trusted,
		.events = &events,
		.arg = rig,
	};

	rig->rpc = rpc_new(&config, &why);
	ck_assert_ptr_nonnull(rig->rpc);
	channel_start(rpc_channel(rig->rpc));
}

static void end(struct rig *rig)
{
	rpc_free(rig->rpc);
	loop_free(rig->loop);
	fd_close(rig->ends[0]);
	fd_close(rig->ends[1]);
}

/* All that the other end is told for @line. */
static const char *say(struct rig *rig, const char *line)
{
	ssize_t got;

	rig->told[0] = '\0';
	ck_assert_int_eq(write(rig->ends[0], line, strlen(line)), (ssize_t)strlen(line));
	ck_assert_int_eq(write(rig->ends[0], "\n", 1), 1);
	for (int i = 0; i < STEPS; i++)
		loop_step(rig->loop);
	got = read(rig->ends[0], rig->heard, sizeof(rig->heard) - 1);
	rig->heard[got > 0 ? got : 0] = '\0';
	return rig->heard;
}

static const struct {
	const char *line, *told;
} messages[] = {
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}", "x 1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"method\":\"x\",\"params\":{}}", "x \"1\"" },
	{ "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"more\":1}", "x no id" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}", "reply 1 result" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}", "reply 1 error" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{},\"result\":{}}", "reply 1 error" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}", "reply no id error" },
	/* Brackets in a text are no levels. */
	{ "{\"jsonrpc\":\"2.0\",\"id\":\"\\\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
	  "[[["
	  "[[[[[[[[[[\",\"method\":\"x\"}",
	  "x \"\\\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"" },
};

START_TEST(a_message_is_passed_on)
{
	struct rig rig;

	begin(&rig, false);
	ck_assert_str_eq(say(&rig, messages[_i].line), "");
	ck_assert_str_eq(rig.told, messages[_i].told);
	end(&rig);
}
END_TEST

#define DEEP "[[[[[[[[[[[[[[[["
static const struct {
	const char *line, *code;
} wrong[] = {
	{ "", "-32700" },
	{ "{", "-32700" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"x\"}", "-32700" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":99999999999999999999,\"method\":\"x\"}", "-32700" },
	{ "1", "-32600" },
	{ "[]", "-32600" },
	{ "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}]", "-32600" },
	{ "{}", "-32600" },
	{ "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"x\"}", "-32600" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1}", "-32600" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}", "-32600" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"x\"}", "-32600" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"x\"}", "-32600" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":1}", "-32600" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"result\":1}", "-32600" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":1}", "-32600" },
	{ "{\"jsonrpc\":\"2.0\",\"result\":1}", "-32600" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":[]}", "-32602" },
	{ "{\"version\":1,\"type\":\"x\",\"id\":\"1\"}", "version 1" },
	{ DEEP DEEP DEEP DEEP "[", "nested too deeply" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":\"\\u0000\",\"method\":\"x\"}",
	  "-32700" }, /* the last: ours may */
};

START_TEST(what_is_no_message_is_refused)
{
	struct rig rig;

	begin(&rig, false);
	ck_assert_msg(strstr(say(&rig, wrong[_i].line), wrong[_i].code) != NULL, "%s: %s",
		      wrong[_i].line, rig.heard);
	ck_assert_str_eq(rig.told, "");
	/* It is not the end, until there are too many. */
	(void)say(&rig, messages[0].line);
	ck_assert_str_eq(rig.told, "x 1");
	for (int i = 0; i < 32; i++)
		(void)say(&rig, wrong[_i].line);
	ck_assert(rig.has_ended && rpc_has_given_up(rig.rpc));
	end(&rig);
}
END_TEST

/* Each value takes many times its bytes; commas in a text are none. */
START_TEST(a_message_has_a_limit_of_values)
{
	static const char *const forms[] = {
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"a\":[%s0]}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"a\":\"%s\"}}",
	};
	auto_free char *list = mem_new(2 * RPC_VALUES_MAX + 1);
	struct rig rig;

	for (size_t i = 0; i < RPC_VALUES_MAX; i++)
		memcpy(list + 2 * i, "0,", 2);
	begin(&rig, false);
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		const char *place = strstr(forms[i], "%s");
		auto_free char *line =
			mem_printf("%.*s%s%s", (int)(place - forms[i]), forms[i], list, place + 2);
		bool is_refused = strstr(say(&rig, line), "too many values") != NULL;

		ck_assert_int_eq(is_refused, i == 0);
		ck_assert_str_eq(rig.told, i == 0 ? "" : "x 1");
	}
	end(&rig);
}
END_TEST

/* Nothing is told to a peer that is ours: it would not understand its own mistake. */
START_TEST(the_first_wrong_line_of_ours_is_the_end)
{
	struct rig rig;

	begin(&rig, true);
	ck_assert_str_eq(say(&rig, "{\"jsonrpc\":\"2.0\",\"id\":\"\\u0000\",\"method\":\"x\"}"),
			 "");
	ck_assert(!rig.has_ended);
	ck_assert_str_eq(say(&rig, wrong[_i].line), "");
	ck_assert(rig.has_ended);
	end(&rig);
}
END_TEST

START_TEST(an_id_comes_back_as_it_was)
{
	static const char *const ids[] = { "0",    "-1",    "9223372036854775807",
					   "\"\"", "\"0\"", "\"\\u20AC\\u007f\\\"\"" };
	auto_free char *line =
		mem_printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"echo\"}", ids[_i]);
	auto_free char *reply =
		mem_printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n", ids[_i]);
	struct rig rig;

	begin(&rig, false);
	ck_assert_str_eq(say(&rig, line), reply);
	json_t *id = json_loads(ids[_i], JSON_DECODE_ANY, NULL);
	auto_free char *text = rpc_id_text(id);
	json_t *again = rpc_id_json(text);

	ck_assert(json_equal(id, again));
	json_decref(id);
	json_decref(again);
	end(&rig);
}
END_TEST

START_TEST(what_is_too_long_is_not_sent)
{
	struct rig rig;
	char word[65] = "";

	begin(&rig, false);
	memset(word, 'x', sizeof(word) - 1);
	ck_assert(!rpc_request(rig.rpc, "1", "x", json_pack("{s:s}", "a", word)));
	ck_assert(rpc_request(rig.rpc, "1", "x", json_object()));
	ck_assert_str_eq(say(&rig, messages[3].line),
			 "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"method\":\"x\",\"params\":{}}\n");
	end(&rig);
}
END_TEST

TCase *test_rpc(void)
{
	TCase *tcase = tcase_create("rpc");

	tcase_add_loop_test(tcase, a_message_is_passed_on, 0, ARRAY_SIZE(messages));
	tcase_add_test(tcase, a_message_has_a_limit_of_values);
	tcase_add_loop_test(tcase, what_is_no_message_is_refused, 0, ARRAY_SIZE(wrong));
	tcase_add_loop_test(tcase, the_first_wrong_line_of_ours_is_the_end, 0,
			    ARRAY_SIZE(wrong) - 1);
	tcase_add_loop_test(tcase, an_id_comes_back_as_it_was, 0, 6);
	tcase_add_test(tcase, what_is_too_long_is_not_sent);
	return tcase;
}
