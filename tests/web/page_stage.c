/* The page's server with a gateway that does what it is told, for tests in a browser: scenes come
 * in as lines of JSON, what a person did goes out as lines of text.
 *   {"op":"ask","id":"q-1","host":"a.test",…}  {"op":"change","id":…,…}
 * {"op":"retract","id":…,"how":…}
 *   {"op":"agent","id":…,"kind":…,"lines":[[LABEL,TEXT],…],"choices":BITS,"typed":…}
 *   {"op":"link","id":…}  {"op":"text","text":…}  {"op":"tell"}: what it was asked for
 *   {"op":"ledger","live":2,"grants":3,"trips":4}
 *   {"op":"hear","host":…,"action":…,"by":…}: a decision; {"op":"hear","host":…,"up":1,"down":2}:
 * it was closed */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "gateway/approvers/remote/answer_link.h"
#include "gateway/approvers/table.h"
#include "gateway/audit/sink_impl.h"
#include "tests/unit/gateway/approvers/web/test_web_fake.h"
#include "gateway/gateway_tools.h"

#define LINE_MAX_BYTES  65536
#define AGENT_LINES_MAX 256

static struct {
	char line[LINE_MAX_BYTES];
	size_t len;
	json_t *held; /* what the stage borrows from */
	unsigned int answers, revocations;
	uint64_t cut;
	int was_attached;
	struct loop_timer watch;
} play;

static const char *text_of(const json_t *object, const char *key, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : otherwise;
}

static json_int_t number_of(const json_t *object, const char *key, json_int_t otherwise)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

/* What @object says of it; the rest is @question's already. */
static void fill(struct approver_question *question, const json_t *object)
{
	static const char *const protocols[] = { "", "http", "https", "tcp" };
	const char *protocol = text_of(object, "protocol", protocols[question->dst.protocol]);

	for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
		if (strcmp(protocol, protocols[i]) == 0)
			question->dst.protocol = (enum policy_protocol)i;
	}
	question->dst.port = (uint16_t)number_of(object, "port", question->dst.port);
	question->waiting = (unsigned int)number_of(object, "waiting", question->waiting);
	question->command_count =
		(unsigned int)number_of(object, "command_count", question->command_count);
	question->commands[0] = text_of(object, "command", question->commands[0]);
	question->left_ms = number_of(object, "left_ms", question->left_ms);
	question->risk = (unsigned int)number_of(object, "risk", question->risk);
	question->is_touched = number_of(object, "touched", question->is_touched) != 0;
	question->is_shared = number_of(object, "shared", 1) != 0;
	question->warning = text_of(object, "warning", question->warning);
	question->rule = text_of(object, "rule", question->rule);
	question->because = text_of(object, "because", question->because);
	question->program = text_of(object, "program", question->program);
	question->chain = text_of(object, "chain", question->chain);
	if (json_object_get(object, "domain"))
		(void)snprintf(question->typed, sizeof(question->typed), "%s",
			       text_of(object, "domain", ""));
	web_approver.changed(stage.approver, question);
}

static void op_ask(const json_t *object)
{
	struct approver_question *question =
		stage_put(text_of(object, "id", "q"), text_of(object, "host", "a.test"));

	if (!question)
		exit(1);
	fill(question, object);
}

static void op_change(const json_t *object)
{
	struct approver_question *question = stage_find(text_of(object, "id", ""));

	if (!question)
		exit(1);
	fill(question, object);
}

static void op_agent(const json_t *object)
{
	static struct gateway_agent_line lines[AGENT_LINES_MAX];
	const json_t *given = json_object_get(object, "lines");

	stage.agent = (struct approver_agent_question){
		.kind = text_of(object, "kind", "exec"),
		.lines = lines,
		.line_count = json_array_size(given),
		.choices = (unsigned int)number_of(object, "choices", 31),
		.typed = text_of(object, "typed", ""),
		.left_ms = 299000,
	};
	if (stage.agent.line_count > AGENT_LINES_MAX)
		exit(1);
	for (size_t i = 0; i < stage.agent.line_count; i++) {
		const json_t *line = json_array_get(given, i);

		lines[i].label = json_string_value(json_array_get(line, 0));
		lines[i].text = json_string_value(json_array_get(line, 1));
	}
	(void)snprintf(stage.agent.id, sizeof(stage.agent.id), "%s",
		       text_of(object, "id", "7f3a-1"));
	web_approver.agent_asked(stage.approver, &stage.agent);
}

static void op_ledger(json_t *object)
{
	stage.live_count = (unsigned int)number_of(object, "live", 0);
	stage.grant_count = (unsigned int)number_of(object, "grants", 0);
	stage.because = text_of(object, "because", "");
	stage.trip_count = (size_t)number_of(object, "trips", 0);
	for (size_t i = 0; i < stage.trip_count; i++) {
		stage.trips[i] = (struct gateway_trip){
			.dst = { .protocol = POLICY_HTTPS, .port = 443 },
			.allowed = 3 * i,
			.denied = i % 3,
			.failed = i % 2,
			.bytes_up = i * 1234,
			.bytes_down = i * i * 98765,
		};
		(void)snprintf(stage.trips[i].dst.host, POLICY_HOST_MAX, "mirror-%zu.example.test",
			       i);
	}
}

