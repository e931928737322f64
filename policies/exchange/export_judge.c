#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/language/clauses_impl.h"
#include "policies/exchange/export_impl.h"
#include "policies/files/layers_impl.h"
#include "policies/policies_tools.h"
#include "policies/engine/rules_impl.h"

#define JUDGE_ROUNDS_MAX 16

/* Compares two policies: the export, as the format interprets it, and what may be exported, which
 * is this policy or (if the person asked for it) this policy with wider allows. The first one must
 * not allow anything that the second one does not. */
struct judge {
	struct export *export;
	char *text; /* of the policy being written; owned */
	size_t len, room;
	size_t found; /* allows left out in this round */
	bool is_lost; /* the export is wider, but not because of an entry */
};

static void judge_add(struct judge *judge, const char *text)
{
	size_t len = strlen(text);

	judge->text = mem_reserve(judge->text, &judge->room, judge->len + len + 1, 1);
	memcpy(judge->text + judge->len, text, len + 1);
	judge->len += len;
}

/* Writes the meaning of @entry in the format: any protocol, and all ports if the format has none.
 */
static void judge_entry(struct judge *judge, const struct export_entry *entry)
{
	struct pattern pattern = entry->pattern;

	pattern.protocol = POLICY_TCP;
	pattern.has_ports = true;
	auto_free char *text = export_text(judge->export->policy, &pattern, entry->has_all_ports);
	auto_free char *line = mem_printf("%s %s broad\n", entry->is_deny ? "deny" : "allow", text);

	judge_add(judge, line);
}

static void judge_exported(struct judge *judge)
{
	const struct export *export = judge->export;

	judge_add(judge, "default deny\n");
	for (size_t i = 0; i < export->entry_count; i++) {
		const struct export_entry *entry = &export->entries[i];

		/* A denied address block is compared with the address that was asked for, not with
		 * the addresses of a name. */
		bool is_said = !entry->is_deny ||
			       (export->format->carves && entry->pattern.kind != PATTERN_BLOCK);

		if (!entry->is_left_out && is_said)
			judge_entry(judge, entry);
	}
}

static void judge_except(struct judge *judge, const struct rule *rule, bool is_widened)
{
	const struct policy *policy = judge->export->policy;

	for (uint32_t i = 0; i < rule->exception_count; i++) {
		struct pattern exception = policy->exceptions[rule->exceptions + i];

		if (is_widened) {
			exception.protocol = POLICY_NO_PROTOCOL; /* as in its rule */
			exception.has_ports = false;
		}
		auto_free char *text = export_text(policy, &exception, false);
		auto_free char *words = mem_printf("%s%s", i == 0 ? " except " : " ", text);

		judge_add(judge, words);
	}
}

/* Writes a rule of the policy, or a narrower one: an allow with clauses is left out, and a denial
 * or question with a condition applies always. */
static void judge_rule(struct judge *judge, size_t index)
{
	static const char *const words[] = {
		[RULE_DENY] = "deny",
		[RULE_ASK] = "ask",
		[RULE_ALLOW] = "allow",
		[RULE_ANSWER_DENY] = "answer deny",
		[RULE_ANSWER_ALLOW] = "answer allow",
		[RULE_ONLY] = "only",
	};
	const struct export *export = judge->export;
	struct rule plain;
	const struct rule *rule = &plain;

	rules_get_bare(export->policy, (uint32_t)index, &plain);
	if (rule->pattern.protocol == POLICY_UDP)
		return;
	bool loosens = rule->action == RULE_ALLOW || rule->action == RULE_ANSWER_ALLOW;
	bool is_widened = rule->action == RULE_ALLOW &&
			  export->may_widen; /* as an answer: it precedes an ask */
	bool has_ports = export->format->has_ports;
	struct pattern pattern = rule->pattern;

	if (loosens && (rule->clause_kinds & ~BIT(CLAUSE_NO_INSPECT) ||
			!layers_may_loosen(export->policy, rule->source)))
		return;
	if (is_widened) {
		pattern.protocol = POLICY_TCP;
		pattern.has_ports = true;
	}
	auto_free char *text = export_text(export->policy, &pattern, is_widened && !has_ports);
	const char *word =
		rule->action == RULE_ASK && clauses_bounds(rule) ? "deny" : words[rule->action];
	auto_free char *line =
		mem_printf("%s %s%s broad", word, text, rule->is_private ? " private" : "");

	judge_add(judge, line);
	judge_except(judge, rule, is_widened);
	judge_add(judge, "\n");
}

