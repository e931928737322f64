#include "tests/unit/exec/orchestrator/rig.h"

#include <stdio.h>
#include <string.h>

#include "exec/orchestrator/judging/access.h"

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
	ret->request_count = question->request_count;
	memcpy(ret->requests, question->requests,
	       question->request_count * sizeof(*question->requests));
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

static int on_decided(const struct orchestrator_decided *decided, void *arg)
{
	struct rig *rig = arg;
	struct rig_decided *ret = &rig->decided[rig->decided_count++ % RIG_MAX];

	*ret = (struct rig_decided){
		.request = decided->request,
		.kind = decided->kind,
		.by = decided->by,
		.holds = decided->holds,
		.is_allowed = decided->is_allowed,
		.is_retry = decided->is_retry,
		.is_confined = decided->is_confined,
	};
	(void)snprintf(ret->name, sizeof(ret->name), "%s", decided->name);
	(void)snprintf(ret->grants, sizeof(ret->grants), "%s", decided->grants);
	(void)snprintf(ret->rule, sizeof(ret->rule), "%s", decided->rule);
	(void)snprintf(ret->words, sizeof(ret->words), "%s", decided->words);
	return rig->decided_error;
}

/* The last decision about @request that was written down: there is one. */
static const struct rig_decided *last_decided(const struct rig *rig, uint64_t request)
{
	for (size_t i = rig->decided_count; i > 0 && i + RIG_MAX > rig->decided_count; i--) {
		const struct rig_decided *decided = &rig->decided[(i - 1) % RIG_MAX];

		if (decided->request == request)
			return decided;
	}
	ck_abort_msg("nothing was written down about call %llu", (unsigned long long)request);
}

/* The possible deciders in the record of such an end; an exec that was made was allowed. */
static const unsigned int rejecters[] = {
	[ORCHESTRATOR_REJECTED_BY_RULE] = BIT(ORCHESTRATOR_BY_RULE) | BIT(ORCHESTRATOR_BY_MODE),
	[ORCHESTRATOR_REJECTED_BY_PERSON] =
		BIT(ORCHESTRATOR_BY_PERSON) | BIT(ORCHESTRATOR_BY_EARLIER),
	[ORCHESTRATOR_REJECTED_BY_HOOK] = BIT(ORCHESTRATOR_BY_HOOK) | BIT(ORCHESTRATOR_BY_TIMEOUT) |
					  BIT(ORCHESTRATOR_BY_ABSENCE),
	[ORCHESTRATOR_REJECTED_BY_REVIEWER] = BIT(ORCHESTRATOR_BY_REVIEWER),
	[ORCHESTRATOR_REJECTED_REVIEWER_LATE] = BIT(ORCHESTRATOR_BY_TIMEOUT) |
						BIT(ORCHESTRATOR_BY_ABSENCE) |
						BIT(ORCHESTRATOR_BY_DEPARTURE),
	[ORCHESTRATOR_REJECTED_NO_ANSWER] =
		BIT(ORCHESTRATOR_BY_TIMEOUT) | BIT(ORCHESTRATOR_BY_ABSENCE) |
		BIT(ORCHESTRATOR_BY_DEPARTURE) | BIT(ORCHESTRATOR_BY_NOBODY),
	[ORCHESTRATOR_DONE] = 0,
};

/* The record against what happened. */
static void check_decided(const struct rig *rig, const struct orchestrator_result *result)
{
	const struct rig_decided *decided = last_decided(rig, result->request);

	if (rig->decided_error != 0)
		ck_assert_uint_eq(result->exec_count, 0);
	else if (rejecters[result->kind] != 0)
		ck_assert_msg(!decided->is_allowed && rejecters[result->kind] & BIT(decided->by),
			      "result %d, record by %d", (int)result->kind, (int)decided->by);
	else if (result->kind == ORCHESTRATOR_CANCELLED && result->exec_count == 0)
		ck_assert_int_eq(decided->by, ORCHESTRATOR_BY_WITHDRAWAL);
	else if (result->kind == ORCHESTRATOR_DONE)
		ck_assert(decided->is_allowed);
}

static int on_start(const struct orchestrator_exec *exec, struct err *why, void *arg)
{
	struct rig *rig = arg;
	struct rig_started *ret = &rig->execs[rig->exec_count++];
	const struct rig_decided *decided = last_decided(rig, exec->request);

	ck_assert(decided->is_allowed && decided->is_retry == exec->is_retry &&
		  decided->is_confined == exec->is_confined);
	ck_assert_int_eq(rig->decided_error, 0);

	ck_assert_uint_lt(rig->exec_count, RIG_MAX);
	*ret = (struct rig_started){ .number = exec->number,
				     .request = exec->request,
				     .is_retry = exec->is_retry,
				     .is_confined = exec->is_confined,
				     .is_for_session = exec->is_for_session,
				     .new_from = exec->new_from,
				     .sandbox = exec_sandbox_copy(exec->sandbox) };
	join_accesses(ret->accesses, exec->accesses, exec->access_count);
	(void)snprintf(ret->program, sizeof(ret->program), "%s", exec->program.path);
	if (rig->start_error != 0)
		return err_set(why, rig->start_error, "no user namespaces here");
	return 0;
}

static struct rig_started *find_exec(struct rig *rig, uint64_t number)
{
	for (size_t i = 0; i < rig->exec_count; i++) {
		if (rig->execs[i].number == number)
			return &rig->execs[i];
	}
	ck_abort_msg("no attempt %llu", (unsigned long long)number);
}

