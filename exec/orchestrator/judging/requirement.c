#include "exec/orchestrator/judging/requirement.h"

#include "base/mem.h"

struct requirement_sandbox requirement_sandbox(const struct exec_sandbox *sandbox)
{
	return (struct requirement_sandbox){
		.files = exec_sandbox_files(sandbox),
		.is_network_restricted = exec_sandbox_network(sandbox) == EXEC_NETWORK_RESTRICTED,
		.writes_all = exec_sandbox_writes_all(sandbox),
		.has_denials = exec_sandbox_has_denials(sandbox),
	};
}

bool requirement_is_open(const struct requirement_sandbox *sandbox)
{
	return !sandbox->has_denials && !sandbox->is_network_restricted &&
	       (sandbox->files != EXEC_FILES_RESTRICTED || sandbox->writes_all);
}

enum orchestrator_requirement requirement_ask(const struct requirement_asking *asking,
					      unsigned int needed)
{
	if (asking->mode == ORCHESTRATOR_NEVER)
		return ORCHESTRATOR_FORBIDDEN;
	if (asking->mode == ORCHESTRATOR_GRANULAR && (asking->categories & needed) != needed)
		return ORCHESTRATOR_FORBIDDEN;
	return ORCHESTRATOR_ASKED;
}

enum orchestrator_requirement requirement_usual(const struct requirement_asking *asking,
						enum exec_files files)
{
	switch (asking->mode) {
	case ORCHESTRATOR_NEVER:
	case ORCHESTRATOR_ON_FAILURE:
		return ORCHESTRATOR_SKIP;
	case ORCHESTRATOR_UNTRUSTED:
		return ORCHESTRATOR_ASKED;
	case ORCHESTRATOR_ON_REQUEST:
	case ORCHESTRATOR_GRANULAR:
		if (files != EXEC_FILES_RESTRICTED)
			return ORCHESTRATOR_SKIP;
		return requirement_ask(asking, ORCHESTRATOR_MAY_ASK_SANDBOX);
	}
	return ORCHESTRATOR_FORBIDDEN;
}

enum orchestrator_requirement requirement_patch(const struct requirement_asking *asking,
						enum orchestrator_place place)
{
	switch (place) {
	case ORCHESTRATOR_INSIDE:
		return asking->mode == ORCHESTRATOR_UNTRUSTED ? ORCHESTRATOR_ASKED
							      : ORCHESTRATOR_SKIP;
	case ORCHESTRATOR_OUTSIDE:
		return requirement_ask(asking, ORCHESTRATOR_MAY_ASK_SANDBOX);
	case ORCHESTRATOR_NO_PLACE:
		break;
	}
	return ORCHESTRATOR_FORBIDDEN;
}

enum requirement_fallback requirement_fallback(const struct requirement_unmatched *unmatched)
{
	if (unmatched->is_dangerous)
		return unmatched->mode == ORCHESTRATOR_NEVER ? REQUIREMENT_FORBID
							     : REQUIREMENT_PROMPT;
	switch (unmatched->mode) {
	case ORCHESTRATOR_NEVER:
		return REQUIREMENT_ALLOW;
	case ORCHESTRATOR_UNTRUSTED:
		return unmatched->is_safe ? REQUIREMENT_ALLOW : REQUIREMENT_PROMPT;
	case ORCHESTRATOR_ON_REQUEST:
	case ORCHESTRATOR_GRANULAR:
	case ORCHESTRATOR_ON_FAILURE:
		return unmatched->is_open || unmatched->confinement == ORCHESTRATOR_USUAL
			       ? REQUIREMENT_ALLOW
			       : REQUIREMENT_PROMPT;
	}
	return REQUIREMENT_FORBID;
}

static enum orchestrator_requirement require_fallback(const struct requirement_asking *asking,
						      const struct requirement_unmatched *unmatched)
{
	switch (requirement_fallback(unmatched)) {
	case REQUIREMENT_ALLOW:
		return ORCHESTRATOR_SKIP;
	case REQUIREMENT_PROMPT:
		return requirement_ask(asking, ORCHESTRATOR_MAY_ASK_SANDBOX);
	case REQUIREMENT_FORBID:
		break;
	}
	return ORCHESTRATOR_FORBIDDEN;
}

