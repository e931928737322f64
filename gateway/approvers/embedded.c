#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/table.h"
#include "gateway/gateway_agent.h"
#include "gateway/link/keys.h"

/* A question as the program knows it. It is described at the time it is told, because it may have
 * changed or ended by then. */
struct embedded_question {
	struct key_node node; /* by the number in its id, while it is open */
	char id[APPROVER_ID_MAX];
	bool was_told, has_news, is_over;
	enum policy_action action; /* how it ended, once it is over */
	enum policy_reason reason;
	char *by, *how;
	TAILQ_ENTRY(embedded_question) entry; /* while it has news */
};

/* The program that holds the gateway in its own process. It is told everything from the loop and in
 * order, because a question may end inside one of the program's own calls. */
struct approver {
	struct gateway *gw;
	struct loop *loop;
	const struct gateway_embedded *program;
	struct key_table open;
	TAILQ_HEAD(embedded_queue, embedded_question) news;
	struct loop_timer task;
	bool is_away;
};

/* The number in "7f3a-12"; 0: not an id. */
static uint64_t embedded_number(const char *id)
{
	const char *dash = strrchr(id, '-');
	uint64_t number;

	if (!dash || text_to_u64(dash + 1, strlen(dash + 1), UINT64_MAX, &number) < 0)
		return 0;
	return number;
}

static struct embedded_question *embedded_find(const struct approver *self, const char *id)
{
	struct key_node *node = keys_find(&self->open, embedded_number(id), NULL);

	return node ? container_of(node, struct embedded_question, node) : NULL;
}

/* @question must be in no table. */
static void embedded_question_free(struct approver *self, struct embedded_question *question)
{
	if (question->has_news)
		TAILQ_REMOVE(&self->news, question, entry);
	free(question->by);
	free(question->how);
	free(question);
}

static void embedded_tell_open(struct approver *self, struct embedded_question *known)
{
	void (*told)(const struct approver_question *, void *) =
		known->was_told ? self->program->on_update : self->program->on_question;
	struct approver_question question;

	if (gateway_find_question(self->gw, known->id, &question) < 0)
		return;
	known->was_told = true;
	if (told)
		told(&question, self->program->arg); /* may answer: @known may be freed */
}

static void embedded_tell_end(struct approver *self, struct embedded_question *known)
{
	const struct approver_end end = { known->id, known->action, known->reason, known->by,
					  known->how };

	if (self->program->on_retract)
		self->program->on_retract(&end, self->program->arg);
	embedded_question_free(self, known);
}

static void embedded_turn(void *arg);

static void embedded_has_news(struct approver *self, struct embedded_question *question)
{
	if (!question->has_news)
		TAILQ_INSERT_TAIL(&self->news, question, entry);
	question->has_news = true;
	if (!self->task.is_armed)
		loop_defer(self->loop, &self->task, embedded_turn, self);
}

/* News that the program causes meanwhile waits for the next round. */
static void embedded_turn(void *arg)
{
	struct approver *self = arg;
	struct embedded_question *question;
	unsigned int budget = 0;

	TAILQ_FOREACH (question, &self->news, entry)
		budget++;
	while (budget-- > 0 && (question = TAILQ_FIRST(&self->news))) {
		TAILQ_REMOVE(&self->news, question, entry);
		question->has_news = false;
		if (question->is_over)
			embedded_tell_end(self, question);
		else
			embedded_tell_open(self, question);
	}
	if (!TAILQ_EMPTY(&self->news) && !self->task.is_armed)
		loop_defer(self->loop, &self->task, embedded_turn, self);
}

static void embedded_ask(struct approver *self, const struct approver_question *question)
{
	uint64_t number = embedded_number(question->id);

	if (number == 0 || embedded_find(self, question->id))
		return;
	struct embedded_question *known = mem_new(sizeof(*known));

	memcpy(known->id, question->id, sizeof(known->id));
	keys_add(&self->open, &known->node, number, NULL);
	embedded_has_news(self, known);
}

static void embedded_changed(struct approver *self, const struct approver_question *question)
{
	struct embedded_question *known = embedded_find(self, question->id);

	if (known)
		embedded_has_news(self, known);
}

/* If the program was never told of the question, it is not told of its end. */
static void embedded_retract(struct approver *self, const struct approver_end *end)
{
	struct embedded_question *known = embedded_find(self, end->id);

	if (!known)
		return;
	keys_remove(&self->open, &known->node);
	if (!known->was_told) {
		embedded_question_free(self, known);
		return;
	}
	known->is_over = true;
	known->action = end->action;
	known->reason = end->reason;
	known->by = mem_strdup(end->by ? end->by : "");
	known->how = mem_strdup(end->how ? end->how : "");
	embedded_has_news(self, known);
}

static bool embedded_is_attached(const struct approver *self)
{
	return !self->is_away;
}

static void embedded_close(struct approver *self)
{
	struct embedded_question *question;
	struct key_node *node;

	if (!self)
		return;
	loop_timer_stop(&self->task);
	while ((node = keys_pop(&self->open)))
		embedded_question_free(self, container_of(node, struct embedded_question, node));
	while ((question = TAILQ_FIRST(&self->news)))
		embedded_question_free(self, question);
	keys_done(&self->open);
	free(self);
}

static struct approver *embedded_open(struct gateway *gw, struct loop *loop,
				      const struct gateway_config *config, struct err *why)
{
	if (!config->embedded || !config->embedded->on_question)
		return NULL;
	struct approver *self = mem_new(sizeof(*self));

	self->gw = gw;
	self->loop = loop;
	self->program = config->embedded;
	keys_init(&self->open);
	TAILQ_INIT(&self->news);
	return self;
}

const struct approver_ops embedded_approver = {
	.name = "embedded",
	.open = embedded_open,
	.is_attached = embedded_is_attached,
	.ask = embedded_ask,
	.changed = embedded_changed,
	.retract = embedded_retract,
	.close = embedded_close,
};

/* The program passes on what a person has typed. */
static int embedded_check_typed(struct gateway *gw, const char *id,
				const struct approver_answer *answer, const char *typed,
				struct err *why)
{
	struct approver_question question;

	if (gateway_find_question(gw, id, &question) < 0)
		return err_set(why, -ENOENT,
			       "the question has ended or is unknown; this answer has no effect");
	if (answer->action != POLICY_ALLOW || question.risk == 0 ||
	    (typed && strcmp(typed, question.typed) == 0))
		return 0;
	return err_set(why, -EACCES, "%s: to allow it, type %s", question.warning, question.typed);
}

int gateway_embedded_answer(struct gateway *gw, const char *id,
			    const struct approver_answer *answer, const char *typed,
			    char ret_text[APPROVER_KEY_MAX], struct err *why)
{
	char text[APPROVER_KEY_MAX];
	int r = embedded_check_typed(gw, id, answer, typed, why);

	if (r == 0)
		r = gateway_answer_text(gw, id, answer, text, why);
	if (r == 0 || r == -ENOENT) /* late answers are recorded too */
		r = gateway_answer(gw, id, answer, why);
	if (r == 0 && ret_text)
		memcpy(ret_text, text, sizeof(text));
	return r;
}

void gateway_embedded_attach(struct gateway *gw, bool is_attached)
{
	struct approver *self = gateway_find_approver(gw, &embedded_approver);

	if (!self || self->is_away == !is_attached)
		return;
	self->is_away = !is_attached;
	gateway_approvers_changed(gw);
}
