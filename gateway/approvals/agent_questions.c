#include "gateway/approvals/agent_questions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/gateway_agent_question.h"

struct gateway_agent_asked {
	struct approver_agent_question shown; /* first: its lines are below */
	struct gateway *gw;
	struct gateway_agent_line *lines;
	char *typed;
	int64_t asked_ms, wait_ms;
	int (*answer)(const struct approver_answer *answer, const char *through, struct err *why,
		      void *arg);
	void *arg;
	TAILQ_ENTRY(gateway_agent_asked) entry;
};

static void asked_free(struct gateway_agent_asked *asked)
{
	TAILQ_REMOVE(&asked->gw->agent_questions, asked, entry);
	asked->gw->agent_question_count--;
	for (size_t i = 0; i < asked->shown.line_count; i++)
		free((char *)(uintptr_t)asked->lines[i].text); /* asked_show() made them */
	free(asked->lines);
	free(asked->typed);
	free(asked);
}

/* Copies the lines. False: they are too long, and the last one says so. */
static bool asked_show(struct gateway_agent_asked *asked,
		       const struct gateway_agent_question *question)
{
	size_t *count = &asked->shown.line_count, bytes = 0;

	asked->lines = mem_new_array(question->line_count + 1, sizeof(*asked->lines));
	for (size_t i = 0; i < question->line_count; i++) {
		const struct gateway_agent_line *line = &question->lines[i];
		char *text = text_visible_once(line->text);

		bytes += strlen(text);
		if (bytes > GATEWAY_AGENT_TEXT_MAX) {
			free(text);
			asked->lines[(*count)++] = (struct gateway_agent_line){
				"too long",
				mem_strdup("the rest is not shown here, so this can only be "
					   "denied here")
			};
			return false;
		}
		asked->lines[(*count)++] = (struct gateway_agent_line){ line->label, text };
	}
	return true;
}

struct gateway_agent_asked *gateway_agent_ask(struct gateway *gw,
					      const struct gateway_agent_question *question)
{
	static const unsigned int denials = GATEWAY_AGENT_ABORT | GATEWAY_AGENT_DENY_ALWAYS;
	struct gateway_agent_asked *asked;

	if (gw->agent_question_count == GATEWAY_AGENT_QUESTIONS_MAX)
		return NULL;
	asked = mem_new(sizeof(*asked));
	asked->gw = gw;
	asked->answer = question->answer;
	asked->arg = question->arg;
	asked->typed = mem_strdup(question->typed ? question->typed : "");
	asked->asked_ms = loop_now_ms(gw->loop);
	asked->shown.kind = question->kind;
	asked->shown.typed = asked->typed;
	asked->shown.choices = question->choices;
	asked->shown.left_ms = asked->wait_ms = question->left_ms;
	(void)snprintf(asked->shown.id, sizeof(asked->shown.id), "%.8s-%" PRIu64, gw->config.run,
		       ++gw->last_number);
	if (!asked_show(asked, question))
		asked->shown.choices &= denials;
	asked->shown.lines = asked->lines;
	TAILQ_INSERT_TAIL(&gw->agent_questions, asked, entry);
	gw->agent_question_count++;
	for (size_t i = 0; i < gw->approver_count; i++) {
		if (gw->approvers[i].ops->agent_asked)
			gw->approvers[i].ops->agent_asked(gw->approvers[i].self, &asked->shown);
	}
	return asked;
}

static void asked_end(struct gateway_agent_asked *asked, enum policy_action action, const char *how)
{
	struct gateway *gw = asked->gw;
	const struct approver_end end = {
		.id = asked->shown.id,
		.action = action,
		.by = "",
		.how = how,
	};

	for (size_t i = 0; i < gw->approver_count; i++) {
		if (gw->approvers[i].ops->agent_asked)
			gw->approvers[i].ops->retract(gw->approvers[i].self, &end);
	}
	asked_free(asked);
}

void gateway_agent_retract(struct gateway_agent_asked *asked, const char *how)
{
	if (asked)
		asked_end(asked, POLICY_DENY, how);
}

