#include "tests/unit/orchestrator/rig.h"

#include <stdio.h>
#include <string.h>

#include "exec/orchestrator/access.h"

char rig_output[2];
static struct line line;

static void join(char *out, const char *text)
{
	size_t len = strlen(out);

	(void)snprintf(out + len, RIG_TEXT - len, "%s%s", len > 0 ? "|" : "", text);
}

static void join_accesses(char *out, const struct orchestrator_access *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		auto_free char *text = access_text(&list[i]);

		join(out, text);
	}
}

static void write_question(struct rig_question *ret, const struct orchestrator_question *question)
{
	(void)snprintf(ret->id, sizeof(ret->id), "%s", question->id);
	ret->client = question->client;
	ret->kind = question->kind;
	ret->is_retry = question->is_retry;
	ret->is_one_shot = question->is_one_shot;
	ret->is_confined = question->is_confined;
	ret->choices = question->choices;
	ret->deadline_ms = question->deadline_ms;
	ret->call_count = question->call_count;
	memcpy(ret->calls, question->calls, question->call_count * sizeof(*question->calls));
	ret->accesses[0] = ret->proposal[0] = '\0';
	join_accesses(ret->accesses, question->accesses, question->access_count);
	for (const char *const *text = question->proposal; *text; text++)
		join(ret->proposal, *text);
	(void)snprintf(ret->reason, sizeof(ret->reason), "%s", question->reason);
	(void)snprintf(ret->justification, sizeof(ret->justification), "%s",
		       question->justification);
	exec_sandbox_free(ret->sandbox);
	ret->sandbox = question->sandbox ? exec_sandbox_copy(question->sandbox) : NULL;
}

static void add_question(struct rig *rig, size_t decider,
			 const struct orchestrator_question *question)
{
	struct rig_question *ret = &rig->questions[rig->question_count++];

	ck_assert_uint_lt(rig->question_count, RIG_MAX);
	ret->decider = decider;
	write_question(ret, question);
}

static int on_ask(const struct orchestrator_question *question, void *arg)
{
	struct rig *rig = arg;

	add_question(rig, RIG_PERSON, question);
	return rig->ask_error;
}

static int on_decide(size_t decider, const struct orchestrator_question *question, void *arg)
{
	struct rig *rig = arg;

	add_question(rig, decider, question);
	return rig->decide_error;
}

static struct rig_question *find_question(struct rig *rig, const char *id)
{
	for (size_t i = 0; i < rig->question_count; i++) {
		if (strcmp(rig->questions[i].id, id) == 0)
			return &rig->questions[i];
	}
	ck_abort_msg("no question %s", id);
}

static void on_changed(const struct orchestrator_question *question, void *arg)
{
	struct rig_question *seen = find_question(arg, question->id);

	seen->changes++;
	write_question(seen, question);
}

static void on_retract(const char *id, const char *why, void *arg)
{
	ck_assert_str_ne(why, "");
	find_question(arg, id)->is_retracted = true;
}

static int on_attempt(const struct orchestrator_attempt *attempt, struct err *why, void *arg)
{
	struct rig *rig = arg;
	struct rig_attempt *ret = &rig->attempts[rig->attempt_count++];

	ck_assert_uint_lt(rig->attempt_count, RIG_MAX);
	*ret = (struct rig_attempt){ .number = attempt->number,
				     .call = attempt->call,
				     .is_retry = attempt->is_retry,
				     .is_confined = attempt->is_confined,
				     .is_for_session = attempt->is_for_session,
				     .new_from = attempt->new_from,
				     .sandbox = exec_sandbox_copy(attempt->sandbox) };
	join_accesses(ret->accesses, attempt->accesses, attempt->access_count);
	(void)snprintf(ret->program, sizeof(ret->program), "%s", attempt->program.path);
	if (rig->attempt_error != 0)
		return err_set(why, rig->attempt_error, "no user namespaces here");
	return 0;
}

static struct rig_attempt *find_attempt(struct rig *rig, uint64_t number)
{
	for (size_t i = 0; i < rig->attempt_count; i++) {
		if (rig->attempts[i].number == number)
			return &rig->attempts[i];
	}
	ck_abort_msg("no attempt %llu", (unsigned long long)number);
}

static void on_stop(uint64_t number, const char *why, void *arg)
{
	struct rig_attempt *attempt = find_attempt(arg, number);

	ck_assert(!attempt->is_stopped);
	attempt->is_stopped = true;
	(void)snprintf(attempt->stop_why, sizeof(attempt->stop_why), "%s", why);
}

static void on_pause(uint64_t number, bool is_paused, void *arg)
{
	struct rig_attempt *attempt = find_attempt(arg, number);

	ck_assert(attempt->is_paused != is_paused);
	attempt->is_paused = is_paused;
	attempt->pauses += is_paused;
}

