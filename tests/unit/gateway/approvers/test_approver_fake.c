#include "tests/unit/gateway/approvers/test_approver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

static struct approver_question *fake_find(struct gateway *gw, const char *id)
{
	for (size_t i = 0; i < gw->question_count; i++) {
		if (strcmp(gw->questions[i].id, id) == 0)
			return &gw->questions[i];
	}
	return NULL;
}

static void fake_forget(struct gateway *gw, const struct approver_question *question)
{
	size_t at = (size_t)(question - gw->questions);

	gw->question_count--;
	memmove(&gw->questions[at], &gw->questions[at + 1],
		(gw->question_count - at) * sizeof(*question));
}

static void fake_record(struct gateway *gw, const char *id, const struct approver_answer *answer,
			const char *text)
{
	ck_assert_uint_lt(gw->answer_count, FAKE_ANSWERS_MAX);
	(void)snprintf(gw->answers[gw->answer_count].id, APPROVER_ID_MAX, "%s", id);
	(void)snprintf(gw->answers[gw->answer_count].by, 64, "%s", answer->by);
	(void)snprintf(gw->answers[gw->answer_count].words, GATEWAY_WORDS_MAX, "%s",
		       answer->words ? answer->words : "");
	(void)snprintf(gw->answers[gw->answer_count].text, APPROVER_KEY_MAX, "%s", text);
	gw->answers[gw->answer_count++].answer = *answer;
}

int gateway_answer(struct gateway *gw, const char *id, const struct approver_answer *answer,
		   struct err *why)
{
	struct approver_question *question = fake_find(gw, id);
	char text[APPROVER_KEY_MAX] = "";
	int r = gw->next_result;

	if (!question)
		return -ENOENT;
	/* As the real one. */
	if (!answer->is_abort && gateway_answer_text(gw, id, answer, text, why) < 0)
		return -EINVAL;
	if (answer->shown && strcmp(answer->shown, text) != 0)
		return err_set(why, -ESTALE, "not what was shown");
	fake_record(gw, id, answer, text);
	gw->next_result = 0;
	if (r < 0)
		return err_set(why, r, "%s", gw->next_why ? gw->next_why : "");
	fake_forget(gw, question);
	if (!gw->is_quiet)
		gw->ops->retract(gw->approver,
				 &(struct approver_end){ .id = id, .how = "settled" });
	return 0;
}

void gateway_when_kept(struct gateway *gw, struct gateway_kept *kept, void (*fn)(void *arg),
		       void *arg)
{
	*kept = (struct gateway_kept){ .fn = fn, .arg = arg, .is_waiting = true };
	gw->kept = kept;
}

void gateway_forget_kept(struct gateway *gw, struct gateway_kept *kept)
{
	kept->is_waiting = false;
}

int gateway_touch(struct gateway *gw, const char *id)
{
	struct approver_question *question = fake_find(gw, id);

	if (!question)
		return -ENOENT;
	gw->touch_count++;
	return 0;
}

/* As the real one says it, for a name; what it refuses is what the tests have it refuse. */
int gateway_answer_text(struct gateway *gw, const char *id, const struct approver_answer *answer,
			char out[APPROVER_KEY_MAX], struct err *why)
{
	const struct approver_question *question = fake_find(gw, id);
	const struct approver_width *width = &answer->width;
	char upload[32] = "";

	if (!question)
		return err_set(why, -ENOENT, "finished");
	if (width->upload_max != 0 && !gw->takes_budgets)
		return err_set(why, -ENOTSUP, "no budgets here");
	if (width->upload_max != 0 && answer->action == POLICY_DENY)
		return err_set(why, -EINVAL, "a denial cannot have a limit");
	if (width->upload_max != 0)
		(void)snprintf(upload, sizeof(upload), " upload %llu",
			       (unsigned long long)width->upload_max);
	if (answer->scope == GATEWAY_ONCE && (width->is_domain || width->is_every_port))
		return err_set(why, -EINVAL, "once has no width");
	(void)snprintf(out, APPROVER_KEY_MAX, "%s://%s%s:%s%s%s%s%s",
		       policy_protocol_name(question->dst.protocol), width->is_domain ? "**." : "",
		       width->is_domain ? question->typed : question->dst.host,
		       width->is_every_port ? "*" : "443", width->is_program ? " program P" : "",
		       width->for_s == 0      ? ""
		       : width->for_s == 3600 ? " for 1h"
					      : " for 1d",
		       upload, gw->salt ? gw->salt : "");
	return 0;
}

void gateway_each_question(struct gateway *gw,
			   void (*each)(const struct approver_question *question, void *arg),
			   void *arg)
{
	for (size_t i = 0; i < gw->question_count; i++)
		each(&gw->questions[i], arg);
}

void gateway_each_agent_question(struct gateway *gw,
				 void (*each)(const struct approver_agent_question *question,
					      void *arg),
				 void *arg)
{
	if (gw->agent.id[0] != '\0')
		each(&gw->agent, arg);
}

