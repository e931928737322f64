#include "tests/unit/gateway/approvers/web/test_web_fake.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "gateway/approvers/table.h"
#include "gateway/gateway_agent.h"
#include "gateway/gateway_tools.h"

struct gateway stage;

struct approver_question *stage_find(const char *id)
{
	for (size_t i = 0; i < stage.question_count; i++) {
		if (strcmp(stage.questions[i].id, id) == 0)
			return &stage.questions[i];
	}
	return NULL;
}

static void stage_forget(struct approver_question *question)
{
	size_t at = (size_t)(question - stage.questions);

	stage.question_count--;
	memmove(&stage.questions[at], &stage.questions[at + 1],
		(stage.question_count - at) * sizeof(*question));
}

int gateway_answer(struct gateway *gw, const char *id, const struct approver_answer *answer,
		   struct err *why)
{
	struct approver_question *question = stage_find(id);
	int r = gw->next_result;

	gw->next_result = 0;
	if (!question)
		return err_set(why, -ENOENT, "finished");
	if (answer->shown) {
		char text[APPROVER_KEY_MAX];
		int wrong = gateway_answer_text(gw, id, answer, text, why);

		if (wrong < 0)
			return wrong;
		if (strcmp(text, answer->shown) != 0)
			return err_set(why, -ESTALE, "not what was shown");
	}
	gw->answer_count++;
	gw->answer = *answer;
	(void)snprintf(gw->by, sizeof(gw->by), "%s", answer->by);
	(void)snprintf(gw->words, sizeof(gw->words), "%s", answer->words ? answer->words : "");
	if (r < 0)
		return err_set(why, r, "the disk is full");
	stage_retract(id, answer->action == POLICY_ALLOW ? "allowed" : "denied");
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
	struct approver_question *question = stage_find(id);

	if (!question)
		return -ENOENT;
	(void)snprintf(gw->touched, sizeof(gw->touched), "%s", id);
	question->is_touched = true;
	web_approver.changed(gw->approver, question);
	return 0;
}

/* "deny session domain for=3600" */
static void stage_tell(const struct approver_answer *answer, char out[APPROVER_KEY_MAX])
{
	static const char *const scopes[] = { "once", "exec", "session", "always" };
	const struct approver_width *width = &answer->width;

	(void)snprintf(out, APPROVER_KEY_MAX, "%s %s%s%s%s for=%lld upload=%llu connections=%u",
		       policy_action_name(answer->action), scopes[answer->scope],
		       width->is_domain ? " domain" : "", width->is_every_port ? " every_port" : "",
		       width->is_program ? " program" : "", (long long)width->for_s,
		       (unsigned long long)width->upload_max, width->connections_max);
}

int gateway_answer_text(struct gateway *gw, const char *id, const struct approver_answer *answer,
			char out[APPROVER_KEY_MAX], struct err *why)
{
	if (!stage_find(id))
		return err_set(why, -ENOENT, "finished");
	if (answer->width.is_domain && answer->scope == GATEWAY_ONCE)
		return err_set(why, -EINVAL, "once has no width");
	if (answer->action == POLICY_DENY &&
	    (answer->width.upload_max || answer->width.connections_max))
		return err_set(why, -EINVAL, "a denial has no amounts");
	if (gw->tells)
		stage_tell(answer, out);
	else
		(void)snprintf(out, APPROVER_KEY_MAX, "%s", gw->text);
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
	if (answer->action == POLICY_ALLOW && gw->agent.typed[0] != '\0' &&
	    (!answer->typed || strcmp(answer->typed, gw->agent.typed) != 0))
		return err_set(why, -EACCES, "to allow it, type %s as well", gw->agent.typed);
	gw->answer_count++;
	gw->answer = *answer;
	(void)snprintf(gw->words, sizeof(gw->words), "%s", answer->words ? answer->words : "");
	gw->agent.id[0] = '\0';
	stage_retract(id, answer->action == POLICY_ALLOW ? "allowed" : "denied");
	return 0;
}

void gateway_each_grant(struct gateway *gw,
			void (*each)(const struct approver_grant *grant, void *arg), void *arg)
{
	for (unsigned int i = 0; i < gw->grant_count; i++) {
		const struct approver_grant grant = { .id = i + 1,
						      .answer = i % 2 ? 0 : i + 1,
						      .action = POLICY_ALLOW,
						      .scope = GATEWAY_SESSION,
						      .text = "https://granted.test:443",
						      .by = gw->because,
						      .from = i % 2 ? "work" : NULL,
						      .bytes_up = UINT64_MAX };

		each(&grant, arg);
	}
}

