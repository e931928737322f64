#include "agent/elsewhere.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/command/extra.h"
#include "agent/pending.h"
#include "agent/session/client.h"
#include "agent/session/session.h"
#include "agent/session/tell.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/exec_sandbox.h"
#include "gateway/gateway_agent_question.h"

/* Longer than the gateway shows, so that a cut is noticed. */
#define COMMAND_MAX (2 * GATEWAY_AGENT_TEXT_MAX)

struct page {
	struct gateway_agent_line *lines; /* their texts are owned */
	size_t count, room, bytes;
};

/* Takes @text, which is visible text. What the gateway would not show is left out; what it shows
 * says then that it is cut. */
static void put(struct page *page, const char *label, char *text)
{
	if (page->bytes > GATEWAY_AGENT_TEXT_MAX) {
		free(text);
		return;
	}
	page->bytes += strlen(text);
	page->lines = mem_reserve(page->lines, &page->room, page->count + 1, sizeof(*page->lines));
	page->lines[page->count++] = (struct gateway_agent_line){ label, text };
}

static void put_text(struct page *page, const char *label, const char *text)
{
	if (text && text[0])
		put(page, label, text_visible_dup(text));
}

static void put_list(struct page *page, const char *label, const char *const *list)
{
	for (; list && *list; list++)
		put_text(page, label, *list);
}

/* Each line of @text is a line of its own. Takes @text. */
static void put_lines(struct page *page, const char *label, char *text)
{
	auto_free char *whole = text;
	char *rest = whole;

	for (char *line; rest && (line = strsep(&rest, "\n")) != NULL;)
		put_text(page, label, line);
}

static void put_access(struct page *page, const struct orchestrator_access *access)
{
	static const char *const verbs[ORCHESTRATOR_CLASSES] = {
		[ORCHESTRATOR_WRITE_PATH] = "write",  [ORCHESTRATOR_READ_PATH] = "read",
		[ORCHESTRATOR_SOCKET] = "connect to", [ORCHESTRATOR_PROGRAM] = "run",
		[ORCHESTRATOR_SYSTEM_CALL] = "call",
	};

	if (access->what == ORCHESTRATOR_DESTINATION) {
		auto_free char *destination = extra_destination(access);

		return put(page, "access", mem_printf("reach %s", destination));
	}
	auto_free char *name = text_visible_dup(access->name);

	put(page, "access", mem_printf("%s %s", verbs[access->what], name));
}

/* Each change of a patch: its kind and files, and then its text. */
static void put_changes(struct page *page, const char *changes)
{
	json_auto_t *list = changes ? json_loads(changes, 0, NULL) : NULL;
	const json_t *change;
	size_t i;

	json_array_foreach(list, i, change)
	{
		const char *kind = "", *path = "", *move = NULL, *content = NULL, *diff = NULL;

		(void)json_unpack((json_t *)(uintptr_t)change, "{s:s, s:s, s?s, s?s, s?s}", "kind",
				  &kind, "path", &path, "move_path", &move, "content", &content,
				  "unified_diff", &diff);
		auto_free char *text =
			mem_printf("%s %s%s%s", kind, path, move ? " -> " : "", move ? move : "");

		put_text(page, "change", text);
		auto_free char *lines = mem_strdup(content ? content : diff ? diff : "");
		char *rest = lines;

		for (char *line; rest && (line = strsep(&rest, "\n")) != NULL;) {
			auto_free char *shown = text_visible_dup(line);

			put(page, "text", mem_printf("| %s", shown));
		}
	}
}

