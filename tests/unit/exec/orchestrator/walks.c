/* Random walks: whatever is asked, answered, denied, late, double or broken, nothing runs less
 * confined than the last explicit answer allowed. The model knows rules, requests and answers, and
 * nothing of how the orchestrator decides. SALLYPORT_SEED is one more seed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "exec/orchestrator/judging/access.h"
#include "tests/unit/exec/orchestrator/rig.h"
#include "tests/unit/exec/words.h"

#define WALKS        2400
#define STEPS        60
#define STEP_MS      1000
#define REQUESTS_MAX 64
#define ASKS_MAX     256

static uint64_t dice;
static uint32_t roll(uint32_t sides)
{
	/* splitmix64 */
	uint64_t z = (dice += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)((z ^ (z >> 31)) % sides);
}

/* What the rules say of each command: first with one file of rules, then with the other. */
enum says { NOTHING, ALLOWS, UNCONFINES, ASKS, DENIES };
static const char *const rules_text[] = {
	"allow git\nallow npm unconfined\nask make\ndeny rm",
	"allow git\nallow npm\nask make\ndeny rm\ndeny cargo",
};
static const struct {
	const char *line;
	enum says says[2];
} commands[] = {
	{ "cargo build", { NOTHING, DENIES } }, { "git status", { ALLOWS, ALLOWS } },
	{ "npm ci", { UNCONFINES, ALLOWS } },   { "make all", { ASKS, ASKS } },
	{ "rm x", { DENIES, DENIES } },         { "mytool x", { NOTHING, NOTHING } },
	{ "make some", { ASKS, ASKS } },        { "mytool y", { NOTHING, NOTHING } },
};
static const struct {
	enum exec_mode mode;
	enum exec_network network;
	const char *denied;
	bool is_open;
} bases[] = {
	{ EXEC_MODE_WORKSPACE_WRITE, EXEC_NETWORK_RESTRICTED, NULL, false },
	{ EXEC_MODE_READ_ONLY, EXEC_NETWORK_RESTRICTED, "/etc/key", false },
	{ EXEC_MODE_FULL_ACCESS, EXEC_NETWORK_ENABLED, NULL, true },
	{ EXEC_MODE_EXTERNAL, EXEC_NETWORK_RESTRICTED, NULL, false },
};
static const struct orchestrator_access wanted[] = {
	{ ORCHESTRATOR_WRITE_PATH, "/etc/x", NULL, 0 },
	{ ORCHESTRATOR_READ_PATH, "/etc/key/a", NULL, 0 },
	{ ORCHESTRATOR_SOCKET, "/run/s", NULL, 0 },
	{ ORCHESTRATOR_DESTINATION, "a.test", "https", 443 },
	{ ORCHESTRATOR_PROGRAM, "/opt/p", NULL, 0 },
	{ ORCHESTRATOR_SYSTEM_CALL, "ptrace", NULL, 0 },
};
#define GRANTABLE 5

/* What a request may run as, so far as anybody has said. */
struct leave {
	bool is_confined_fine, is_open_fine;
	struct exec_sandbox *sandbox;
	struct access_list accesses;
};
struct walker_request {
	uint64_t number, running;
	size_t command, base, access;
	enum orchestrator_confinement confinement;
	bool is_question_only, is_one_shot, is_over, was_answered_since, is_for_session,
		is_cancelled, is_decided, is_allowed, is_decided_confined;
	size_t execs;
	struct leave leave;
};
struct walker_ask {
	char id[ORCHESTRATOR_ID_MAX];
	size_t decider;
	uint64_t client, requests[REQUESTS_MAX];
	size_t request_count;
	bool is_run, is_retry, is_one_shot, is_confined, is_open;
	unsigned int choices;
	struct leave leave; /* that a plain "yes" gives */
};
/* "For this session", as it was said. */
struct memory {
	size_t command, base;
	bool is_open;
	int64_t ends_ms; /* 0: never */
	struct exec_sandbox *sandbox;
};

static struct walker {
	struct loop *loop;
	struct orchestrator *orchestrator;
	struct orchestrator_config config;
	uint64_t last_exec;
	struct orchestrator_decider hook;
	struct command_rules *rules[2];
	struct exec_sandbox *bases[ARRAY_SIZE(bases)];
	size_t rules_now;
	struct walker_request requests[REQUESTS_MAX];
	struct walker_ask asks[ASKS_MAX];
	struct memory memories[REQUESTS_MAX];
	size_t request_count, ask_count, memory_count;
	uint64_t store;
	size_t attempts_seen, results_seen;
} w;

