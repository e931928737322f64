/* Lines of a client, as they come: whatever they say, each is answered, in messages of JSON-RPC;
 * nothing starts without a gate; nothing that was asked about is approved without an answer
 * that approves it; and all of it is freed. In a line @ stands for the question asked last, whose
 * id nobody could guess. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/session/client.h"
#include "agent/rpc/rpc.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "exec/orchestrator/orchestrator.h"
#include "tests/fuzz/fuzz.h"

#define QUESTIONS_MAX 64
#define WAITING_MAX   8 /* looked at, of those who wait for one */
#define STARTED_MAX   256
#define ID_MAX        (6 * RPC_ID_MAX + 3) /* in the form of rpc_id_text() */

/* What the client has been told of a question. */
struct told_question {
	char id[ORCHESTRATOR_ID_MAX];
	char waiting[WAITING_MAX][ID_MAX];
	size_t waiting_count;
	bool is_approved;
};
static struct told {
	int out;
	size_t seen; /* bytes of it */
	size_t lines;
	struct told_question questions[QUESTIONS_MAX];
	size_t question_count;
	char started[STARTED_MAX][ID_MAX];
	size_t started_count;
	bool has_said_always;
} told;

static struct command_world *world_new(const char *cwd, const char *path, char *const *writable,
				       void *arg)
{
	return mem_new(sizeof(struct command_world));
}

static void world_free(struct command_world *world, void *arg)
{
	free(world);
}

static const char *own_path(struct command_world *world, void *arg)
{
	return "";
}

static void widen(char *const *paths, void *arg)
{
	for (char *const *path = paths; *path; path++)
		fuzz_must(**path == '/' && !strstr(*path, "/../"));
}

static int note_reach(char *const *paths, struct err *why, void *arg)
{
	return 0;
}

static char **reached(void *arg)
{
	return NULL;
}

static char **guarded(void *arg)
{
	return NULL;
}

static int store(const char *const *lines, struct err *why, void *arg)
{
	fuzz_must(told.has_said_always);
	return 0;
}

static void on_end(void *arg)
{
}

static const struct agent_host host = { world_new, world_free, own_path, note_reach, reached,
					widen,     guarded,    store,    on_end };

static const char *text_of(const json_t *event, const char *name)
{
	const char *text = json_string_value(json_object_get(event, name));

	return text ? text : "";
}

static struct told_question *find_question(const char *id)
{
	for (size_t i = told.question_count; i > 0; i--) {
		if (strcmp(told.questions[i - 1].id, id) == 0)
			return &told.questions[i - 1];
	}
	return NULL;
}

static void note_id(char *to, const json_t *id)
{
	auto_free char *text = rpc_id_text(id);

	fuzz_must(text != NULL);
	(void)snprintf(to, ID_MAX, "%s", text);
}

static void note_question(const json_t *event)
{
	const json_t *ids = json_object_get(event, "ids");
	struct told_question *question = find_question(text_of(event, "approval"));

	if (!question && told.question_count == QUESTIONS_MAX)
		return;
	if (!question)
		question = &told.questions[told.question_count++];
	*question = (struct told_question){ .waiting_count = 0 };
	(void)snprintf(question->id, sizeof(question->id), "%s", text_of(event, "approval"));
	for (size_t i = 0; i < json_array_size(ids) && i < WAITING_MAX; i++)
		note_id(question->waiting[question->waiting_count++], json_array_get(ids, i));
}

/* @is_reply: to an answer of the client's; else it is an end of another kind. */
static void note_answer(const json_t *event, bool is_reply)
{
	struct told_question *question = find_question(text_of(event, "approval"));
	const char *decision = text_of(event, "decision");

	if (!question)
		return;
	question->is_approved = is_reply && (strncmp(decision, "approved", 8) == 0 ||
					     strcmp(decision, "always") == 0);
	told.has_said_always |= strcmp(decision, "always") == 0;
}

static void note_started(const json_t *event)
{
	if (told.started_count < STARTED_MAX)
		note_id(told.started[told.started_count++], json_object_get(event, "id"));
}

/* A client that uses an id twice cannot know which of both it is told of. */
static bool is_one(const char *id)
{
	size_t count = 0;

	for (size_t i = 0; i < told.started_count; i++)
		count += strcmp(told.started[i], id) == 0;
	return count == 1 && told.started_count < STARTED_MAX;
}

static void check_complete(const json_t *result, const json_t *given)
{
	auto_free char *id = rpc_id_text(given);
	bool was_asked = false, is_approved = false;

	if (strcmp(text_of(result, "outcome"), "approved") != 0 || !is_one(id))
		return;
	for (size_t i = 0; i < told.question_count; i++) {
		const struct told_question *question = &told.questions[i];

		for (size_t j = 0; j < question->waiting_count; j++) {
			if (strcmp(question->waiting[j], id) != 0)
				continue;
			was_asked = true;
			is_approved |= question->is_approved;
		}
	}
	fuzz_must(!was_asked || is_approved);
}

