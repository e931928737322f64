#include "exec/orchestrator/judgement.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/orchestrator/request.h"

static void say(struct judgement *judgement, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void say(struct judgement *judgement, const char *format, ...)
{
	va_list arguments;

	if (judgement->reason[0])
		return;
	va_start(arguments, format);
	(void)vsnprintf(judgement->reason, sizeof(judgement->reason), format, arguments);
	va_end(arguments);
}

static void be_stricter(struct judgement *judgement, enum orchestrator_requirement requirement)
{
	if (requirement < judgement->requirement)
		judgement->requirement = requirement;
}

static struct requirement_asking asking_of(const struct call *call)
{
	const struct orchestrator_config *config = &call->orchestrator->config;

	return (struct requirement_asking){ config->mode, config->categories };
}

/* What came with the request; whoever supplied it has not asked whether @needed may be asked. */
static void add_supplied(const struct call *call, unsigned int needed, struct judgement *ret)
{
	const struct orchestrator_request *request = &call->request;
	struct requirement_asking asking = asking_of(call);

	if (!request->has_requirement)
		return;
	if (request->requirement != ORCHESTRATOR_SKIP)
		be_stricter(ret, requirement_ask(&asking, needed));
	be_stricter(ret, request->requirement);
}

static bool has_destination(const struct orchestrator_request *request)
{
	for (size_t i = 0; i < request->access_count; i++) {
		if (request->accesses[i].what == ORCHESTRATOR_DESTINATION)
			return true;
	}
	return false;
}

/* By its sandbox, or by an answer that came before it. */
static bool is_given(const struct orchestrator_request *request,
		     const struct orchestrator_access *access)
{
	for (size_t i = 0; i < request->granted_count; i++) {
		if (access_is_equal(&request->granted[i], access))
			return true;
	}
	return access_is_given(request->sandbox, access);
}

static bool is_all_given(const struct orchestrator_request *request)
{
	for (size_t i = 0; i < request->access_count; i++) {
		if (!is_given(request, &request->accesses[i]))
			return false;
	}
	return true;
}

/* What is left of the wish: nothing to ask for where it is given already; no way out of a sandbox
 * that hides files. */
static enum orchestrator_wish effective_wish(const struct orchestrator_request *request,
					     const struct requirement_sandbox *sandbox)
{
	if (request->wish == ORCHESTRATOR_ESCALATED && sandbox->has_denials)
		return ORCHESTRATOR_USUAL;
	if (request->wish == ORCHESTRATOR_WITH_ACCESS && is_all_given(request))
		return ORCHESTRATOR_USUAL;
	return request->wish;
}

/* In the words of the rule that decided, or of what makes it dangerous. */
static void explain_command(const struct command_verdict *verdict, bool is_by_rule,
			    struct judgement *ret)
{
	const char *words = verdict->because[0] ? verdict->because : verdict->rule;

	if (is_by_rule && verdict->action == COMMAND_DENY)
		say(ret, "denied by a rule: %s", words);
	else if (is_by_rule && !verdict->is_understood && verdict->seen > COMMAND_ASK)
		say(ret, "%s, so no rule can allow it", verdict->why);
	else if (is_by_rule)
		say(ret, "a rule asks: %s", words);
	else if (verdict->danger[0])
		say(ret, "it is dangerous: %s", verdict->danger);
}

/* May what is set for this call alone change what the command does? What is passed on is as it was
 * for whoever wrote the rules. */
static bool has_risky_env(const struct orchestrator_request *request)
{
	for (const char *const *variable = request->env; *variable; variable++) {
		if (strchr(*variable, '=') && !command_is_harmless_variable(*variable))
			return true;
	}
	return false;
}

/* As in a script, where NAME=VALUE stands before the command: no rule and no list allows it. */
static void discount_env(struct command_verdict *verdict)
{
	if (verdict->action == COMMAND_ALLOW)
		verdict->action = COMMAND_UNMATCHED;
	verdict->is_unconfined = verdict->is_safe = false;
}

/* Could a rule have meant what was not understood? One that asks is about what is seen: the sandbox
 * protects from the rest. A denial holds everywhere, so it has to be seen to, by a person or when
 * the program is executed. */
static bool may_be_meant(const struct call *call, const struct requirement_run *run,
			 const struct command_verdict *verdict)
{
	const struct command_rules *rules = orchestrator_rules(call->orchestrator);
	bool is_usual = run->wish == ORCHESTRATOR_USUAL && requirement_is_confined(run);

	if (command_rules_count(rules) == 0 || verdict->seen <= COMMAND_ASK || !is_usual)
		return command_rules_count(rules) > 0;
	return command_rules_has_denials(rules) && !call->orchestrator->config.judges_programs;
}

static void judge_command(const struct call *call, const struct requirement_sandbox *sandbox,
			  struct requirement_run *run, struct judgement *ret)
{
	const struct orchestrator *orchestrator = call->orchestrator;
	const struct command_rules *rules = orchestrator_rules(orchestrator);
	struct command_verdict verdict;
	bool is_by_rule;

	command_rules_decide(rules, call->request.world, call->request.argv, &verdict);
	if (has_risky_env(&call->request))
		discount_env(&verdict);
	const struct requirement_command command = {
		.asking = asking_of(call),
		.unmatched = { .mode = orchestrator->config.mode,
			       .is_safe = verdict.is_safe,
			       .is_dangerous = verdict.danger[0] != '\0',
			       .is_open = requirement_is_open(sandbox),
			       .wish = ret->wish },
		.action = verdict.action,
		.is_understood = verdict.is_understood,
		.has_rules = may_be_meant(call, run, &verdict),
	};

	ret->requirement = requirement_command(&command, &is_by_rule);
	ret->program = verdict.program;
	run->is_rule_unconfined = verdict.is_unconfined && orchestrator->config.may_leave_by_rule;
	ret->is_rule_held = verdict.is_unconfined && !run->is_rule_unconfined;
	explain_command(&verdict, is_by_rule, ret);
	add_supplied(call, ORCHESTRATOR_MAY_ASK_SANDBOX, ret);
}

static void judge_patch(const struct call *call, struct judgement *ret)
{
	const struct orchestrator_request *request = &call->request;
	struct requirement_asking asking = asking_of(call);

	ret->requirement = requirement_patch(&asking, request->place);
	if (request->place == ORCHESTRATOR_NO_PLACE)
		say(ret, "%s", request->reason ? request->reason : "nobody may change it");
	add_supplied(call, ORCHESTRATOR_MAY_ASK_SANDBOX, ret);
}

/* A run: how it is confined, and what of that has to be asked. */
static void judge_run(const struct call *call, struct judgement *ret)
{
	const struct orchestrator_request *request = &call->request;
	struct requirement_asking asking = asking_of(call);
	struct requirement_run run = { .sandbox = requirement_sandbox(request->sandbox),
				       .preference = request->preference };

	ret->wish = run.wish = effective_wish(request, &run.sandbox);
	if (request->kind == ORCHESTRATOR_EXEC)
		judge_command(call, &run.sandbox, &run, ret);
	else
		judge_patch(call, ret);
	ret->is_confined = requirement_is_confined(&run);
	ret->is_wider = requirement_is_wider(&run);
	if (ret->is_wider) {
		be_stricter(ret, requirement_ask(&asking, requirement_leaving(&run.sandbox)));
		say(ret, "it is to run with nothing around it");
	}
	if (ret->is_confined && ret->wish == ORCHESTRATOR_WITH_ACCESS) {
		unsigned int needed =
			ORCHESTRATOR_MAY_ASK_SANDBOX | ORCHESTRATOR_MAY_ASK_PERMISSIONS;

		if (has_destination(request))
			needed |= ORCHESTRATOR_MAY_ASK_NETWORK;
		be_stricter(ret, requirement_ask(&asking, needed));
		say(ret, "it asks for more than its sandbox gives");
	}
}

/* A destination: only of what the gate is around of. */
static void judge_network(const struct call *call, struct judgement *ret)
{
	const struct requirement_sandbox sandbox = requirement_sandbox(call->request.sandbox);
	struct requirement_asking asking = asking_of(call);

	ret->requirement = requirement_ask(&asking, ORCHESTRATOR_MAY_ASK_NETWORK);
	say(ret, "no rule allows it");
	if (!sandbox.is_network_restricted)
		ret->requirement = ORCHESTRATOR_FORBIDDEN;
}

static void judge_permissions(const struct call *call, struct judgement *ret)
{
	struct requirement_asking asking = asking_of(call);
	unsigned int needed = ORCHESTRATOR_MAY_ASK_PERMISSIONS;

	if (has_destination(&call->request))
		needed |= ORCHESTRATOR_MAY_ASK_NETWORK;
	ret->requirement = requirement_ask(&asking, needed);
	if (!call->request.reason) /* of ours, which says why */
		say(ret, "it asks for more than the sandbox gives");
}

void judgement_make(const struct call *call, struct judgement *ret)
{
	struct requirement_asking asking = asking_of(call);
	const struct orchestrator_request *request = &call->request;

	*ret = (struct judgement){ .is_confined = true, .requirement = ORCHESTRATOR_SKIP };
	switch (request->kind) {
	case ORCHESTRATOR_EXEC:
	case ORCHESTRATOR_PATCH:
		judge_run(call, ret);
		return;
	case ORCHESTRATOR_NETWORK:
		judge_network(call, ret);
		break;
	case ORCHESTRATOR_PERMISSIONS:
		judge_permissions(call, ret);
		break;
	case ORCHESTRATOR_ELICITATION:
		ret->requirement = requirement_ask(&asking, ORCHESTRATOR_MAY_ASK_ELICITATION);
		break;
	case ORCHESTRATOR_KINDS:
		ret->requirement = ORCHESTRATOR_FORBIDDEN;
		break;
	}
	add_supplied(call, 0, ret);
}

bool judgement_is_denied_now(const struct call *call)
{
	struct command_verdict verdict;

	if (call->request.kind != ORCHESTRATOR_EXEC)
		return false;
	command_rules_decide(orchestrator_rules(call->orchestrator), call->request.world,
			     call->request.argv, &verdict);
	return verdict.action == COMMAND_DENY;
}

static char **command_lines(const struct call *call)
{
	struct command_proposal proposal = { 0 };

	command_proposal(orchestrator_rules(call->orchestrator), call->request.world,
			 call->request.argv, &proposal);
	char **lines = mem_new_array(proposal.count + 1, sizeof(*lines));

	for (size_t i = 0; i < proposal.count; i++)
		lines[i] = mem_strdup(proposal.lines[i]);
	return lines;
}

/* All of them, or none: a part would not be what was asked. */
static char **destination_lines(const struct orchestrator_access *accesses, size_t count)
{
	auto_free_list char **lines = mem_new_array(count + 1, sizeof(*lines));

	for (size_t i = 0; i < count; i++) {
		lines[i] = access_line(&accesses[i], false);
		if (!lines[i])
			return mem_new_array(1, sizeof(*lines));
	}
	return take(lines);
}

char **judgement_proposal(const struct call *call)
{
	const struct orchestrator_request *request = &call->request;

	if (call->is_retry)
		return destination_lines(call->offered.list, call->offered.count);
	if (request->kind == ORCHESTRATOR_NETWORK)
		return destination_lines(request->accesses, request->access_count);
	/* A line would be of the command without its environment. */
	if (request->kind == ORCHESTRATOR_EXEC && call->judgement.is_confined &&
	    call->judgement.wish == ORCHESTRATOR_USUAL && !has_risky_env(request))
		return command_lines(call);
	return mem_new_array(1, sizeof(char *));
}