/* All that an allow grants comes first, and what others claim last. */
static void describe(struct page *page, const struct pending *pending,
		     const struct orchestrator_question *question)
{
	if (question->argv && question->argv[0])
		put(page, "command", text_command_line(question->argv, COMMAND_MAX));
	put_list(page, "variable", question->env);
	put_list(page, question->kind == ORCHESTRATOR_PATCH ? "file" : "item", question->keys);
	put_changes(page, question->changes);
	put_text(page, "program", question->program.path);
	put_text(page, "directory", question->cwd);
	if (question->kind == ORCHESTRATOR_EXEC && !question->is_confined)
		put(page, "sandbox", mem_strdup("NONE: it runs with all your rights"));
	if (question->is_confined && question->sandbox)
		put_lines(page, "sandbox", exec_sandbox_text(question->sandbox));
	for (size_t i = 0; i < question->access_count; i++)
		put_access(page, &question->accesses[i]);
	for (char *const *warned = pending->warned; warned && *warned; warned++)
		put(page, "warning", mem_printf("%s is a destination to be careful with", *warned));
	if (question->choices & BIT(ORCHESTRATOR_ALWAYS))
		put_list(page, "always", question->proposal);
	if (question->is_retry)
		put(page, "again", mem_strdup("it has run once, and was refused this"));
	put_text(page, "reason", question->reason);
	put_text(page, "it says", question->justification);
}

static unsigned int choices_of(const struct orchestrator_question *question)
{
	static const struct {
		enum orchestrator_choice ours;
		enum gateway_agent_choice theirs;
	} choices[] = {
		{ ORCHESTRATOR_ONCE, GATEWAY_AGENT_ONCE },
		{ ORCHESTRATOR_SESSION, GATEWAY_AGENT_SESSION },
		{ ORCHESTRATOR_ALWAYS, GATEWAY_AGENT_ALWAYS },
		{ ORCHESTRATOR_DENY_ALWAYS, GATEWAY_AGENT_DENY_ALWAYS },
		{ ORCHESTRATOR_ABORT, GATEWAY_AGENT_ABORT },
	};
	unsigned int out = 0;

	for (size_t i = 0; i < ARRAY_SIZE(choices); i++) {
		if (question->choices & BIT(choices[i].ours))
			out |= choices[i].theirs;
	}
	return out;
}

static enum orchestrator_choice choice_of(const struct approver_answer *answer)
{
	if (answer->is_abort)
		return ORCHESTRATOR_ABORT;
	if (answer->action != POLICY_ALLOW)
		return answer->scope == GATEWAY_ALWAYS ? ORCHESTRATOR_DENY_ALWAYS
						       : ORCHESTRATOR_DENY;
	return answer->scope == GATEWAY_ALWAYS    ? ORCHESTRATOR_ALWAYS
	       : answer->scope == GATEWAY_SESSION ? ORCHESTRATOR_SESSION
						  : ORCHESTRATOR_ONCE;
}

static void tell_answered(const struct pending *pending, const struct approver_answer *answer)
{
	json_t *event = tell_of_session(pending->session);
	auto_free char *how = mem_printf(
		"%s by %s", answer->action == POLICY_ALLOW ? "allowed" : "denied", answer->by);

	tell_add(event, "approval", tell_text(pending->id));
	tell_add(event, "message", tell_text(how));
	tell_send(pending->session->agent, TELL_APPROVAL_RESOLVED, event);
}

static int on_answer(const struct approver_answer *given, const char *through, struct err *why,
		     void *arg)
{
	struct pending *pending = arg;
	const struct orchestrator_answer answer = {
		.choice = choice_of(given),
		.expires_ms = given->width.for_s * 1000,
		.by = given->by,
		.through = through,
		.words = given->words,
	};
	int r = pending_answer(pending, &answer, why);

	if (r < 0)
		return r;
	pending->elsewhere = NULL; /* the gateway ends it */
	tell_answered(pending, given);
	pending_forget(pending->session->agent, pending);
	return 0;
}

void elsewhere_ask(struct pending *pending, const struct orchestrator_question *question)
{
	const struct agent *agent = pending->session->agent;
	struct page page = { 0 };

	if (!agent->gateway)
		return;
	describe(&page, pending, question);
	const struct gateway_agent_question asked = {
		.kind = pending_kind_words[question->kind],
		.lines = page.lines,
		.line_count = page.count,
		.choices = choices_of(question),
		.typed = pending->typed,
		.left_ms = question->deadline_ms - loop_now_ms(agent->loop),
		.answer = on_answer,
		.arg = pending,
	};

	pending->elsewhere = gateway_agent_ask(agent->gateway, &asked);
	for (size_t i = 0; i < page.count; i++)
		free((char *)(uintptr_t)page.lines[i].text); /* put() took them */
	free(page.lines);
}
