#include "exec/orchestrator/judging/judgement.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/orchestrator/judging/access.h"
#include "exec/orchestrator/judging/requirement.h"
#include "exec/orchestrator/setting.h"

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

static struct requirement_asking asking_of(const struct setting *setting)
{
	return (struct requirement_asking){ setting->config.mode, setting->config.categories };
}

/* A request to be asked each time does not lift the limits on what may be asked: @needed is checked
 * as well. */
static void add_one_shot(const struct setting *setting, const struct orchestrator_request *wanted,
			 unsigned int needed, struct judgement *ret)
{
	struct requirement_asking asking = asking_of(setting);

	if (!wanted->is_one_shot)
		return;
	be_stricter(ret, requirement_ask(&asking, needed));
	be_stricter(ret, ORCHESTRATOR_ONE_SHOT);
}

static bool has_destination(const struct orchestrator_request *wanted)
{
	for (size_t i = 0; i < wanted->access_count; i++) {
		if (wanted->accesses[i].what == ORCHESTRATOR_DESTINATION)
			return true;
	}
	return false;
}

/* By its sandbox, or by an earlier answer. */
static bool is_given(const struct orchestrator_request *wanted,
		     const struct orchestrator_access *access)
{
	for (size_t i = 0; i < wanted->granted_count; i++) {
		if (access_is_equal(&wanted->granted[i], access))
			return true;
	}
	return access_is_given(wanted->sandbox, access);
}

static bool is_all_given(const struct orchestrator_request *wanted)
{
	for (size_t i = 0; i < wanted->access_count; i++) {
		if (!is_given(wanted, &wanted->accesses[i]))
			return false;
	}
	return true;
}

/* What remains of the requested confinement: access that is given already is not asked for, and a
 * sandbox that hides files cannot be left. */
static enum orchestrator_confinement effective_confinement(
	const struct orchestrator_request *wanted, const struct requirement_sandbox *sandbox)
{
	if (wanted->confinement == ORCHESTRATOR_ESCALATED && sandbox->has_denials)
		return ORCHESTRATOR_USUAL;
	if (wanted->confinement == ORCHESTRATOR_WITH_ACCESS && is_all_given(wanted))
		return ORCHESTRATOR_USUAL;
	return wanted->confinement;
}

/* In the words of the rule that decided, or of the reason why it is dangerous. */
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

/* Can a variable set for this request only change what the command does? An inherited variable is
 * the same as when the rules were written. */
static bool has_risky_env(const struct orchestrator_request *wanted)
{
	for (const char *const *variable = wanted->env; *variable; variable++) {
		if (strchr(*variable, '=') && !command_is_harmless_variable(*variable))
			return true;
	}
	return false;
}

/* As in a script where NAME=VALUE precedes the command: no rule and no list allows it. */
static void discount_env(struct command_verdict *verdict)
{
	if (verdict->action == COMMAND_ALLOW)
		verdict->action = COMMAND_UNMATCHED;
	verdict->is_unconfined = verdict->is_safe = false;
}

/* Could a rule apply to the part that was not understood? A rule that asks applies to the visible
 * part only, because the sandbox protects against the rest. A denial applies everywhere, so it has
 * to be checked, by a person or when the program is executed. */
static bool may_be_meant(const struct setting *setting, const struct requirement_run *run,
			 const struct command_verdict *verdict)
{
	const struct command_rules *rules = setting_rules(setting);
	bool is_usual = run->confinement == ORCHESTRATOR_USUAL && requirement_is_confined(run);

	if (command_rules_count(rules) == 0 || verdict->seen <= COMMAND_ASK || !is_usual)
		return command_rules_count(rules) > 0;
	return command_rules_has_denials(rules) && !setting->config.judges_programs;
}

static void judge_command(const struct setting *setting, const struct orchestrator_request *wanted,
			  const struct requirement_sandbox *sandbox, struct requirement_run *run,
			  struct judgement *ret)
{
	struct command_verdict verdict;
	bool is_by_rule;

	command_rules_decide(setting_rules(setting), wanted->world, wanted->argv, &verdict);
	if (has_risky_env(wanted))
		discount_env(&verdict);
	const struct requirement_command command = {
		.asking = asking_of(setting),
		.unmatched = { .mode = setting->config.mode,
			       .is_safe = verdict.is_safe,
			       .is_dangerous = verdict.danger[0] != '\0',
			       .is_open = requirement_is_open(sandbox),
			       .confinement = ret->confinement },
		.action = verdict.action,
		.is_understood = verdict.is_understood,
		.has_rules = may_be_meant(setting, run, &verdict),
	};

	ret->requirement = requirement_command(&command, &is_by_rule);
	ret->program = verdict.program;
	run->is_rule_unconfined =
		verdict.is_unconfined && setting->config.may_leave_by_rule && !wanted->must_confine;
	ret->is_rule_open = run->is_rule_unconfined;
	ret->is_rule_held = verdict.is_unconfined && !setting->config.may_leave_by_rule;
	ret->is_by_rule = is_by_rule || verdict.action == COMMAND_ALLOW;
	if (ret->is_by_rule)
		(void)snprintf(ret->rule, sizeof(ret->rule), "%s", verdict.rule);
	explain_command(&verdict, is_by_rule, ret);
	add_one_shot(setting, wanted, ORCHESTRATOR_MAY_ASK_SANDBOX, ret);
}