static void leave_drop(struct leave *leave)
{
	exec_sandbox_free(leave->sandbox);
	access_done(&leave->accesses);
	*leave = (struct leave){ 0 };
}

static void leave_copy(struct leave *to, const struct leave *from)
{
	leave_drop(to);
	*to = *from;
	to->sandbox = from->sandbox ? exec_sandbox_copy(from->sandbox) : NULL;
	to->accesses = (struct access_list){ 0 };
	for (size_t i = 0; i < from->accesses.count; i++)
		access_add(&to->accesses, &from->accesses.list[i]);
}

static struct walker_request *find_request(uint64_t number)
{
	for (size_t i = 0; i < w.request_count; i++) {
		if (w.requests[i].number == number)
			return &w.requests[i];
	}
	return NULL;
}

static void write_ask(struct walker_ask *ask, const struct orchestrator_question *question)
{
	ck_assert_int_ne(w.config.mode, ORCHESTRATOR_NEVER);
	ck_assert_int_gt(question->deadline_ms, loop_now_ms(w.loop));
	ck_assert(!question->is_retry || question->is_one_shot);
	(void)snprintf(ask->id, sizeof(ask->id), "%s", question->id);
	ask->client = question->client;
	ask->is_run = question->is_retry || question->kind == ORCHESTRATOR_EXEC;
	ask->is_retry = question->is_retry;
	ask->is_one_shot = question->is_one_shot;
	ask->is_confined = question->is_confined;
	ask->choices = question->choices;
	ask->request_count = question->request_count;
	memcpy(ask->requests, question->requests,
	       question->request_count * sizeof(*question->requests));
	leave_drop(&ask->leave);
	ask->leave.is_confined_fine = true;
	ask->leave.is_open_fine = !question->is_confined;
	ask->leave.sandbox = question->sandbox ? exec_sandbox_copy(question->sandbox) : NULL;
	for (size_t i = 0; i < question->access_count; i++)
		access_add(&ask->leave.accesses, &question->accesses[i]);
}

static int add_ask(size_t decider, const struct orchestrator_question *question)
{
	ck_assert_uint_lt(w.ask_count, ASKS_MAX);
	struct walker_ask *ask = &w.asks[w.ask_count++];

	*ask = (struct walker_ask){ .decider = decider, .is_open = true };
	write_ask(ask, question);
	return roll(40) == 0 ? -EPIPE : 0;
}

static int on_ask(const struct orchestrator_question *question, void *arg)
{
	return add_ask(RIG_PERSON, question);
}

static int on_decide(size_t decider, const struct orchestrator_question *question, void *arg)
{
	return add_ask(decider, question);
}

static void on_changed(const struct orchestrator_question *question, void *arg)
{
	for (size_t i = 0; i < w.ask_count; i++) {
		if (strcmp(w.asks[i].id, question->id) == 0)
			write_ask(&w.asks[i], question);
	}
}

static void on_retract(const char *id, const char *why, void *arg)
{
}

static bool is_remembered(const struct walker_request *request,
			  const struct orchestrator_exec *exec)
{
	for (size_t i = 0; i < w.memory_count; i++) {
		const struct memory *memory = &w.memories[i];

		if (memory->command == request->command && memory->base == request->base &&
		    memory->is_open == !exec->is_confined &&
		    (memory->ends_ms == 0 || loop_now_ms(w.loop) < memory->ends_ms) &&
		    words_equal(memory->sandbox, exec->sandbox))
			return true;
	}
	return false;
}

static void forget_all(void)
{
	for (size_t i = 0; i < w.memory_count; i++)
		exec_sandbox_free(w.memories[i].sandbox);
	w.memory_count = 0;
}

/* What may run though nobody was asked. */
static bool is_fine_unasked(const struct walker_request *request,
			    const struct orchestrator_exec *exec)
{
	enum says says = commands[request->command].says[w.rules_now];
	bool is_open = !exec->is_confined;

	if (request->is_one_shot || says == ASKS ||
	    (w.config.mode == ORCHESTRATOR_UNTRUSTED && says == NOTHING))
		return is_remembered(request, exec) && !request->is_one_shot;
	if (is_open)
		return bases[request->base].is_open ||
		       (says == UNCONFINES && !bases[request->base].denied) ||
		       is_remembered(request, exec);
	return true;
}