size_t gateway_each_live(struct gateway *gw, size_t max,
			 void (*each)(const struct approver_live *live, void *arg), void *arg)
{
	const struct policy_facts facts = {
		.dst = { .host = "live.test", .protocol = POLICY_HTTPS, .port = 443 }
	};

	for (unsigned int i = 0; i < gw->live_count && i < max; i++)
		each(&(struct approver_live){ .id = i + 1, .facts = &facts, .rule = gw->because },
		     arg);
	return gw->live_count;
}

int gateway_revoke(struct gateway *gw, uint64_t grant, const char *by, struct approver_revoked *ret,
		   struct err *why)
{
	int r = gw->next_result;

	gw->next_result = 0;
	if (r < 0)
		return err_set(why, r, "the disk is full");
	gw->revoke_count++;
	gw->revoked = grant;
	*ret = (struct approver_revoked){ 2, 10, 20 };
	return 0;
}

int gateway_undo(struct gateway *gw, uint64_t shown, const char *by,
		 char ret_text[APPROVER_KEY_MAX], struct approver_revoked *ret, struct err *why)
{
	if (gw->grant_count == 0)
		return err_set(why, -ENOENT, "nothing");
	if (shown != gw->grant_count)
		return err_set(why, -ESTALE,
			       "another answer is now the last one; look at it again");
	(void)snprintf(ret_text, APPROVER_KEY_MAX, "%s", gw->text);
	return gateway_revoke(gw, gw->grant_count, by, ret, why);
}

int gateway_cut(struct gateway *gw, uint64_t live, const char *by, struct err *why)
{
	if (live > gw->live_count)
		return err_set(why, -ENOENT, "nothing");
	gw->cut = live;
	return 0;
}

/* Asks about "https://HOST:443" only. */
struct gateway_proposal *gateway_propose(struct gateway *gw, uint64_t exec, const char *destination,
					 const char *reason, gateway_verdict_fn done, void *arg,
					 struct err *why)
{
	char host[POLICY_HOST_MAX];

	if (exec > 1 || sscanf(destination, "https://%253[^:]", host) != 1) {
		(void)err_set(why, -ENOENT, "that command has not started, or it has ended");
		return NULL;
	}
	(void)stage_put("7f3a-again", host);
	return (struct gateway_proposal *)gw;
}

const struct gateway_trip *gateway_trips(const struct gateway *gw, size_t *ret_count)
{
	*ret_count = gw->trip_count;
	return gw->trips;
}

const struct gateway_trip *gateway_trips_others(const struct gateway *gw)
{
	return &gw->others;
}

void gateway_approvers_changed(struct gateway *gw)
{
	gw->changed_count++;
}

int stage_begin(struct loop *loop, struct err *why)
{
	stage = (struct gateway){ .loop = loop, .text = "https://a.test:443", .because = "" };
	stage.config.run = "7f3a";
	stage.config.session = "test";
	stage.config.answers_path = "/nowhere";
	stage.config.web = &stage.web;
	stage.web.answer_origin = "https://gate.example.org";
	stage.approver = web_approver.open(&stage, loop, &stage.config, why);
	return stage.approver ? 0 : -EIO;
}

void stage_end(void)
{
	web_approver.close(stage.approver);
	loop_free(stage.loop);
}

struct approver_question *stage_put(const char *id, const char *host)
{
	struct approver_question *question = &stage.questions[stage.question_count];

	if (stage.question_count == STAGE_QUESTIONS_MAX)
		return NULL;
	stage.question_count++;
	*question = (struct approver_question){
		.dst = { .protocol = POLICY_HTTPS, .port = 443 },
		.waiting = 1,
		.command_count = 1,
		.commands = { "curl -sS https://example.org/" },
		.rule = "",
		.because = stage.because,
		.left_ms = 299000,
		.warning = "",
		.program = "",
		.chain = "",
	};
	(void)snprintf(question->id, sizeof(question->id), "%s", id);
	(void)snprintf(question->dst.host, sizeof(question->dst.host), "%s", host);
	(void)snprintf(question->typed, sizeof(question->typed), "%s", host);
	web_approver.ask(stage.approver, question);
	return question;
}

void stage_retract(const char *id, const char *how)
{
	struct approver_question *question = stage_find(id);

	if (question)
		stage_forget(question);
	web_approver.retract(stage.approver,
			     &(struct approver_end){ .id = id, .by = "", .how = how });
}

bool stage_is_attached(void)
{
	return web_approver.is_attached(stage.approver);
}