static void op_hear(const json_t *object)
{
	bool is_allow = strcmp(text_of(object, "action", "deny"), "allow") == 0;
	struct policy_facts facts = { .dst = { .protocol = POLICY_HTTPS, .port = 443 } };
	bool is_closed = json_object_get(object, "up") != NULL;
	enum policy_reason denial = number_of(object, "failed", 0)   ? POLICY_CONNECT_REFUSED
				    : number_of(object, "missed", 0) ? POLICY_PROMPT_TIMEOUT
				    : number_of(object, "stored", 0) ? POLICY_DENIED_SESSION
								     : POLICY_RULE_DENY;
	struct policy_verdict verdict = { .action = is_allow ? POLICY_ALLOW : POLICY_DENY,
					  .reason = is_allow ? POLICY_RULE_ALLOW : denial };
	int64_t ago_us = number_of(object, "ago_s", 0) * 1000000;
	struct sink_record record = {
		.event = is_closed ? SINK_CLOSED : SINK_DECISION,
		.wall_us = loop_wall_us(stage.loop) - ago_us,
		.facts = &facts,
		.verdict = is_closed ? NULL : &verdict,
		.reason = is_closed ? POLICY_DONE : verdict.reason,
		.bytes_up = (uint64_t)number_of(object, "up", 0),
		.bytes_down = (uint64_t)number_of(object, "down", 0),
	};

	(void)snprintf(facts.dst.host, POLICY_HOST_MAX, "%s", text_of(object, "host", "a.test"));
	(void)snprintf(verdict.by, sizeof(verdict.by), "%s", text_of(object, "by", ""));
	(void)snprintf(verdict.rule, sizeof(verdict.rule), "%s", text_of(object, "rule", ""));
	(void)snprintf(verdict.because, sizeof(verdict.because), "%s",
		       text_of(object, "because", ""));
	web_approver.heard(stage.approver, &record);
}

static void op_link(const json_t *object)
{
	char link[ANSWER_LINK_MAX];
	int64_t until_s = loop_wall_us(stage.loop) / 1000000 + number_of(object, "seconds", 60);

	if (answer_link_make(stage.web.link_key, text_of(object, "id", ""), until_s, link) < 0)
		exit(1);
	(void)printf("link %s\n", link);
	(void)fflush(stdout);
}

static void serve(const char *line)
{
	json_t *object = json_loads(line, 0, NULL);
	const char *op = text_of(object, "op", "");

	(void)json_array_append_new(play.held, object);
	if (strcmp(op, "ask") == 0)
		op_ask(object);
	else if (strcmp(op, "agent") == 0)
		op_agent(object);
	else if (strcmp(op, "change") == 0)
		op_change(object);
	else if (strcmp(op, "retract") == 0)
		stage_retract(text_of(object, "id", ""), text_of(object, "how", ""));
	else if (strcmp(op, "ledger") == 0)
		op_ledger(object);
	else if (strcmp(op, "hear") == 0)
		op_hear(object);
	else if (strcmp(op, "link") == 0)
		op_link(object);
	else if (strcmp(op, "text") == 0)
		stage.text = text_of(object, "text", "");
	else if (strcmp(op, "tell") == 0)
		stage.tells = true;
	else
		exit(1);
}

static void on_input(evutil_socket_t fd, short what, void *arg)
{
	ssize_t got = read((int)fd, play.line + play.len, sizeof(play.line) - 1 - play.len);
	char *end;

	if (got <= 0) {
		loop_stop(stage.loop);
		return;
	}
	play.len += (size_t)got;
	play.line[play.len] = '\0';
	while ((end = strchr(play.line, '\n'))) {
		*end = '\0';
		serve(play.line);
		play.len -= (size_t)(end + 1 - play.line);
		memmove(play.line, end + 1, play.len + 1);
	}
}

static void say_answer(void)
{
	static const char *const scopes[] = { "once", "exec", "session", "always" };
	const struct approver_answer *answer = &stage.answer;

	(void)printf("answer %s %s%s%s%s%s for=%lld words=%s\n", policy_action_name(answer->action),
		     scopes[answer->scope], answer->is_abort ? " abort" : "",
		     answer->width.is_domain ? " domain" : "",
		     answer->width.is_every_port ? " every_port" : "",
		     answer->width.is_program ? " program" : "", (long long)answer->width.for_s,
		     stage.words);
}

/* What has changed since the last look. */
static void look(void *arg)
{
	int is_attached = stage.approver->stream_count > 0;

	if (is_attached != play.was_attached)
		(void)printf("%s\n", is_attached ? "came" : "left");
	play.was_attached = is_attached;
	for (; play.answers != stage.answer_count; play.answers++)
		say_answer(); /* of several at once, the last as often */
	if (stage.revoke_count != play.revocations)
		(void)printf("revoke %llu\n", (unsigned long long)stage.revoked);
	play.revocations = stage.revoke_count;
	if (stage.cut != play.cut)
		(void)printf("cut %llu\n", (unsigned long long)stage.cut);
	play.cut = stage.cut;
	(void)fflush(stdout);
	loop_timer_start(stage.loop, &play.watch, 10, look, NULL);
}

int main(void)
{
	struct err why = { 0 };
	struct event *input;

	if (stage_begin(loop_new(), &why) < 0) {
		(void)fprintf(stderr, "%s\n", why.text);
		return 1;
	}
	play.held = json_array();
	(void)printf("%s\n", stage.web.url);
	input = event_new(loop_base(stage.loop), STDIN_FILENO, EV_READ | EV_PERSIST, on_input,
			  NULL);
	if (!input || event_add(input, NULL) < 0)
		return 1;
	look(NULL);
	(void)loop_run(stage.loop);
	loop_timer_stop(&play.watch);
	event_free(input);
	stage_end();
	json_decref(play.held);
	return 0;
}