static void check_leave(const struct walker_request *request, const struct orchestrator_exec *exec)
{
	const struct leave *leave = &request->leave;

	if (!exec->is_confined) {
		ck_assert_msg(leave->is_open_fine, "%s runs unconfined",
			      commands[request->command].line);
		return;
	}
	ck_assert_msg(leave->is_confined_fine, "%s runs", commands[request->command].line);
	ck_assert_msg(exec_sandbox_covers(leave->sandbox, exec->sandbox), "%s runs less confined",
		      commands[request->command].line);
	for (size_t i = 0; i < exec->access_count; i++) {
		const struct orchestrator_access *access = &exec->accesses[i];

		ck_assert_msg(access_has(&leave->accesses, access), "%s was not granted",
			      access->name);
	}
}

/* Written down before it counts, or it does not. */
static int on_decided(const struct orchestrator_decided *decided, void *arg)
{
	struct walker_request *request = find_request(decided->request);

	ck_assert_ptr_nonnull(request);
	request->is_allowed = decided->is_allowed;
	request->is_decided = true;
	request->is_decided_confined = decided->is_confined;
	if (roll(60) != 0)
		return 0;
	request->is_allowed = false;
	return -EIO;
}

static int on_start(const struct orchestrator_exec *exec, struct err *why, void *arg)
{
	struct walker_request *request = find_request(exec->request);

	ck_assert_ptr_nonnull(request);
	ck_assert(!request->is_question_only && !request->is_over && request->running == 0);
	ck_assert(!request->is_cancelled);
	ck_assert(request->is_allowed && request->is_decided_confined == exec->is_confined);
	request->is_allowed = false;
	w.attempts_seen++;
	request->execs++;
	ck_assert_uint_le(request->execs, 2);
	ck_assert(exec->is_retry == (request->execs == 2));
	ck_assert_int_ne(commands[request->command].says[w.rules_now], DENIES);
	if (bases[request->base].denied)
		ck_assert_int_eq(exec_sandbox_access(exec->sandbox, "/etc/key/a"), EXEC_DENY);
	if (request->was_answered_since) {
		check_leave(request, exec);
	} else {
		ck_assert_uint_eq(request->execs, 1);
		ck_assert_msg(is_fine_unasked(request, exec),
			      "%s runs unasked: mode %d, base %zu, wish %d, open %d, one-shot %d",
			      commands[request->command].line, w.config.mode, request->base,
			      request->confinement, !exec->is_confined, request->is_one_shot);
		if (exec->is_confined)
			ck_assert(words_equal(exec->sandbox, w.bases[request->base]));
		ck_assert_uint_eq(exec->access_count, 0);
	}
	/* "Once" is not handed on as more. */
	ck_assert(!exec->is_for_session ||
		  (request->was_answered_since && request->is_for_session));
	request->was_answered_since = false;
	request->running = exec->number;
	if (roll(30) == 0) {
		request->running = 0;
		return err_set(why, -EPERM, "no sandbox");
	}
	return 0;
}

static void on_stop(uint64_t number, const char *why, void *arg)
{
}
static void on_pause(uint64_t number, bool is_paused, void *arg)
{
}
static int on_store(uint64_t number, const char *const *lines, void *arg)
{
	w.store = number;
	return roll(4) == 0 ? -EROFS : 0;
}
static void on_done(const struct orchestrator_result *result, void *arg)
{
	struct walker_request *request = find_request(result->request);

	ck_assert_ptr_nonnull(request);
	ck_assert(!request->is_over && request->running == 0);
	ck_assert(request->is_decided);
	request->is_over = true;
	w.results_seen++;
	ck_assert_uint_eq(result->exec_count, request->execs);
}

static const struct orchestrator_ops ops = { .ask = on_ask,
					     .changed = on_changed,
					     .retract = on_retract,
					     .decide = on_decide,
					     .decided = on_decided,
					     .start = on_start,
					     .stop = on_stop,
					     .pause = on_pause,
					     .store = on_store };

/* --- What may happen --- */

