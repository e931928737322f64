#include "cli/view/program_asks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/orchestrator/orchestrator_judge.h"
#include "gateway/gateway_agent_question.h"
#include "gateway/gateway_decided.h"

#define ASKS_MAX    512 /* questions of one command, in all */
#define WAITING_MAX 256 /* processes that wait for one answer */
#define KEPT_MAX    256 /* answers for the session */
#define DENIED_MAX  16
/* A denial holds so long for equal programs: execvp(3) tries the same file again, by the name that
 * it has in the next folder of PATH. */
#define DENIED_MS  2000
#define RECORD_MAX 1024
#define SHOWN_MAX  (2 * GATEWAY_AGENT_TEXT_MAX) /* so that a cut is noticed */

/* A question, or an answer that is kept. */
struct program_ask {
	struct program_asks *asks;
	struct gateway_agent_asked *asked;
	struct loop_timer timer;
	struct orchestrator_judged *judged; /* the first one */
	char *rule;
	uint64_t ids[WAITING_MAX];
	size_t id_count;
	int64_t since_ms; /* asked; in `denied`: denied */
	TAILQ_ENTRY(program_ask) entry;
};
TAILQ_HEAD(program_ask_list, program_ask);

struct program_asks {
	struct program_asks_config config;
	struct program_ask_list open, allowed, denied;
	unsigned int count, allowed_count, denied_count;
};

static void ask_free(struct program_ask *ask)
{
	loop_timer_stop(&ask->timer);
	orchestrator_judge_copy_free(ask->judged);
	free(ask->rule);
	free(ask);
}

static bool is_same_file(const struct exec_program *left, const struct exec_program *right)
{
	return left->device == right->device && left->inode == right->inode &&
	       strcmp(left->path, right->path) == 0;
}

/* The #! line of a script may change while it is asked about. */
static bool is_same_program(const struct exec_program *left, const struct exec_program *right)
{
	return is_same_file(left, right) && !left->interpreter == !right->interpreter &&
	       (!left->interpreter || is_same_file(left->interpreter, right->interpreter));
}

static bool is_equal(const struct orchestrator_judged *left,
		     const struct orchestrator_judged *right)
{
	return is_same_program(left->program, right->program) &&
	       strcmp(left->cwd, right->cwd) == 0 && mem_is_same_list(left->argv, right->argv);
}

static struct program_ask *find(const struct program_ask_list *list,
				const struct orchestrator_judged *judged)
{
	struct program_ask *ask;

	TAILQ_FOREACH (ask, list, entry) {
		if (is_equal(ask->judged, judged))
			break;
	}
	return ask;
}

static void forget_denial(struct program_asks *asks)
{
	struct program_ask *oldest = TAILQ_FIRST(&asks->denied);

	TAILQ_REMOVE(&asks->denied, oldest, entry);
	asks->denied_count--;
	ask_free(oldest);
}

enum policy_action program_asks_know(struct program_asks *asks,
				     const struct orchestrator_judged *judged)
{
	int64_t since_ms = loop_now_ms(asks->config.loop) - DENIED_MS;

	while (asks->denied_count > 0 && TAILQ_FIRST(&asks->denied)->since_ms < since_ms)
		forget_denial(asks);
	if (find(&asks->allowed, judged))
		return POLICY_ALLOW;
	return find(&asks->denied, judged) ? POLICY_DENY : POLICY_ASK;
}

static void end(struct program_ask *ask, bool is_allowed, const char *how)
{
	const struct program_asks *asks = ask->asks;
	const struct program_answer answer = {
		.judged = ask->judged,
		.ids = ask->ids,
		.id_count = ask->id_count,
		.is_allowed = is_allowed,
		.how = how,
	};

	asks->config.done(&answer, asks->config.arg);
}

static int record(const struct program_ask *ask, bool is_allowed, enum policy_reason reason,
		  const struct approver_answer *by, const char *through)
{
	const struct program_asks_config *config = &ask->asks->config;
	auto_free char *shown = text_command_line(ask->judged->argv, RECORD_MAX);
	const struct gateway_decided decided = {
		.exec = config->exec,
		.kind = "program",
		.is_allowed = is_allowed,
		.reason = reason,
		.by = by ? by->by : NULL,
		.through = through,
		.shown = shown,
		.program = ask->judged->program->path,
		.rule = ask->rule,
		.words = by ? by->words : NULL,
		.waited_ms = loop_now_ms(config->loop) - ask->since_ms,
	};

	return gateway_decided(config->gateway, &decided);
}

/* A denial is kept for a moment, and an allow for the session; another one is freed. */
static void settle(struct program_ask *ask, bool is_allowed, bool is_kept)
{
	struct program_asks *asks = ask->asks;

	loop_timer_stop(&ask->timer);
	TAILQ_REMOVE(&asks->open, ask, entry);
	if (is_allowed && !is_kept)
		return ask_free(ask);
	TAILQ_INSERT_TAIL(is_allowed ? &asks->allowed : &asks->denied, ask, entry);
	asks->allowed_count += is_allowed;
	asks->denied_count += !is_allowed;
	ask->since_ms = loop_now_ms(asks->config.loop);
	if (asks->denied_count > DENIED_MAX)
		forget_denial(asks);
}

