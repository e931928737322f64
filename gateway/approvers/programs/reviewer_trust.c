#include <errno.h>

#include "base/err.h"
#include "base/log.h"
#include "gateway/approvers/programs/reviewer.h"

static void trust_save_later(void *arg)
{
	reviewer_trust_save(arg);
}

void reviewer_trust_save(struct approver *self)
{
	const struct gateway_reviewer *config = self->config;
	const struct gateway_trust *more = &self->unsaved;
	struct err why = { 0 };

	if (!config->trust_dir || more->agree_allow + more->agree_deny + more->allowed_denied +
						  more->denied_allowed + more->abstained ==
					  0)
		return;
	int r = gateway_trust_add(config->trust_dir, config->digest, config->command, more, &why);

	if (r == -EAGAIN) {
		loop_timer_start(self->loop, &self->save, REVIEWER_SAVE_MS, trust_save_later, self);
		return;
	}
	if (r < 0)
		log_warn("the answers of the reviewer and of a person could not be stored: %s",
			 why.text);
	self->unsaved = (struct gateway_trust){ 0 };
}

/* A reviewer that would have allowed what a person denied may no longer answer. */
static void trust_danger(struct approver *self, const struct reviewer_question *question)
{
	log_warn("the reviewer would have allowed %s, which a person denied%s", question->id,
		 self->may_answer ? ", so its answers do not count any more" : "");
	if (!self->may_answer)
		return;
	self->may_answer = false;
	gateway_approvers_changed(self->gw);
}

void reviewer_trust_compare(struct approver *self, const struct reviewer_question *question)
{
	bool is_allowed = question->by_person == POLICY_ALLOW;
	struct gateway_trust *trust = &self->unsaved;

	switch (question->said) {
	case REVIEWER_ALLOW:
		if (is_allowed)
			trust->agree_allow++;
		else
			trust->allowed_denied++;
		if (!is_allowed)
			trust_danger(self, question);
		break;
	case REVIEWER_DENY:
		if (is_allowed)
			trust->denied_allowed++;
		else
			trust->agree_deny++;
		break;
	case REVIEWER_ABSTAIN:
	default:
		trust->abstained++;
		break;
	}
	if (!self->save.is_armed)
		loop_timer_start(self->loop, &self->save, REVIEWER_SAVE_MS, trust_save_later, self);
}