bool gateway_has_agent_question(struct gateway *gw, const char *id)
{
	return gw->agent.id[0] != '\0' && strcmp(gw->agent.id, id) == 0;
}

int gateway_answer_agent(struct gateway *gw, const char *id, const struct approver_answer *answer,
			 const char *through, struct err *why)
{
	if (!gateway_has_agent_question(gw, id))
		return -ENOENT;
	if (answer->action == POLICY_ALLOW && gw->agent.typed[0] != '\0' &&
	    (!answer->typed || strcmp(answer->typed, gw->agent.typed) != 0))
		return err_set(why, -EACCES, "to allow it, type %s as well", gw->agent.typed);
	fake_record(gw, id, answer, "");
	gw->agent.id[0] = '\0';
	if (!gw->is_quiet)
		gw->ops->retract(gw->approver,
				 &(struct approver_end){ .id = id, .how = "settled" });
	return 0;
}

size_t gateway_questions_after(struct gateway *gw, uint64_t serial,
			       bool (*each)(const struct approver_question *question, void *arg),
			       void *arg)
{
	bool goes_on = true;
	size_t left = 0;

	for (size_t i = 0; i < gw->question_count; i++) {
		if (gw->questions[i].serial <= serial)
			continue;
		if (goes_on)
			goes_on = each(&gw->questions[i], arg);
		else
			left++;
	}
	return left;
}

void gateway_approvers_changed(struct gateway *gw)
{
	gw->changed_count++;
}

/* These approvers are asked about destinations here. */
void gateway_reviewed(struct approver_review *review, enum gateway_review_outcome outcome,
		      const char *by, const char *reason)
{
	ck_abort_msg("nothing was to be reviewed");
}

void fake_open(struct gateway *gw, const struct approver_ops *ops)
{
	struct err why = { 0 };

	gw->loop = loop_new_fake();
	gw->ops = ops;
	if (!gw->config.run)
		gw->config.run = "7f3a";
	gw->config.session = "test";
	gw->approver = ops->open(gw, gw->loop, &gw->config, &why);
	ck_assert_msg(gw->approver != NULL, "%s", why.text);
}

void fake_close(struct gateway *gw)
{
	gw->ops->close(gw->approver);
	fake_settle(gw);
	loop_free(gw->loop);
}

void fake_settle(struct gateway *gw)
{
	for (int i = 0; i < 8; i++)
		loop_step(gw->loop);
}

struct approver_question *fake_ask(struct gateway *gw, const char *id, const char *host)
{
	struct approver_question *question = &gw->questions[gw->question_count++];

	ck_assert_uint_le(gw->question_count, FAKE_QUESTIONS_MAX);
	*question = (struct approver_question){
		.serial = ++gw->last_serial,
		.dst = { .protocol = POLICY_HTTPS, .port = 443 },
		.waiting = 1,
		.command_count = 1,
		.commands = { "curl -sS https://example.org/" },
		.rule = "",
		.because = "",
		.warning = "",
		.program = "",
		.chain = "",
		.left_ms = 299000,
		.is_shared = true,
	};
	(void)snprintf(question->id, sizeof(question->id), "%s", id);
	(void)snprintf(question->dst.host, sizeof(question->dst.host), "%s", host);
	(void)snprintf(question->typed, sizeof(question->typed), "%s", host);
	gw->ops->ask(gw->approver, question);
	fake_settle(gw);
	return question;
}

void fake_changed(struct gateway *gw, const char *id, unsigned int waiting)
{
	struct approver_question *question = fake_find(gw, id);

	question->waiting = waiting;
	gw->ops->changed(gw->approver, question);
	fake_settle(gw);
}

void fake_end(struct gateway *gw, const struct approver_end *end)
{
	struct approver_question *question = fake_find(gw, end->id);

	if (question)
		fake_forget(gw, question);
	else if (gateway_has_agent_question(gw, end->id))
		gw->agent.id[0] = '\0';
	gw->ops->retract(gw->approver, end);
	fake_settle(gw);
}

void fake_retract(struct gateway *gw, const char *id, const char *how)
{
	fake_end(gw, &(struct approver_end){ .id = id, .how = how });
}

int main(void)
{
	SRunner *runner = srunner_create(suite_control());
	int failed;

	srunner_add_suite(runner, suite_control_ledger());
	srunner_add_suite(runner, suite_control_socket());
	srunner_add_suite(runner, suite_control_watchers());
	srunner_add_suite(runner, suite_far());
	srunner_add_suite(runner, suite_hints());
	srunner_add_suite(runner, suite_reviewer());
	srunner_add_suite(runner, suite_reviewer_parts());
	srunner_add_suite(runner, suite_tty());
	srunner_add_suite(runner, suite_tty_fence());
	srunner_add_suite(runner, suite_tty_keys());
	srunner_add_suite(runner, suite_tty_list());
	srunner_add_suite(runner, suite_tty_parts());
	srunner_add_suite(runner, suite_tty_scope());
	srunner_add_suite(runner, suite_tty_states());
	srunner_add_suite(runner, suite_tty_words());
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