static int on_store(uint64_t number, const char *const *lines, void *arg)
{
	struct rig *rig = arg;

	ck_assert_uint_lt(rig->store_count, RIG_MAX);
	rig->stores[rig->store_count] = number;
	for (; *lines; lines++)
		join(rig->stored[rig->store_count], *lines);
	rig->store_count++;
	return rig->store_error;
}

static void on_done(const struct orchestrator_result *result, void *arg)
{
	struct rig *rig = arg;
	struct rig_result *ret = &rig->results[rig->result_count++];

	ck_assert_uint_lt(rig->result_count, RIG_MAX);
	ret->call = result->call;
	ret->kind = result->kind;
	ret->is_abort = result->is_abort;
	ret->attempt_count = result->attempt_count;
	for (size_t i = 0; i < result->attempt_count; i++) {
		ret->attempts[i] = result->attempts[i];
		ret->ends[i] = result->outcomes[i].end;
		ret->outputs[i] = result->outcomes[i].output;
		ret->refusals[i] = result->outcomes[i].refusal_count;
		ret->networks[i] = result->networks[i].kind;
		ret->blocked[i] = result->networks[i].blocked;
	}
	(void)snprintf(ret->why, sizeof(ret->why), "%s", result->why);
	(void)snprintf(ret->note, sizeof(ret->note), "%s", result->note);
}

static const struct orchestrator_ops ops = {
	.ask = on_ask,
	.changed = on_changed,
	.retract = on_retract,
	.decide = on_decide,
	.attempt = on_attempt,
	.stop = on_stop,
	.pause = on_pause,
	.store = on_store,
};

struct exec_sandbox *rig_sandbox(enum exec_mode mode, enum exec_network network, const char *denied)
{
	const struct exec_entry entries[] = { { denied, EXEC_DENY } };
	const struct exec_sandbox_config config = {
		.mode = mode,
		.network = network,
		.cwd = "/work",
		.entries = entries,
		.entry_count = denied ? 1 : 0,
	};
	struct err why = { 0 };
	struct exec_sandbox *sandbox = exec_sandbox_new(&config, &why);

	ck_assert_msg(sandbox, "%s", why.text);
	return sandbox;
}

void rig_init(struct rig *rig, enum orchestrator_mode mode)
{
	*rig = (struct rig){ .loop = loop_new_fake() };
	rig->sandbox = rig_sandbox(EXEC_MODE_WORKSPACE_WRITE, EXEC_NETWORK_RESTRICTED, NULL);
	rig->config = (struct orchestrator_config){
		.ops = &ops, .arg = rig, .mode = mode, .may_leave_by_rule = true
	};
	rig->request = (struct orchestrator_request){ .kind = ORCHESTRATOR_EXEC,
						      .client = RIG_CLIENT,
						      .cwd = "/work",
						      .world = &world,
						      .sandbox = rig->sandbox,
						      .may_retry = true,
						      .done = on_done,
						      .arg = rig };
}

void rig_rules(struct rig *rig, const char *rules)
{
	struct command_rules *old = rig->rules;

	rig->rules = rules_of(rules);
	rig->config.rules = rig->rules;
	if (rig->orchestrator)
		orchestrator_set_rules(rig->orchestrator, rig->rules);
	command_rules_free(old);
}

void rig_open(struct rig *rig)
{
	struct err why = { 0 };

	rig->orchestrator = orchestrator_new(rig->loop, &rig->config, &why);
	ck_assert_msg(rig->orchestrator, "%s", why.text);
}

void rig_done(struct rig *rig)
{
	orchestrator_free(rig->orchestrator);
	for (size_t i = 0; i < rig->question_count; i++)
		exec_sandbox_free(rig->questions[i].sandbox);
	for (size_t i = 0; i < rig->attempt_count; i++)
		exec_sandbox_free(rig->attempts[i].sandbox);
	command_rules_free(rig->rules);
	exec_sandbox_free(rig->sandbox);
	loop_free(rig->loop);
}

uint64_t rig_start(struct rig *rig)
{
	struct err why = { 0 };
	size_t before = rig->question_count + rig->attempt_count + rig->result_count;
	uint64_t call = 0;
	int r = orchestrator_start(rig->orchestrator, &rig->request, &call, &why);

	ck_assert_msg(r == 0, "%s", why.text);
	/* Nothing is called inside. */
	ck_assert_uint_eq(rig->question_count + rig->attempt_count + rig->result_count, before);
	loop_step(rig->loop);
	return call;
}

uint64_t rig_exec(struct rig *rig, const char *text)
{
	line_split(&line, text);
	rig->request.kind = ORCHESTRATOR_EXEC;
	rig->request.argv = line.argv;
	return rig_start(rig);
}