static void judge_patch(const struct setting *setting, const struct orchestrator_request *wanted,
			struct judgement *ret)
{
	struct requirement_asking asking = asking_of(setting);

	ret->requirement = requirement_patch(&asking, wanted->place);
	ret->is_by_rule = wanted->place == ORCHESTRATOR_NO_PLACE;
	if (wanted->place == ORCHESTRATOR_NO_PLACE)
		say(ret, "%s", wanted->reason ? wanted->reason : "this file cannot be changed");
	add_one_shot(setting, wanted, ORCHESTRATOR_MAY_ASK_SANDBOX, ret);
}

/* Judges a run: how it is confined, and what of that has to be asked. */
static void judge_run(const struct setting *setting, const struct orchestrator_request *wanted,
		      struct judgement *ret)
{
	struct requirement_asking asking = asking_of(setting);
	struct requirement_run run = { .sandbox = requirement_sandbox(wanted->sandbox) };

	ret->confinement = run.confinement = effective_confinement(wanted, &run.sandbox);
	if (wanted->kind == ORCHESTRATOR_EXEC)
		judge_command(setting, wanted, &run.sandbox, &run, ret);
	else
		judge_patch(setting, wanted, ret);
	ret->is_confined = requirement_is_confined(&run);
	ret->is_wider = requirement_is_wider(&run);
	if (ret->is_wider) {
		be_stricter(ret, requirement_ask(&asking, requirement_leaving(&run.sandbox)));
		say(ret, "it asks to run without a sandbox");
	}
	if (ret->is_confined && ret->confinement == ORCHESTRATOR_WITH_ACCESS) {
		unsigned int needed =
			ORCHESTRATOR_MAY_ASK_SANDBOX | ORCHESTRATOR_MAY_ASK_PERMISSIONS;

		if (has_destination(wanted))
			needed |= ORCHESTRATOR_MAY_ASK_NETWORK;
		be_stricter(ret, requirement_ask(&asking, needed));
		say(ret, "it asks for more access than its sandbox gives");
	}
}

static void judge_permissions(const struct setting *setting,
			      const struct orchestrator_request *wanted, struct judgement *ret)
{
	struct requirement_asking asking = asking_of(setting);
	unsigned int needed = ORCHESTRATOR_MAY_ASK_PERMISSIONS;

	if (has_destination(wanted))
		needed |= ORCHESTRATOR_MAY_ASK_NETWORK;
	ret->requirement = requirement_ask(&asking, needed);
	if (!wanted->reason) /* our own reason already says why */
		say(ret, "it asks for more access than the sandbox gives");
}

void judgement_make(const struct setting *setting, const struct orchestrator_request *wanted,
		    struct judgement *ret)
{
	struct requirement_asking asking = asking_of(setting);

	*ret = (struct judgement){ .is_confined = true, .requirement = ORCHESTRATOR_SKIP };
	switch (wanted->kind) {
	case ORCHESTRATOR_EXEC:
	case ORCHESTRATOR_PATCH:
		judge_run(setting, wanted, ret);
		return;
	case ORCHESTRATOR_PERMISSIONS:
		judge_permissions(setting, wanted, ret);
		break;
	case ORCHESTRATOR_ELICITATION:
		ret->requirement = requirement_ask(&asking, ORCHESTRATOR_MAY_ASK_ELICITATION);
		break;
	case ORCHESTRATOR_NETWORK: /* not the kind of a request */
	case ORCHESTRATOR_KINDS:
		ret->requirement = ORCHESTRATOR_FORBIDDEN;
		break;
	}
	add_one_shot(setting, wanted, 0, ret);
}

bool judgement_is_denied_now(const struct setting *setting,
			     const struct orchestrator_request *wanted, struct judgement *judgement)
{
	struct command_verdict verdict;

	if (wanted->kind != ORCHESTRATOR_EXEC)
		return false;
	command_rules_decide(setting_rules(setting), wanted->world, wanted->argv, &verdict);
	if (verdict.action != COMMAND_DENY)
		return false;
	(void)snprintf(judgement->rule, sizeof(judgement->rule), "%s", verdict.rule);
	return true;
}

static char **command_lines(const struct setting *setting,
			    const struct orchestrator_request *wanted)
{
	struct command_proposal proposal = { 0 };

	command_proposal(setting_rules(setting), wanted->world, wanted->argv, &proposal);
	char **lines = mem_new_array(proposal.count + 1, sizeof(*lines));

	for (size_t i = 0; i < proposal.count; i++)
		lines[i] = mem_strdup(proposal.lines[i]);
	return lines;
}

/* The lines for all of them, or none: some of them would not match the question. */
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

char **judgement_retry_proposal(const struct access_list *offered)
{
	return destination_lines(offered->list, offered->count);
}

char **judgement_proposal(const struct setting *setting, const struct orchestrator_request *wanted,
			  const struct judgement *judgement)
{
	/* A line would allow the command without its environment. */
	if (wanted->kind == ORCHESTRATOR_EXEC && judgement->is_confined &&
	    judgement->confinement == ORCHESTRATOR_USUAL && !has_risky_env(wanted))
		return command_lines(setting, wanted);
	return mem_new_array(1, sizeof(char *));
}