static void step_start(void)
{
	static struct line line;
	struct walker_request *request = &w.requests[w.request_count];
	struct err why = { 0 };

	if (w.request_count == REQUESTS_MAX)
		return;
	*request = (struct walker_request){ .command = roll(ARRAY_SIZE(commands)),
					    .base = roll(ARRAY_SIZE(bases)),
					    .confinement = roll(3),
					    .access = roll(GRANTABLE) };
	/* What is remembered shows when the same, or nearly the same, is asked for again. */
	if (w.request_count > 0 && roll(2) == 0) {
		const struct walker_request *earlier = &w.requests[roll((uint32_t)w.request_count)];

		request->command = earlier->command;
		request->base = earlier->base;
		request->confinement = roll(4) == 0 ? request->confinement : earlier->confinement;
	}
	struct orchestrator_request to = {
		.kind = ORCHESTRATOR_EXEC,
		.client = 1 + roll(2),
		.cwd = "/work",
		.world = &world,
		.sandbox = w.bases[request->base],
		.confinement = request->confinement,
		.may_retry = roll(5) > 0,
		.on_denial = roll(3),
		.done = on_done,
	};

	line_split(&line, commands[request->command].line);
	to.argv = line.argv;
	if (to.confinement == ORCHESTRATOR_WITH_ACCESS) {
		to.accesses = &wanted[request->access];
		to.access_count = 1;
	}
	if (roll(6) == 0) {
		request->is_one_shot = to.is_one_shot = true;
	}
	if (roll(5) == 0) {
		request->is_question_only = true;
		to.kind = ORCHESTRATOR_PERMISSIONS;
		to.accesses = &wanted[3];
		to.access_count = 1;
	}
	int r = orchestrator_start(w.orchestrator, &to, &request->number, &why);

	ck_assert_msg(r == 0, "%s", why.text);
	w.request_count++;
}

/* It was said: from now on it counts, for all who wait. */
static void note_answer(struct walker_ask *ask, enum orchestrator_choice choice, int64_t ends_ms)
{
	/* One about a destination names requests, but is not what they wait for. */
	for (size_t i = 0; ask->is_run && i < ask->request_count; i++) {
		struct walker_request *request = find_request(ask->requests[i]);

		if (!request || request->is_over || request->is_question_only || request->running)
			continue;
		request->was_answered_since = true;
		request->is_for_session =
			choice == ORCHESTRATOR_SESSION || choice == ORCHESTRATOR_ALWAYS;
		if (choice == ORCHESTRATOR_UNCONFINED) {
			leave_drop(&request->leave);
			request->leave.is_open_fine = true;
		} else if (choice == ORCHESTRATOR_ONCE || choice == ORCHESTRATOR_SESSION ||
			   choice == ORCHESTRATOR_ALWAYS) {
			struct access_list had = request->leave.accesses;

			/* A retry keeps what the first exec was granted by name. */
			request->leave.accesses = (struct access_list){ 0 };
			leave_copy(&request->leave, &ask->leave);
			for (size_t j = 0; ask->is_retry && j < had.count; j++)
				access_add(&request->leave.accesses, &had.list[j]);
			access_done(&had);
		} else {
			leave_drop(&request->leave);
		}
		if (choice == ORCHESTRATOR_SESSION && !ask->is_retry &&
		    w.memory_count < REQUESTS_MAX)
			w.memories[w.memory_count++] =
				(struct memory){ request->command, request->base, !ask->is_confined,
						 ends_ms, exec_sandbox_copy(ask->leave.sandbox) };
	}
}

static void answer(struct walker_ask *ask, enum orchestrator_choice choice, uint64_t client)
{
	const struct orchestrator_answer given = { .choice = choice,
						   .expires_ms = roll(3) == 0 ? 500 : 0 };
	/* It counts from when it is looked at, which is in this step or the next. */
	int64_t ends_ms = given.expires_ms ? loop_now_ms(w.loop) + given.expires_ms + STEP_MS : 0;
	struct err why = { 0 };
	int r = orchestrator_answer(w.orchestrator, ask->id, client, &given, &why);

	if (r == 0) {
		ck_assert(ask->is_open && ask->decider == RIG_PERSON && client == ask->client);
		ck_assert(ask->choices & BIT(choice));
		ck_assert(choice != ORCHESTRATOR_UNCONFINED || w.config.may_unconfine);
		ask->is_open = false;
		note_answer(ask, choice, ends_ms);
	} else {
		ck_assert_str_ne(why.text, "");
	}
}