static int on_answer(const struct approver_answer *answer, const char *through, struct err *why,
		     void *arg)
{
	struct program_ask *ask = arg;
	struct program_asks *asks = ask->asks;
	bool is_allowed = answer->action == POLICY_ALLOW;
	bool is_kept = is_allowed && answer->scope == GATEWAY_SESSION;
	enum policy_reason reason = answer->is_abort ? POLICY_ABORTED
				    : !is_allowed    ? POLICY_DENIED_ONCE
				    : is_kept        ? POLICY_GRANTED_SESSION
						     : POLICY_GRANTED_ONCE;

	if (is_kept && (asks->allowed_count == KEPT_MAX || answer->width.for_s > 0))
		return err_set(why, -EINVAL, "%s",
			       answer->width.for_s > 0 ? "an answer about a program has no end"
						       : "too many answers are kept: allow once");
	if (record(ask, is_allowed, reason, answer, through) < 0)
		return err_set(why, -EIO, "the audit log cannot be written");
	auto_free char *how = mem_printf("%s by %s", is_allowed ? "allowed" : "denied", answer->by);

	ask->asked = NULL; /* the gateway ends it */
	end(ask, is_allowed, how);
	if (answer->is_abort)
		asks->config.on_abort(asks->config.arg);
	settle(ask, is_allowed, is_kept);
	return 0;
}

static void on_late(void *arg)
{
	struct program_ask *ask = arg;

	(void)record(ask, false, POLICY_PROMPT_TIMEOUT, NULL, NULL); /* it is a denial anyway */
	gateway_agent_retract(take(ask->asked), "was not answered in time");
	end(ask, false, "nobody answered the question in time");
	settle(ask, false, false);
}

static struct gateway_agent_asked *show(struct program_ask *ask,
					const struct command_verdict *verdict, bool may_keep)
{
	const struct program_asks_config *config = &ask->asks->config;
	auto_free char *command = text_command_line(ask->judged->argv, SHOWN_MAX);
	const struct orchestrator_judged *judged = ask->judged;
	struct gateway_agent_line lines[7] = {
		{ "command", command },
		{ "program", judged->program->path },
		{ "directory", judged->cwd },
		{ "rule", ask->rule },
	};
	size_t count = 4;

	if (judged->program->interpreter)
		lines[count++] =
			(struct gateway_agent_line){ "run by", judged->program->interpreter->path };
	if (verdict->because[0])
		lines[count++] = (struct gateway_agent_line){ "because", verdict->because };
	if (verdict->danger[0])
		lines[count++] = (struct gateway_agent_line){ "warning", verdict->danger };
	const struct gateway_agent_question question = {
		.kind = "program",
		.lines = lines,
		.line_count = count,
		.choices = GATEWAY_AGENT_ONCE | GATEWAY_AGENT_ABORT |
			   (may_keep ? GATEWAY_AGENT_SESSION : 0U),
		.left_ms = config->timeout_ms,
		.answer = on_answer,
		.arg = ask,
	};

	return gateway_agent_ask(config->gateway, &question);
}

enum policy_reason program_asks_add(struct program_asks *asks,
				    const struct orchestrator_judged *judged,
				    const struct command_verdict *verdict, bool may_keep)
{
	const struct program_asks_config *config = &asks->config;
	const char *rule = verdict->rule[0] ? verdict->rule : "the default: ask";
	struct program_ask *ask;

	/* A question that shows a rule of an older policy is another one. */
	TAILQ_FOREACH (ask, &asks->open, entry) {
		if (is_equal(ask->judged, judged) && strcmp(ask->rule, rule) == 0)
			break;
	}
	if (ask && ask->id_count < WAITING_MAX) {
		ask->ids[ask->id_count++] = judged->id;
		return POLICY_NONE;
	}
	if (!config->may_wait && !gateway_agent_is_attended(config->gateway))
		return POLICY_NO_APPROVER;
	if (ask || asks->count == ASKS_MAX)
		return POLICY_OVERLOADED;
	ask = mem_new(sizeof(*ask));
	ask->asks = asks;
	ask->judged = orchestrator_judge_copy(judged);
	ask->rule = mem_strdup(rule);
	ask->ids[ask->id_count++] = judged->id;
	ask->since_ms = loop_now_ms(config->loop);
	ask->asked = show(ask, verdict, may_keep);
	if (!ask->asked) {
		ask_free(ask);
		return POLICY_OVERLOADED;
	}
	asks->count++;
	TAILQ_INSERT_TAIL(&asks->open, ask, entry);
	loop_timer_start(config->loop, &ask->timer, config->timeout_ms, on_late, ask);
	return POLICY_NONE;
}

struct program_asks *program_asks_new(const struct program_asks_config *config)
{
	struct program_asks *asks = mem_new(sizeof(*asks));

	asks->config = *config;
	TAILQ_INIT(&asks->open);
	TAILQ_INIT(&asks->allowed);
	TAILQ_INIT(&asks->denied);
	return asks;
}

static void free_list(struct program_ask_list *list, const char *how)
{
	struct program_ask *ask;

	while ((ask = TAILQ_FIRST(list))) {
		TAILQ_REMOVE(list, ask, entry);
		gateway_agent_retract(ask->asked, how);
		ask_free(ask);
	}
}

void program_asks_free(struct program_asks *asks)
{
	if (!asks)
		return;
	free_list(&asks->open, "is over: the command has ended");
	free_list(&asks->allowed, NULL);
	free_list(&asks->denied, NULL);
	free(asks);
}