static void judge_allowed(struct judge *judge)
{
	const struct policy *policy = judge->export->policy;
	enum policy_action action = POLICY_DENY;

	/* A destination that only the default allows is never exported. */
	if (policy_get_default(policy, &action) || policy->has_set_default)
		action = policy->has_set_default ? policy->set_default : action;
	judge_add(judge, action == POLICY_ASK ? "default ask\n" : "default deny\n");
	for (size_t i = 0; i < policy->rule_count; i++)
		judge_rule(judge, i);
}

static struct policy *judge_load(struct judge *judge, void (*write)(struct judge *judge))
{
	struct policy *policy = policy_new();

	judge->len = 0;
	write(judge);
	if (policy_load_text_layer(policy, "export", judge->text, POLICY_MANAGED) == 0 &&
	    policy_finish(policy) == 0)
		return policy;
	(void)err_set(judge->export->exchange->why, -EINVAL, "cannot be compared: %s",
		      policy_errors(policy));
	policy_free(policy);
	return NULL;
}

static void judge_leave_out(struct judge *judge, struct export_entry *entry,
			    const struct policy_change *change)
{
	const struct export *export = judge->export;

	entry->is_left_out = true;
	judge->found++;
	export_lose(export, entry->rule, "%s left out: it would also allow %s%s%s", entry->host,
		    change->example, change->resolved[0] ? " at " : "", change->example_address);
}

static void judge_change(const struct policy_change *change, void *arg)
{
	struct judge *judge = arg;
	const struct export *export = judge->export;
	struct policy_destination dst;
	bool is_found = false;

	judge->is_lost |= change->rule[0] != '\0'; /* neither policy has conditions */
	if (judge->is_lost || change->after != POLICY_ALLOW ||
	    (change->resolved[0] && export->may_widen))
		return;
	judge->is_lost |= policy_destination_parse(change->example, &dst, NULL) < 0;
	for (size_t i = 0; i < export->entry_count && !judge->is_lost; i++) {
		struct export_entry *entry = &export->entries[i];
		const struct pattern_target target = { &dst, dst.addr.family ? &dst.addr : NULL,
						       POLICY_TCP };

		if (entry->is_deny || !match_host(export->policy, &entry->pattern, &target) ||
		    (!entry->has_all_ports &&
		     !ports_has(export->policy, &entry->pattern, dst.port)))
			continue;
		is_found = true;
		if (!entry->is_left_out)
			judge_leave_out(judge, entry, change);
	}
	/* The command's own loopback is not reached through the gate. */
	judge->is_lost |= !is_found && !policy_destination_is_loopback(&dst);
}

/* 1: nothing was wider; 0: the wider entries are left out now. */
static int judge_round(struct judge *judge)
{
	struct policy *exported = judge_load(judge, judge_exported);
	struct policy *allowed = exported ? judge_load(judge, judge_allowed) : NULL;
	size_t count;
	int r = -EINVAL;

	judge->found = 0;
	if (allowed)
		r = policy_diff(allowed, exported, SIZE_MAX, judge_change, judge, &count,
				judge->export->exchange->why);
	policy_free(allowed);
	policy_free(exported);
	if (r < 0)
		return r;
	if (judge->is_lost)
		return err_set(judge->export->exchange->why, -EINVAL,
			       "cannot be proven to be no wider than the policy");
	return judge->found == 0;
}

int export_judge(struct export *export)
{
	struct judge judge = { .export = export };
	int r = 0;

	for (size_t i = 0; i < JUDGE_ROUNDS_MAX && r == 0; i++)
		r = judge_round(&judge);
	free(judge.text);
	if (r == 0)
		return err_set(export->exchange->why, -EINVAL,
			       "cannot be proven to be no wider than the policy");
	return r < 0 ? r : 0;
}