/* Any question that ever was, with any answer. */
static void step_answer(void)
{
	if (w.ask_count == 0)
		return;
	struct walker_ask *ask = &w.asks[w.ask_count - 1 - roll(w.ask_count < 4 ? w.ask_count : 4)];

	if (roll(6) == 0)
		ask = &w.asks[roll(w.ask_count)];
	answer(ask, roll(2) ? ORCHESTRATOR_ONCE : roll(ORCHESTRATOR_UNCONFINED + 1),
	       roll(10) == 0 ? 3 : ask->client);
}

static void decide(struct walker_ask *ask, enum orchestrator_decision decision)
{
	struct err why = { 0 };
	int r = orchestrator_decide(w.orchestrator, ask->id, decision, "", "", &why);

	if (r != 0)
		return;
	ck_assert(ask->is_open && ask->decider != RIG_PERSON);
	ask->is_open = false;
	/* All that a program's word can do: the first run, in the sandbox. */
	bool is_open_base = ask->is_confined;

	for (size_t i = 0; i < ask->request_count && !is_open_base; i++) {
		const struct walker_request *request = find_request(ask->requests[i]);

		is_open_base = request && bases[request->base].is_open;
	}
	if (decision == ORCHESTRATOR_DECIDES_ALLOW && !ask->is_one_shot && is_open_base)
		note_answer(ask, ORCHESTRATOR_ONCE, 0);
}

static void step_decide(void)
{
	if (w.ask_count > 0)
		decide(&w.asks[w.ask_count - 1 - roll(w.ask_count < 4 ? w.ask_count : 4)], roll(5));
}

static void end(struct walker_request *request, const struct orchestrator_outcome *outcome)
{
	uint64_t number = request->running;

	request->running = 0;
	ck_assert_int_eq(orchestrator_exec_ended(w.orchestrator, number, outcome), 0);
	ck_assert_int_eq(orchestrator_exec_ended(w.orchestrator, number, outcome), -ENOENT);
}

static struct walker_request *any_running(void)
{
	size_t from = w.request_count ? roll((uint32_t)w.request_count) : 0;

	for (size_t i = 0; i < w.request_count; i++) {
		struct walker_request *request = &w.requests[(from + i) % w.request_count];

		if (request->running)
			return request;
	}
	return NULL;
}

static void step_end(void)
{
	struct orchestrator_refusal refusals[4];
	struct orchestrator_outcome outcome = { .end = EXEC_EXITED,
						.status = roll(4) > 0,
						.refusals = refusals };
	struct walker_request *request = any_running();

	if (!request)
		return;
	if (roll(8) == 0)
		outcome.end = roll(EXEC_KILLED + 1);
	outcome.refusal_count = roll(ARRAY_SIZE(refusals) + 1);
	for (size_t i = 0; i < outcome.refusal_count; i++)
		refusals[i] = (struct orchestrator_refusal){
			.access = wanted[roll(ARRAY_SIZE(wanted))],
			.is_final = roll(8) == 0,
		};
	outcome.is_deferred = roll(10) == 0;
	end(request, &outcome);
}

static void step_block(void)
{
	const struct walker_request *request = any_running();
	const struct orchestrator_block block = { .kind = 1 + roll(3),
						  .host = roll(2) ? "a.test" : "b.test",
						  .protocol = "https",
						  .port = 443 };

	if (request)
		(void)orchestrator_network_record(w.orchestrator, request->running, &block);
}

static void step_cancel(void)
{
	if (w.request_count == 0)
		return;
	struct walker_request *request = &w.requests[roll((uint32_t)w.request_count)];

	if (orchestrator_cancel(w.orchestrator, request->number) == 0)
		request->is_cancelled = true;
}

static void revoke(const struct orchestrator_approval *approval, void *arg)
{
	(void)snprintf(arg, ORCHESTRATOR_ID_MAX, "%s", approval->id);
}

static void step_rare(void)
{
	char id[ORCHESTRATOR_ID_MAX] = "";

	switch (roll(7)) {
	case 0:
		w.rules_now = 1 - w.rules_now;
		orchestrator_set_rules(w.orchestrator, w.rules[w.rules_now]);
		return;
	case 1:
		loop_advance(w.loop, roll(4) == 0 ? ORCHESTRATOR_QUESTION_MS : STEP_MS);
		return;
	case 2:
		(void)orchestrator_client_gone(w.orchestrator, 1 + roll(2));
		return;
	case 3:
		step_cancel();
		return;
	case 4:
		(void)orchestrator_stored(w.orchestrator, w.store, roll(2) ? 0 : -EIO);
		return;
	default:
		/* What was answered is remembered by then. */
		loop_step(w.loop);
		do {
			id[0] = '\0';
			orchestrator_approvals(w.orchestrator, revoke, id);
		} while (id[0] && orchestrator_revoke(w.orchestrator, id) == 0);
		forget_all();
		return;
	}
}

