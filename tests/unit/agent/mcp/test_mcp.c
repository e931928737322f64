#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agent_mcp.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "tests/unit/agent/test_agent.h"

#define STEPS 40

/* We are the client, at client[0], and the agent, at agent[0]. */
struct rig {
	struct loop *loop;
	struct mcp *mcp;
	int client[2], agent[2];
	char heard[1 << 16];
};

static const char initialize[] =
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
	"\"2025-06-18\",\"capabilities\":{\"elicitation\":{}}}}";
static const char call[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
			   "\"name\":\"run\",\"arguments\":{\"command\":\"make\"}}}";

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

static char *no_root(const char *path, struct err *why, const void *arg)
{
	(void)err_set(why, -EPERM, "no root counts");
	return NULL;
}

static void begin_with(struct rig *rig, const char *hello)
{
	const int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
	struct err why = { 0 };

	rig->loop = loop_new_fake();
	ck_assert_int_eq(socketpair(AF_UNIX, type, 0, rig->client), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, type, 0, rig->agent), 0);
	const struct mcp_config config = {
		.loop = rig->loop,
		.in = rig->client[1],
		.out = rig->client[1],
		.agent = rig->agent[1],
		.version = "1",
		.cwd = "/",
		.check_root = no_root,
	};

	rig->mcp = mcp_new(&config, &why);
	ck_assert_ptr_nonnull(rig->mcp);
	say(rig, rig->client[0], hello);
	ck_assert_ptr_nonnull(strstr(hear(rig, rig->agent[0]), "\"configure_session\""));
	ck_assert_ptr_nonnull(strstr(hear(rig, rig->client[0]), "\"2025-06-18\""));
}

static void begin(struct rig *rig)
{
	begin_with(rig, initialize);
}

static void end(struct rig *rig)
{
	mcp_free(rig->mcp);
	loop_free(rig->loop);
	for (int i = 0; i < 2; i++) {
		fd_close(rig->client[i]);
		fd_close(rig->agent[i]);
	}
}

static void has(const char *heard, const char *wanted)
{
	ck_assert_msg(strstr(heard, wanted) != NULL, "no %s in %.1000s", wanted, heard);
}

static const char question[] =
	"{\"jsonrpc\":\"2.0\",\"method\":\"approval_request\",\"params\":{\"approval\":\"7\","
	"\"kind\":\"network\","
	"\"destination\":{\"host\":\"a.test\",\"protocol\":\"https\",\"port\":443},\"commands\":["
	"\"one\\ntwo\"],\"private\":true,\"decisions\":[\"denied\",\"approved\"],\"risk\":["
	"\"listed\"],"
	"\"confirmation\":\"a.test\",\"reason\":\"%s\"}}";

/* The person's answers that are sent to the agent; all others are a denial. */
static const struct {
	const char *response, *told;
	bool is_passed_on; /* as it was said */
} answers[] = {
	{ "\"result\":{\"action\":\"accept\",\"content\":{\"decision\":\"approved\","
	  "\"confirmation\":\"a."
	  "test\"}}",
	  "\"decision\":\"approved\",\"confirmation\":\"a.test\"", true },
	{ "\"result\":{\"action\":\"accept\",\"content\":{\"decision\":\"denied\",\"message\":"
	  "\"no\"}"
	  "}",
	  "\"decision\":\"denied\",\"message\":\"no\"", true },
	{ "\"result\":{\"action\":\"decline\",\"content\":{\"decision\":\"approved\"}}",
	  "\"decision\":\"denied\"", false },
	{ "\"result\":{\"action\":\"cancel\"}", "\"decision\":\"denied\"", false },
	{ "\"result\":{\"action\":\"accept\",\"content\":{\"decision\":\"always\"}}",
	  "\"decision\":\"denied\"", false },
	{ "\"result\":{\"action\":\"accept\",\"content\":{\"decision\":1}}",
	  "\"decision\":\"denied\"", false },
	{ "\"result\":{\"action\":\"accept\",\"content\":{\"decision\":\"approved\"}},\"error\":{}",
	  "\"decision\":\"denied\"", false },
	{ "\"error\":{\"code\":1,\"message\":\"x\"}", "\"decision\":\"denied\"", false },
};