enum orchestrator_requirement requirement_command(const struct requirement_command *command,
						  bool *ret_by_rule)
{
	const struct requirement_asking *asking = &command->asking;

	*ret_by_rule = false;
	switch (command->action) {
	case COMMAND_ALLOW:
		return ORCHESTRATOR_SKIP;
	case COMMAND_UNMATCHED:
		return require_fallback(asking, &command->unmatched);
	case COMMAND_ASK:
		/* If no rule can apply, a command that is not understood counts as unmatched,
		 * because the sandbox protects. If one can, it might have meant this command. */
		if (!command->is_understood && !command->has_rules)
			return require_fallback(asking, &command->unmatched);
		*ret_by_rule = true;
		return requirement_ask(asking, ORCHESTRATOR_MAY_ASK_RULES);
	case COMMAND_DENY:
		break;
	}
	*ret_by_rule = true;
	return ORCHESTRATOR_FORBIDDEN;
}

unsigned int requirement_leaving(const struct requirement_sandbox *sandbox)
{
	return ORCHESTRATOR_MAY_ASK_SANDBOX |
	       (sandbox->is_network_restricted ? ORCHESTRATOR_MAY_ASK_NETWORK : 0);
}

bool requirement_is_confined(const struct requirement_run *run)
{
	if (run->sandbox.has_denials)
		return true;
	if (run->confinement == ORCHESTRATOR_ESCALATED || run->is_rule_unconfined)
		return false;
	return !requirement_is_open(&run->sandbox);
}

bool requirement_is_wider(const struct requirement_run *run)
{
	return !requirement_is_confined(run) && !run->is_rule_unconfined &&
	       !requirement_is_open(&run->sandbox);
}

struct requirement_offer requirement_retry(const struct requirement_retry *retry)
{
	struct requirement_asking asking = retry->asking;
	struct requirement_offer offer = { 0 };

	if (!retry->may_retry)
		return offer;
	if (requirement_ask(&asking, ORCHESTRATOR_MAY_ASK_NETWORK) == ORCHESTRATOR_ASKED)
		offer.destinations =
			retry->has_destinations && retry->sandbox.is_network_restricted;
	if (asking.mode == ORCHESTRATOR_ON_REQUEST) {
		/* For any other access the agent has to ask itself. */
		offer.destinations &=
			requirement_usual(&asking, retry->sandbox.files) == ORCHESTRATOR_ASKED;
		return offer;
	}
	if (requirement_ask(&asking, ORCHESTRATOR_MAY_ASK_SANDBOX) != ORCHESTRATOR_ASKED)
		return offer;
	offer.others = retry->has_others;
	offer.unconfined = retry->may_unconfine && !retry->sandbox.has_denials &&
			   (retry->is_other_than_net || retry->has_destinations) &&
			   requirement_ask(&asking, requirement_leaving(&retry->sandbox)) ==
				   ORCHESTRATOR_ASKED;
	return offer;
}

unsigned int requirement_choices(const struct requirement_choices *of)
{
	unsigned int choices = BIT(ORCHESTRATOR_DENY) | BIT(ORCHESTRATOR_ABORT);

	if (of->is_retry && of->may_unconfine)
		choices |= BIT(ORCHESTRATOR_UNCONFINED);
	if (of->is_retry && !of->has_accesses)
		return choices;
	choices |= BIT(ORCHESTRATOR_ONCE);
	if (of->is_one_shot)
		return choices;
	if ((of->is_retry || (of->is_no_exec && of->has_accesses)) && of->has_keys)
		choices |= BIT(ORCHESTRATOR_SESSION);
	if (of->is_retry && of->has_keys && of->has_proposal)
		choices |= BIT(ORCHESTRATOR_ALWAYS);
	if (of->is_retry && of->is_destinations_only && of->has_proposal)
		choices |= BIT(ORCHESTRATOR_DENY_ALWAYS);
	if (of->is_retry || of->has_accesses)
		return choices;
	if (of->has_keys)
		choices |= BIT(ORCHESTRATOR_SESSION);
	/* A policy line says that it may run, never that it may run unconfined. */
	if (of->has_proposal && of->is_confined)
		choices |= BIT(ORCHESTRATOR_ALWAYS);
	return choices;
}