bool gateway_agent_is_attended(const struct gateway *gw)
{
	for (size_t i = 0; i < gw->approver_count; i++) {
		const struct approver_ops *ops = gw->approvers[i].ops;

		if (ops->agent_asked && ops->is_attached(gw->approvers[i].self))
			return true;
	}
	return false;
}

void gateway_each_agent_question(struct gateway *gw,
				 void (*each)(const struct approver_agent_question *question,
					      void *arg),
				 void *arg)
{
	struct gateway_agent_asked *asked;

	TAILQ_FOREACH (asked, &gw->agent_questions, entry) {
		int64_t age_ms = loop_now_ms(gw->loop) - asked->asked_ms;

		asked->shown.age_ms = age_ms;
		asked->shown.left_ms = asked->wait_ms > age_ms ? asked->wait_ms - age_ms : 0;
		each(&asked->shown, arg);
	}
}

static struct gateway_agent_asked *asked_find(struct gateway *gw, const char *id)
{
	struct gateway_agent_asked *asked;

	TAILQ_FOREACH (asked, &gw->agent_questions, entry) {
		if (strcmp(asked->shown.id, id) == 0)
			return asked;
	}
	return NULL;
}

bool gateway_has_agent_question(struct gateway *gw, const char *id)
{
	return asked_find(gw, id) != NULL;
}

static bool asked_offers(const struct gateway_agent_asked *asked,
			 const struct approver_answer *answer)
{
	bool is_allow = answer->action == POLICY_ALLOW;
	unsigned int choices = asked->shown.choices;

	if (answer->is_abort)
		return (choices & GATEWAY_AGENT_ABORT) != 0;
	switch (answer->scope) {
	case GATEWAY_ONCE:
		return !is_allow || (choices & GATEWAY_AGENT_ONCE) != 0;
	case GATEWAY_SESSION:
		return is_allow && (choices & GATEWAY_AGENT_SESSION) != 0;
	case GATEWAY_ALWAYS:
		return (choices & (is_allow ? GATEWAY_AGENT_ALWAYS : GATEWAY_AGENT_DENY_ALWAYS)) !=
		       0;
	case GATEWAY_EXEC:
		break;
	}
	return false;
}

/* A width that an answer about a command cannot have must not be dropped silently. */
static bool asked_has_width(const struct approver_answer *answer)
{
	const struct approver_width *width = &answer->width;
	bool may_expire = answer->action == POLICY_ALLOW && answer->scope == GATEWAY_SESSION;

	return width->is_domain || width->is_every_port || width->is_program ||
	       width->upload_max > 0 || width->download_max > 0 || width->connections_max > 0 ||
	       (width->for_s > 0 && !may_expire);
}

int gateway_answer_agent(struct gateway *gw, const char *id, const struct approver_answer *answer,
			 const char *through, struct err *why)
{
	struct gateway_agent_asked *asked = asked_find(gw, id);
	bool is_allow = answer->action == POLICY_ALLOW;

	if (!asked)
		return err_set(why, -ENOENT, "the question has ended");
	if (!asked_offers(asked, answer) || asked_has_width(answer))
		return err_set(why, -EINVAL, "the question does not offer this answer");
	if (is_allow && asked->typed[0] &&
	    (!answer->typed || strcmp(answer->typed, asked->typed) != 0))
		return err_set(why, -EACCES, "to allow it, type %s as well", asked->typed);
	int r = asked->answer(answer, through, why, asked->arg);

	if (r < 0)
		return r;
	auto_free char *how = mem_printf("%s%s by %s",
					 answer->is_abort ? "aborted"
					 : is_allow       ? "allowed"
							  : "denied",
					 answer->is_abort                   ? ""
					 : answer->scope == GATEWAY_ONCE    ? " once"
					 : answer->scope == GATEWAY_SESSION ? " for the session"
									    : " always",
					 answer->by);
	asked_end(asked, answer->action, how);
	return 0;
}

void agent_questions_done(struct gateway *gw)
{
	while (!TAILQ_EMPTY(&gw->agent_questions))
		asked_free(TAILQ_FIRST(&gw->agent_questions));
}