START_TEST(only_an_offered_answer_allows)
{
	struct rig rig;
	auto_free char *asked = mem_printf(question, "please");
	auto_free char *answer =
		mem_printf("{\"jsonrpc\":\"2.0\",\"id\":\"q1\",%s}", answers[_i].response);

	begin(&rig);
	say(&rig, rig.agent[0], asked);
	has(hear(&rig, rig.client[0]), "\"id\":\"q1\"");
	say(&rig, rig.client[0], answer);
	has(hear(&rig, rig.agent[0]), answers[_i].told);
	say(&rig, rig.client[0], answer);
	ck_assert_str_eq(hear(&rig, rig.agent[0]), ""); /* once */
	/* It was not taken: then it is a denial, once. */
	say(&rig, rig.agent[0],
	    "{\"jsonrpc\":\"2.0\",\"id\":\"q1\",\"error\":{\"code\":-32000,\"message\":\"\"}}");
	if (!answers[_i].is_passed_on)
		ck_assert_str_eq(hear(&rig, rig.agent[0]), "");
	else
		has(hear(&rig, rig.agent[0]), "\"decision\":\"denied\"");
	end(&rig);
}
END_TEST

START_TEST(a_question_is_shown_exactly)
{
	struct rig rig;
	auto_free char *asked = mem_printf(question, "x\\nMay the command reach \\u202e");

	begin(&rig);
	say(&rig, rig.agent[0], asked);
	has(hear(&rig, rig.client[0]),
	    "\"message\":\"May the command reach https://a.test:443 ?\\nwarning: it is an address "
	    "of a "
	    "private "
	    "network\\ndenied: deny it this time\\napproved: allow it this time, for all that wait "
	    "for this "
	    "answer\\nasked by: one\\\\x0atwo\\nthe command says: x\\\\x0aMay the command reach "
	    "\\\\xe2\\\\x80\\\\xae\"");
	end(&rig);
}
END_TEST

/* Cut where it grants nothing; what it grants is never cut. */
START_TEST(what_does_not_fit_is_not_granted)
{
	struct rig rig;
	char word[9001];

	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	auto_free char *asked = mem_printf(question, word);
	auto_free char *exec = mem_printf(
		"{\"jsonrpc\":\"2.0\",\"method\":\"approval_request\",\"params\":{\"approval\":"
		"\"8\",\"kind\":\"exec\",\"command\":[\"%s\"],\"decisions\":["
		"\"denied\",\"approved\"]}}",
		word);

	begin(&rig);
	say(&rig, rig.agent[0], asked);
	has(hear(&rig, rig.client[0]), "xxx...\"");
	say(&rig, rig.agent[0], exec);
	ck_assert_str_eq(hear(&rig, rig.client[0]), "");
	has(hear(&rig, rig.agent[0]),
	    "\"approval\":\"8\",\"kind\":\"exec\",\"decision\":\"denied\"");
	end(&rig);
}
END_TEST

/* Whatever the agent does, the caller gets a reply, and the agent's end is closed. */
static const char *const endings[] = {
	"{\"jsonrpc\":\"2.0\",\"id\":\"c1\",\"result\":{\"status\":\"rejected\"}}",
	"{\"jsonrpc\":\"2.0\",\"id\":\"c1\",\"error\":{\"code\":-32000,\"message\":\"later\"}}",
	"{\"jsonrpc\":\"2.0\",\"method\":\"error\",\"params\":{\"reason\":\"closing\",\"message\":"
	"\"later\"}}",
	"no line of an agent",
	"{\"version\":1}",
	NULL,
};