static void on_stop(uint64_t number, const char *why, void *arg)
{
	struct rig_started *exec = find_exec(arg, number);

	ck_assert(!exec->is_stopped);
	exec->is_stopped = true;
	(void)snprintf(exec->stop_why, sizeof(exec->stop_why), "%s", why);
}

static void on_pause(uint64_t number, bool is_paused, void *arg)
{
	struct rig_started *exec = find_exec(arg, number);

	ck_assert(exec->is_paused != is_paused);
	exec->is_paused = is_paused;
	exec->pauses += is_paused;
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
	check_decided(rig, result);
	ret->request = result->request;
	ret->kind = result->kind;
	ret->is_abort = result->is_abort;
	ret->exec_count = result->exec_count;
	for (size_t i = 0; i < result->exec_count; i++) {
		ret->execs[i] = result->execs[i];
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
	.decided = on_decided,
	.start = on_start,
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
	rig->config = (struct orchestrator_config){ .ops = &ops,
						    .arg = rig,
						    .mode = mode,
						    .last_exec = &rig->last_exec,
						    .may_leave_by_rule = true };
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
	for (size_t i = 0; i < rig->exec_count; i++)
		exec_sandbox_free(rig->execs[i].sandbox);
	command_rules_free(rig->rules);
	exec_sandbox_free(rig->sandbox);
	loop_free(rig->loop);
}

uint64_t rig_start(struct rig *rig)
{
	struct err why = { 0 };
	size_t before = rig->question_count + rig->exec_count + rig->result_count;
	uint64_t request = 0;
	int r = orchestrator_start(rig->orchestrator, &rig->request, &request, &why);

	ck_assert_msg(r == 0, "%s", why.text);
	/* Nothing is called inside. */
	ck_assert_uint_eq(rig->question_count + rig->exec_count + rig->result_count, before);
	loop_step(rig->loop);
	return request;
}

uint64_t rig_exec(struct rig *rig, const char *text)
{
	line_split(&line, text);
	rig->request.kind = ORCHESTRATOR_EXEC;
	rig->request.argv = line.argv;
	return rig_start(rig);
}

uint64_t rig_permission(struct rig *rig, const char *path, uint64_t exec)
{
	const struct orchestrator_access access = { .what = ORCHESTRATOR_WRITE_PATH, .name = path };
	struct orchestrator_request before = rig->request;

	rig->request.kind = ORCHESTRATOR_PERMISSIONS;
	rig->request.argv = NULL;
	rig->request.accesses = &access;
	rig->request.access_count = 1;
	rig->request.exec = exec;
	uint64_t request = rig_start(rig);

	rig->request = before;
	return request;
}

int rig_answer(struct rig *rig, size_t index, enum orchestrator_choice choice)
{
	const struct orchestrator_answer answer = { .choice = choice };
	struct err why = { 0 };
	size_t before = rig->exec_count + rig->result_count;
	int r = orchestrator_answer(rig->orchestrator, rig->questions[index].id,
				    rig->questions[index].client, &answer, &why);

	ck_assert_uint_eq(rig->exec_count + rig->result_count, before);
	ck_assert_msg(r == 0 || why.text[0], "an error says why");
	loop_step(rig->loop);
	return r;
}

int rig_decide(struct rig *rig, size_t index, enum orchestrator_decision decision)
{
	struct err why = { 0 };
	int r = orchestrator_decide(rig->orchestrator, rig->questions[index].id, decision,
				    "the program", "the program says so", &why);

	loop_step(rig->loop);
	return r;
}

int rig_end(struct rig *rig, size_t index, const struct orchestrator_outcome *outcome)
{
	int r = orchestrator_exec_ended(rig->orchestrator, rig->execs[index].number, outcome);

	loop_step(rig->loop);
	return r;
}

int rig_exit(struct rig *rig, size_t index, int status)
{
	return rig_end(rig, index,
		       &(struct orchestrator_outcome){
			       .end = EXEC_EXITED, .status = status, .output = &rig_output[0] });
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
		       &(struct orchestrator_outcome){ .end = EXEC_EXITED,
						       .status = 1,
						       .refusals = refusals,
						       .refusal_count = count,
						       .output = &rig_output[0] });
}

int rig_block(struct rig *rig, size_t index, enum orchestrator_network_kind kind, const char *host)
{
	const struct orchestrator_block block = {
		.kind = kind, .host = host, .protocol = "https", .port = 443
	};
	int r = orchestrator_network_record(rig->orchestrator, rig->execs[index].number, &block);

	loop_step(rig->loop);
	return r;
}

struct rig_question *rig_asked(struct rig *rig)
{
	ck_assert_uint_gt(rig->question_count, 0);
	return &rig->questions[rig->question_count - 1];
}

struct rig_started *rig_started(struct rig *rig)
{
	ck_assert_uint_gt(rig->exec_count, 0);
	return &rig->execs[rig->exec_count - 1];
}

struct rig_decided *rig_decided(struct rig *rig)
{
	ck_assert_uint_gt(rig->decided_count, 0);
	return &rig->decided[(rig->decided_count - 1) % RIG_MAX];
}

struct rig_result *rig_ended(struct rig *rig)
{
	ck_assert_uint_gt(rig->result_count, 0);
	return &rig->results[rig->result_count - 1];
}