static void check_event(const char *event, const json_t *params)
{
	fuzz_must(json_is_object(params) && strcmp(event, "exec_begin") != 0);
	if (strcmp(event, "approval_request") == 0 || strcmp(event, "approval_updated") == 0)
		note_question(params);
	else if (strcmp(event, "approval_resolved") == 0)
		note_answer(params, false);
	else if (strcmp(event, "task_started") == 0)
		note_started(params);
}

static void check_reply(const json_t *id, const json_t *result, const json_t *error)
{
	fuzz_must(json_is_object(result) != json_is_object(error));
	fuzz_must(json_is_string(id) || json_is_integer(id) || (error && json_is_null(id)));
	if (json_object_get(result, "decision"))
		note_answer(result, true);
	else if (json_object_get(result, "outcome"))
		check_complete(result, id);
}

static void check_line(const char *line, size_t len)
{
	json_t *message = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);

	for (size_t i = 0; i < len; i++)
		fuzz_must(line[i] >= ' ' && line[i] <= '~');
	fuzz_must(message && strcmp(text_of(message, "jsonrpc"), "2.0") == 0);
	if (json_object_get(message, "method"))
		check_event(text_of(message, "method"), json_object_get(message, "params"));
	else
		check_reply(json_object_get(message, "id"), json_object_get(message, "result"),
			    json_object_get(message, "error"));
	json_decref(message);
	told.lines++;
}

/* All that was told since; how many lines that was. */
static size_t hear(void)
{
	size_t before = told.lines, len = (size_t)lseek(told.out, 0, SEEK_END) - told.seen, at = 0;
	auto_free char *text = mem_new(len + 1);

	fuzz_must(pread(told.out, text, len, (off_t)told.seen) == (ssize_t)len);
	told.seen += len;
	while (at < len) {
		const char *end = memchr(text + at, '\n', len - at);

		fuzz_must(end != NULL);
		check_line(text + at, (size_t)(end - text) - at);
		at = (size_t)(end - text) + 1;
	}
	return told.lines - before;
}

/* @line with the last question's id in the place of each @. Owned. */
static char *fill(const char *line, size_t len, size_t *ret_len)
{
	const char *id = told.question_count ? told.questions[told.question_count - 1].id : "@";
	char *filled = mem_new(len * ORCHESTRATOR_ID_MAX + 1);

	*ret_len = 0;
	for (size_t i = 0; i < len; i++) {
		size_t more = line[i] == '@' ? strlen(id) : 1;

		memcpy(filled + *ret_len, line[i] == '@' ? id : &line[i], more);
		*ret_len += more;
	}
	return filled;
}

static void serve(struct agent *agent, const uint8_t *bytes, size_t len)
{
	const char *at = (const char *)bytes, *end = at + len;

	while (at < end && !agent->is_gone) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t line_len = (size_t)((stop ? stop : end) - at), filled_len;
		auto_free char *line = fill(at, line_len, &filled_len);

		rpc_hear(agent->rpc, line, filled_len);
		while (hear() == 0) /* another process looks at what it names */
			loop_step(agent->loop);
		/* Often many come before anything is done. */
		if (line_len % 3 > 0)
			loop_step(agent->loop);
		(void)hear();
		at += line_len + 1;
	}
}

static const char hello[] =
	"{\"jsonrpc\":\"2.0\",\"id\":\"hello\",\"method\":\"initialize\",\"params\":{"
	"\"protocol_version\":2}}";

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct loop *loop = loop_new_fake();
	struct err why = { 0 };

	told = (struct told){ .out = memfd_create("told", MFD_CLOEXEC) };
	fuzz_must(null >= 0 && told.out >= 0);
	const struct agent_config config = {
		.loop = loop,
		.in = null,
		.out = told.out,
		.id = "fuzz",
		.version = "1",
		.cwd = "/work",
		.host = &host,
		.may_unconfine = len % 2 == 1,
	};
	struct agent *agent = agent_new(&config, &why);

	fuzz_must(agent != NULL);
	rpc_hear(agent->rpc, hello, strlen(hello));
	fuzz_must(agent->is_initialized);
	serve(agent, bytes, len);
	loop_step(loop);
	/* Nobody answers any more. */
	loop_advance(loop, ORCHESTRATOR_QUESTION_MS);
	(void)hear();
	fuzz_must(agent->last_exec == 0);
	agent_free(agent);
	loop_free(loop);
	close(null);
	close(told.out);
	return 0;
}