START_TEST(a_call_always_has_a_reply)
{
	struct rig rig;

	begin(&rig);
	say(&rig, rig.client[0], call);
	has(hear(&rig, rig.agent[0]), "\"script\":\"make\"");
	if (endings[_i])
		say(&rig, rig.agent[0], endings[_i]);
	if (!endings[_i] || strstr(endings[_i], "closing"))
		ck_assert_int_eq(shutdown(rig.agent[0], SHUT_RDWR), 0);
	step(&rig);
	const char *heard = hear(&rig, rig.client[0]);

	has(heard, "\"id\":1");
	has(heard, "\"isError\":true");
	if (endings[_i] && strstr(endings[_i], "later"))
		has(heard, "later");
	end(&rig);
}
END_TEST

START_TEST(its_client_goes_and_so_does_it)
{
	struct rig rig;

	begin(&rig);
	say(&rig, rig.client[0], call);
	ck_assert_str_ne(hear(&rig, rig.agent[0]), "");
	ck_assert_int_eq(shutdown(rig.client[0], SHUT_WR), 0);
	step(&rig);
	ck_assert_int_eq(read(rig.agent[0], rig.heard, 1), 0);
	/* The agent's last message is not waited for. */
	ck_assert(send(rig.agent[0], "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE);
	end(&rig);
}
END_TEST

static const char call_with_token[] =
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"_meta\":{"
	"\"progressToken\":%s},\"name\":\"run\",\"arguments\":{\"command\":\"make\"}}}";
static const char started[] =
	"{\"jsonrpc\":\"2.0\",\"method\":\"task_started\",\"params\":{\"id\":\"c1\",\"exec\":1}}";
static const char ended[] = "{\"jsonrpc\":\"2.0\",\"id\":\"c1\",\"result\":{}}";

static void tick(struct rig *rig, int64_t ms)
{
	loop_advance(rig->loop, ms);
	step(rig);
}

static const char *const tokens[] = { "7", "\"t\"" };

START_TEST(progress_is_told_while_it_runs)
{
	struct rig rig;
	auto_free char *begins = mem_printf(call_with_token, tokens[_i]);
	auto_free char *token = mem_printf("\"progressToken\":%s", tokens[_i]);
	const char *heard;

	begin(&rig);
	say(&rig, rig.client[0], begins);
	ck_assert_str_eq(hear(&rig, rig.client[0]), "");
	say(&rig, rig.agent[0], started);
	heard = hear(&rig, rig.client[0]);
	has(heard, token);
	has(heard, "\"progress\":1,");
	tick(&rig, 999);
	ck_assert_str_eq(hear(&rig, rig.client[0]), "");
	tick(&rig, 1);
	heard = hear(&rig, rig.client[0]);
	has(heard, "\"progress\":1000,");
	has(heard, "\"runs\"");
	say(&rig, rig.agent[0],
	    "{\"jsonrpc\":\"2.0\",\"method\":\"approval_updated\",\"params\":{\"approval\":\"7\","
	    "\"ids\":[1,\"c1\"]}}");
	has(hear(&rig, rig.client[0]), "\"the command waits for an answer\"");
	tick(&rig, 1000);
	has(hear(&rig, rig.client[0]), "\"the command waits for an answer\"");
	say(&rig, rig.agent[0],
	    "{\"jsonrpc\":\"2.0\",\"method\":\"approval_resolved\",\"params\":{\"approval\":\"7\"}"
	    "}");
	has(hear(&rig, rig.client[0]), "\"the question was answered\"");
	say(&rig, rig.agent[0], ended);
	has(hear(&rig, rig.client[0]), "\"id\":1");
	tick(&rig, 5000);
	ck_assert_str_eq(hear(&rig, rig.client[0]), "");
	end(&rig);
}
END_TEST

/* No request; it was cancelled; it is not a token. */
START_TEST(progress_is_not_told)
{
	struct rig rig;
	auto_free char *begins = mem_printf(call_with_token, _i == 2 ? "{}" : "1");

	begin(&rig);
	say(&rig, rig.client[0], _i == 0 ? call : begins);
	if (_i == 2)
		has(hear(&rig, rig.client[0]), "-32602");
	if (_i == 1)
		say(&rig, rig.client[0],
		    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
		    "\"requestId\":1}}");
	say(&rig, rig.agent[0], started);
	tick(&rig, 5000);
	ck_assert_str_eq(hear(&rig, rig.client[0]), "");
	end(&rig);
}
END_TEST

static const char with_roots[] =
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
	"\"2025-06-18\",\"capabilities\":{\"roots\":{}}}}";
static const char is_ready[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";
static const char roots_changed[] =
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}";
static const char another_call[] =
	"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{"
	"\"name\":\"run\",\"arguments\":{\"command\":\"test\"}}}";
static const char cancel[] =
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
	"\"requestId\":1}}";

/* The client is never ready; it does not answer; it answers an earlier request: calls wait for
 * their time, in their order, and those that were cancelled are not made. */
START_TEST(calls_wait_for_roots_for_a_time)
{
	struct rig rig;
	const char *heard;

	begin_with(&rig, with_roots);
	if (_i > 0) {
		say(&rig, rig.client[0], is_ready);
		has(hear(&rig, rig.client[0]), "\"roots/list\"");
	}
	say(&rig, rig.client[0], call);
	say(&rig, rig.client[0], another_call);
	if (_i == 2)
		say(&rig, rig.client[0],
		    "{\"jsonrpc\":\"2.0\",\"id\":\"r7\",\"result\":{\"roots\":[]}}");
	if (_i == 3)
		say(&rig, rig.client[0], cancel);
	tick(&rig, 9999);
	ck_assert_str_eq(hear(&rig, rig.agent[0]), "");
	tick(&rig, 1);
	heard = hear(&rig, rig.agent[0]);
	has(heard, "\"script\":\"test\"");
	if (_i == 3)
		ck_assert_ptr_null(strstr(heard, "\"script\":\"make\""));
	else
		ck_assert(strstr(heard, "\"make\"") &&
			  strstr(heard, "\"make\"") < strstr(heard, "\"test\""));
	end(&rig);
}
END_TEST

/* However often they change, one request is open. */
START_TEST(roots_are_asked_for_once_at_a_time)
{
	struct rig rig;

	begin_with(&rig, with_roots);
	say(&rig, rig.client[0], is_ready);
	has(hear(&rig, rig.client[0]), "\"id\":\"r1\"");
	for (int i = 0; i < 50; i++)
		say(&rig, rig.client[0], roots_changed);
	ck_assert_str_eq(hear(&rig, rig.client[0]), "");
	say(&rig, rig.client[0], "{\"jsonrpc\":\"2.0\",\"id\":\"r1\",\"result\":{}}");
	has(hear(&rig, rig.client[0]), "\"id\":\"r2\"");
	say(&rig, rig.client[0], "{\"jsonrpc\":\"2.0\",\"id\":\"r2\",\"result\":{}}");
	ck_assert_str_eq(hear(&rig, rig.client[0]), "");
	say(&rig, rig.client[0], call);
	has(hear(&rig, rig.agent[0]), "\"script\":\"make\"");
	end(&rig);
}
END_TEST

TCase *test_mcp(void)
{
	TCase *tcase = tcase_create("mcp");

	tcase_add_loop_test(tcase, progress_is_told_while_it_runs, 0, ARRAY_SIZE(tokens));
	tcase_add_loop_test(tcase, progress_is_not_told, 0, 3);
	tcase_add_loop_test(tcase, calls_wait_for_roots_for_a_time, 0, 4);
	tcase_add_test(tcase, roots_are_asked_for_once_at_a_time);
	tcase_add_loop_test(tcase, only_an_offered_answer_allows, 0, ARRAY_SIZE(answers));
	tcase_add_test(tcase, a_question_is_shown_exactly);
	tcase_add_test(tcase, what_does_not_fit_is_not_granted);
	tcase_add_loop_test(tcase, a_call_always_has_a_reply, 0, ARRAY_SIZE(endings));
	tcase_add_test(tcase, its_client_goes_and_so_does_it);
	return tcase;
}