static void open_walk(uint64_t seed)
{
	static const enum orchestrator_mode modes[] = { ORCHESTRATOR_UNTRUSTED,
							ORCHESTRATOR_ON_REQUEST,
							ORCHESTRATOR_ON_FAILURE,
							ORCHESTRATOR_GRANULAR, ORCHESTRATOR_NEVER };
	struct err why = { 0 };

	dice = seed;
	w = (struct walker){ .loop = loop_new_fake() };
	for (size_t i = 0; i < 2; i++)
		w.rules[i] = rules_of(rules_text[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bases); i++)
		w.bases[i] = rig_sandbox(bases[i].mode, bases[i].network, bases[i].denied);
	w.hook = (struct orchestrator_decider){ .name = "hook",
						.kinds = roll(1 << ORCHESTRATOR_KINDS),
						.is_reviewer = roll(2) };
	w.config = (struct orchestrator_config){ .ops = &ops,
						 .last_exec = &w.last_exec,
						 .mode = modes[roll(ARRAY_SIZE(modes))],
						 .categories = roll(ORCHESTRATOR_MAY_ASK_ALL + 1),
						 .rules = w.rules[0],
						 .may_unconfine = roll(2),
						 .deciders = &w.hook,
						 .decider_count = roll(2) };
	w.orchestrator = orchestrator_new(w.loop, &w.config, &why);
	ck_assert_ptr_nonnull(w.orchestrator);
}

/* Everything comes to an end, once. */
static void finish_walk(void)
{
	for (size_t i = 0; i < 4 * REQUESTS_MAX && w.results_seen < w.request_count; i++) {
		for (size_t j = 0; j < w.request_count; j++) {
			if (w.requests[j].running)
				end(&w.requests[j], &(struct orchestrator_outcome){ 0 });
		}
		loop_advance(w.loop, ORCHESTRATOR_QUESTION_MS);
	}
	ck_assert_uint_eq(w.results_seen, w.request_count);
}

static void close_walk(void)
{
	orchestrator_free(w.orchestrator);
	forget_all();
	for (size_t i = 0; i < w.request_count; i++)
		leave_drop(&w.requests[i].leave);
	for (size_t i = 0; i < w.ask_count; i++)
		leave_drop(&w.asks[i].leave);
	for (size_t i = 0; i < 2; i++)
		command_rules_free(w.rules[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bases); i++)
		exec_sandbox_free(w.bases[i]);
	loop_free(w.loop);
}

static size_t total_attempts, total_retries;
static void walk(uint64_t seed)
{
	open_walk(seed);
	for (size_t i = 0; i < STEPS; i++) {
		uint32_t what = roll(100);

		if (what < 25)
			step_start();
		else if (what < 55)
			step_answer();
		else if (what < 65)
			step_decide();
		else if (what < 85)
			step_end();
		else if (what < 90)
			step_block();
		else
			step_rare();
		/* Often nothing happens in between: answers cross what they are answers to. */
		if (roll(3) > 0)
			loop_step(w.loop);
	}
	finish_walk();
	total_attempts += w.attempts_seen;
	for (size_t i = 0; i < w.request_count; i++)
		total_retries += w.requests[i].execs == 2;
	close_walk();
}

START_TEST(never_less_confined)
{
	const char *seed = getenv("SALLYPORT_SEED");

	for (uint64_t i = 0; i < WALKS / 4; i++)
		walk(i * 4 + (uint64_t)_i);
	if (seed)
		walk(strtoull(seed, NULL, 0));
	/* The walks go somewhere. */
	ck_assert_uint_gt(total_attempts, WALKS / 4);
	ck_assert_uint_gt(total_retries, WALKS / 100);
}
END_TEST

TCase *walks_cases(void)
{
	TCase *cases = tcase_create("walks");

	tcase_set_timeout(cases, 120);
	tcase_add_loop_test(cases, never_less_confined, 0, 4);
	return cases;
}