uint64_t rig_network(struct rig *rig, const char *host, uint16_t port, uint64_t attempt)
{
	const struct orchestrator_access access = { ORCHESTRATOR_DESTINATION, host, "https", port };
	struct orchestrator_request before = rig->request;

	rig->request.kind = ORCHESTRATOR_NETWORK;
	rig->request.argv = NULL;
	rig->request.accesses = &access;
	rig->request.access_count = 1;
	rig->request.attempt = attempt;
	uint64_t call = rig_start(rig);

	rig->request = before;
	return call;
}

int rig_answer(struct rig *rig, size_t index, enum orchestrator_choice choice)
{
	const struct orchestrator_answer answer = { .choice = choice };
	struct err why = { 0 };
	size_t before = rig->attempt_count + rig->result_count;
	int r = orchestrator_answer(rig->orchestrator, rig->questions[index].id,
				    rig->questions[index].client, &answer, &why);

	ck_assert_uint_eq(rig->attempt_count + rig->result_count, before);
	ck_assert_msg(r == 0 || why.text[0], "an error says why");
	loop_step(rig->loop);
	return r;
}

int rig_decide(struct rig *rig, size_t index, enum orchestrator_decision decision)
{
	struct err why = { 0 };
	int r = orchestrator_decide(rig->orchestrator, rig->questions[index].id, decision,
				    "the program says so", &why);

	loop_step(rig->loop);
	return r;
}

int rig_end(struct rig *rig, size_t index, const struct orchestrator_outcome *outcome)
{
	int r = orchestrator_attempt_ended(rig->orchestrator, rig->attempts[index].number, outcome);

	loop_step(rig->loop);
	return r;
}

int rig_exit(struct rig *rig, size_t index, int status)
{
	return rig_end(rig, index,
		       &(struct orchestrator_outcome){ .end = ORCHESTRATOR_EXITED,
						       .status = status,
						       .output = &rig_output[0] });
}

static struct orchestrator_refusal parse_refusal(const char *text)
{
	static const struct {
		const char *word;
		enum orchestrator_class what;
	} words[] = {
		{ "write ", ORCHESTRATOR_WRITE_PATH }, { "read ", ORCHESTRATOR_READ_PATH },
		{ "socket ", ORCHESTRATOR_SOCKET },    { "call ", ORCHESTRATOR_SYSTEM_CALL },
		{ "program ", ORCHESTRATOR_PROGRAM },  { "net ", ORCHESTRATOR_DESTINATION },
	};
	struct orchestrator_refusal refusal = { 0 };

	if (strncmp(text, "final ", 6) == 0) {
		refusal.is_final = true;
		text += 6;
	}
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strncmp(text, words[i].word, strlen(words[i].word)) != 0)
			continue;
		refusal.access.what = words[i].what;
		refusal.access.name = text + strlen(words[i].word);
		if (words[i].what == ORCHESTRATOR_DESTINATION) {
			refusal.access.protocol = "https";
			refusal.access.port = 443;
		}
		return refusal;
	}
	ck_abort_msg("no such refusal: %s", text);
}

int rig_refuse(struct rig *rig, size_t index, const char *text)
{
	struct orchestrator_refusal refusals[RIG_MAX];
	auto_free char *copy = mem_strdup(text);
	size_t count = 0;
	char *rest = copy, *one;

	while ((one = strsep(&rest, "|")))
		refusals[count++] = parse_refusal(one);
	return rig_end(rig, index,
		       &(struct orchestrator_outcome){ .end = ORCHESTRATOR_EXITED,
						       .status = 1,
						       .refusals = refusals,
						       .refusal_count = count,
						       .output = &rig_output[0] });
}

int rig_block(struct rig *rig, size_t index, enum orchestrator_network_kind kind, const char *host)
{
	const struct orchestrator_block block = { .kind = kind,
						  .reason = ORCHESTRATOR_BLOCKED_UNLISTED,
						  .host = host,
						  .protocol = "https",
						  .port = 443 };
	int r = orchestrator_network_record(rig->orchestrator, rig->attempts[index].number, &block);

	loop_step(rig->loop);
	return r;
}

struct rig_question *rig_asked(struct rig *rig)
{
	ck_assert_uint_gt(rig->question_count, 0);
	return &rig->questions[rig->question_count - 1];
}

struct rig_attempt *rig_attempted(struct rig *rig)
{
	ck_assert_uint_gt(rig->attempt_count, 0);
	return &rig->attempts[rig->attempt_count - 1];
}

struct rig_result *rig_ended(struct rig *rig)
{
	ck_assert_uint_gt(rig->result_count, 0);
	return &rig->results[rig->result_count - 1];
}
