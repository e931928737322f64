#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/mem.h"
#include "policies/engine/asker_impl.h"
#include "policies/language/clauses_impl.h"
#include "policies/engine/decide_impl.h"
#include "policies/hosts/host_impl.h"
#include "policies/files/layers_impl.h"
#include "policies/engine/request_impl.h"
#include "policies/engine/index_impl.h"
#include "policies/engine/rules_impl.h"
#include "policies/engine/search_impl.h"
#include "policies/hosts/special_impl.h"
#include "policies/policies_gate.h"
#include "policies/policies_tools.h"
#include "policies/language/settings_impl.h"

/* A denial. Sets the texts to "" instead of clearing them: they are most of a verdict, and clearing
 * them would take most of the time. */
static void decide_clear(enum policy_reason reason, struct policy_verdict *ret)
{
	ret->action = POLICY_DENY;
	ret->reason = reason;
	ret->promise = POLICY_NO_PROTOCOL;
	ret->may_private = false;
	ret->limits = (struct policy_limits){ 0 };
	ret->number = 0;
	ret->rule[0] = '\0';
	ret->because[0] = '\0';
	ret->by[0] = '\0';
}

static void decide_show_rule(const struct policy *policy, uint32_t number,
			     struct policy_verdict *ret)
{
	struct rule rule;

	rules_get(policy, number - 1, &rule);
	const struct source *source = &policy->sources[rule.source];

	ret->number = number;
	search_show(policy, &rule, ret->rule);
	ret->because[0] = '\0';
	ret->by[0] = '\0';
	if (rule.because > 0)
		(void)snprintf(ret->because, sizeof(ret->because), "%s",
			       policy->names + rule.because);
	if (rule.by_len > 0)
		(void)text_visible(ret->by, sizeof(ret->by), source->text + rule.by, rule.by_len);
}

/* @number: of the deciding rule; 0: none. */
static void decide_set(const struct policy *policy, uint32_t number, enum policy_action action,
		       enum policy_reason reason, struct policy_verdict *ret)
{
	ret->action = action;
	ret->reason = reason;
	if (number > 0)
		decide_show_rule(policy, number, ret);
}

static void decide_allow(const struct search *search, enum rule_action found,
			 enum policy_reason reason, struct policy_verdict *ret)
{
	decide_set(search->policy, search->best[found], POLICY_ALLOW, reason, ret);
	ret->promise = search->is_tcp[found] ? POLICY_TCP : search->target.carries;
	ret->may_private = search->is_private[found];
}

/* Decides by a rule that allows within limits: uses what this rule says, and nothing of other
 * rules. */
static void decide_bounded(const struct search *search, enum rule_action found,
			   enum policy_reason reason, struct policy_verdict *ret)
{
	struct rule rule;

	rules_get(search->policy, search->bounded[found] - 1, &rule);
	decide_set(search->policy, search->bounded[found], POLICY_ALLOW, reason, ret);
	ret->promise = rule.pattern.protocol == POLICY_TCP ? POLICY_TCP : search->target.carries;
	ret->may_private = search_says_private(search, &rule);
	clauses_limits_of(search->policy, &rule, &ret->limits);
}

/* Uses the least limited allow, because the policy allows that much. */
static void decide_by(const struct search *search, enum rule_action found,
		      enum policy_reason reason, struct policy_verdict *ret)
{
	if (search->best[found])
		decide_allow(search, found, reason, ret);
	else
		decide_bounded(search, found, reason, ret);
}

/* The limits in a rule that asks apply to any answer. */
static void decide_ask_limits(const struct search *search, struct policy_verdict *ret)
{
	struct policy_limits limits;
	struct rule rule;

	if (!search->bounded[RULE_ASK])
		return;
	rules_get(search->policy, search->bounded[RULE_ASK] - 1, &rule);
	clauses_limits_of(search->policy, &rule, &limits);
	limits.until_s = 0; /* the question has ended; an answer's end does not apply */
	policy_limits_narrow(&ret->limits, &limits);
}

/* A rule would decide, but has a clause that is not enforced yet: denied, never decided without the
 * clause. */
static void decide_not_enforced(const struct search *search, uint32_t number,
				struct policy_verdict *ret)
{
	char text[CLAUSES_TEXT_MAX];
	struct rule rule;

	rules_get_bare(search->policy, number - 1, &rule);
	unsigned int kinds = clauses_bounds(&rule);

	if (rule.action != RULE_ASK)
		kinds |= clauses_conditions(&rule) | asker_not_enforced(search->policy, &rule);
	clauses_text(kinds, text);
	decide_set(search->policy, number, POLICY_DENY, POLICY_NOT_ENFORCED, ret);
	(void)snprintf(ret->because, sizeof(ret->because), "%s: %s",
		       kinds & ~REQUEST_CONDITIONS ? "not enforced by this version"
						   : "can only be checked in plain http",
		       text);
}

/* Kept answers count only where a rule asks; a kept denial has precedence over a kept allow. */
static void decide_ask(const struct search *search, bool may_use_answers,
		       struct policy_verdict *ret)
{
	uint32_t answer_deny = search->best[RULE_ANSWER_DENY];
	bool is_private = search->is_private[RULE_ASK];

	if (may_use_answers && answer_deny) {
		decide_set(search->policy, answer_deny, POLICY_DENY, POLICY_ANSWER_DENY, ret);
		return;
	}
	if (may_use_answers && search_has(search, RULE_ANSWER_ALLOW)) {
		decide_by(search, RULE_ANSWER_ALLOW, POLICY_ANSWER_ALLOW, ret);
		ret->may_private |= is_private || search->is_explicit_only;
		decide_ask_limits(search, ret);
		return;
	}
	if (may_use_answers && search->not_enforced[RULE_ANSWER_ALLOW]) {
		decide_not_enforced(search, search->not_enforced[RULE_ANSWER_ALLOW], ret);
		return;
	}
	decide_set(search->policy,
		   search->bounded[RULE_ASK] ? search->bounded[RULE_ASK] : search->best[RULE_ASK],
		   POLICY_ASK, POLICY_ASKED, ret);
	decide_ask_limits(search, ret);
	ret->promise = search->target.carries;
	/* A person who allows an address literal has read it in the question. */
	ret->may_private = is_private || search->is_explicit_only || search->target.addr;
}

static void decide_by_default(const struct search *search, enum policy_action action,
			      struct policy_verdict *ret)
{
	uint32_t expired = search->expired[RULE_ALLOW];

	if (action != POLICY_ALLOW) {
		decide_set(search->policy, expired, POLICY_DENY,
			   expired ? POLICY_EXPIRED : POLICY_DEFAULT_DENY, ret);
		return;
	}
	decide_set(search->policy, 0, POLICY_ALLOW, POLICY_DEFAULT_ALLOW, ret);
	ret->promise = search->target.carries;
}

/* Denials that no rule, answer or person can change. */
static enum policy_reason decide_guard(const struct policy_facts *facts)
{
	const struct policy_destination *dst = &facts->dst;
	size_t len = strnlen(dst->host, sizeof(dst->host));

	if (len == 0 || len == sizeof(dst->host) || dst->port == 0)
		return POLICY_BAD_HOST;
	if (facts->carries != POLICY_HTTP && facts->carries != POLICY_HTTPS &&
	    facts->carries != POLICY_TCP && facts->carries != POLICY_UDP)
		return POLICY_UNSUPPORTED;
	if (dst->addr.family == 0)
		return host_is_metadata(dst->host)                ? POLICY_METADATA_ADDRESS
		       : strcmp(dst->host, POLICY_GATE_HOST) == 0 ? POLICY_OWN_LISTENER
								  : POLICY_NONE;

	enum special_class class = special_class(&dst->addr);

	return class == SPECIAL_METADATA ? POLICY_METADATA_ADDRESS
	       : class == SPECIAL_NEVER  ? POLICY_SPECIAL_ADDRESS
					 : POLICY_NONE;
}

static void decide_search(struct search *search)
{
	search_any(search);
	if (search->target.addr)
		search_address(search);
	else
		search_name(search);
}

/* `only` applies to what leaves the sandbox: not to its own loopback if no rule names it. */
static bool decide_is_outside(const struct search *search)
{
	bool is_inside = search->is_explicit_only && !search_has(search, RULE_ASK) &&
			 !search_has(search, RULE_ALLOW);

	return search->policy->has_only && !search->best[RULE_ONLY] && !is_inside;
}

static void decide_found(const struct search *search, enum policy_action otherwise,
			 bool may_use_answers, struct policy_verdict *ret)
{
	bool is_loopback = search->is_explicit_only;
	bool is_udp = search->target.carries == POLICY_UDP;

	if (search->best[RULE_DENY]) {
		decide_set(search->policy, search->best[RULE_DENY], POLICY_DENY, POLICY_RULE_DENY,
			   ret);
	} else if (decide_is_outside(search)) {
		decide_set(search->policy, 0, POLICY_DENY, POLICY_OUTSIDE_ONLY, ret);
	} else if (search->not_enforced[RULE_ASK]) {
		decide_not_enforced(search, search->not_enforced[RULE_ASK], ret);
	} else if (search_has(search, RULE_ASK)) {
		decide_ask(search, may_use_answers, ret);
	} else if (search_has(search, RULE_ALLOW)) {
		decide_by(search, RULE_ALLOW, POLICY_RULE_ALLOW, ret);
		ret->may_private |= is_loopback;
	} else if (search->not_enforced[RULE_ALLOW]) {
		decide_not_enforced(search, search->not_enforced[RULE_ALLOW], ret);
	} else if (is_udp) {
		/* Without a rule for UDP none leaves, whatever the default is. */
		decide_by_default(search, POLICY_DENY, ret);
		(void)snprintf(ret->because, sizeof(ret->because), "%s",
			       "UDP leaves only where a rule names it");
	} else if (is_loopback) {
		/* No rule names it: it is the command's own loopback, and never leaves the
		 * sandbox. */
		decide_set(search->policy, 0, POLICY_ALLOW, POLICY_INSIDE, ret);
		ret->promise = search->target.carries;
	} else if (otherwise == POLICY_ASK) {
		decide_ask(search, may_use_answers, ret);
	} else {
		decide_by_default(search, otherwise, ret);
	}
}

/* A tcp:// rule allows any protocol, so rules that deny or ask about another protocol must apply
 * too: if there is one, the promise stays as narrow as the request. */
static void decide_promise(const struct search *search, struct policy_verdict *ret)
{
	struct search any = { .policy = search->policy,
			      .target = { search->target.dst, search->target.addr, POLICY_TCP },
			      .now = search->now,
			      .asker = search->asker,
			      .is_explicit_only = search->is_explicit_only };
	bool is_answer = ret->reason == POLICY_ANSWER_ALLOW;

	if (ret->promise == search->target.carries)
		return;
	decide_search(&any);
	if (any.best[RULE_DENY] || search_has(&any, is_answer ? RULE_ANSWER_DENY : RULE_ASK) ||
	    any.not_enforced[RULE_ASK] || decide_is_outside(&any))
		ret->promise = search->target.carries;
}

/* `approvals never`, or approvals without network: a question becomes a denial. */
static void decide_approvals(const struct policy *policy, struct policy_verdict *ret)
{
	const struct setting *setting;

	if (!agent_line_may_not_ask(policy, POLICY_ABOUT_NETWORK, &setting))
		return;
	ret->action = POLICY_DENY;
	ret->reason = POLICY_NO_APPROVER;
	ret->promise = POLICY_NO_PROTOCOL;
	ret->may_private = false;
	ret->limits = (struct policy_limits){ 0 };
	(void)snprintf(ret->because, sizeof(ret->because), "%s:%u: approvals %s",
		       policy->sources[setting->source].name, setting->number,
		       policy->names + setting->text);
}

/* The connection leads into the sandbox, and the command line has allowed it. A rule that names a
 * loopback address means the host's, so no rule is about it. */
static void decide_published(const struct policy *policy, const struct policy_facts *facts,
			     struct policy_verdict *ret)
{
	if (!policy_destination_is_loopback(&facts->dst) || facts->carries != POLICY_TCP) {
		decide_clear(POLICY_UNSUPPORTED, ret);
		return;
	}
	decide_set(policy, 0, POLICY_ALLOW, POLICY_INSIDE, ret);
	ret->promise = POLICY_TCP;
}

static void decide(const struct policy *policy, const struct policy_facts *facts,
		   enum policy_action otherwise, bool may_use_answers, struct policy_verdict *ret)
{
	const struct policy_destination *dst = &facts->dst;
	enum policy_reason guard = decide_guard(facts);

	decide_clear(guard, ret);
	if (guard != POLICY_NONE)
		return;
	if (facts->way == POLICY_WAY_PUBLISHED) {
		decide_published(policy, facts, ret);
		return;
	}
	struct addr literal = dst->addr;

	addr_unmap(&literal);
	struct search search = {
		.policy = policy,
		.target = { dst, literal.family ? &literal : NULL, facts->carries },
		.request = facts->request,
		.now = facts->now ? facts->now : policy->start,
		.asker = facts->asker,
		.is_explicit_only = policy_destination_is_loopback(dst),
	};

	decide_search(&search);
	decide_found(&search, otherwise, may_use_answers, ret);
	if (ret->action == POLICY_ALLOW)
		decide_promise(&search, ret);
	/* A literal is checked at once, so that nothing is reported as allowed that can never be
	 * dialled. */
	if (ret->action == POLICY_ALLOW && search.target.addr)
		policy_decide_address(policy, dst, ret, search.target.addr, ret);
	if (ret->action == POLICY_ASK && may_use_answers)
		decide_approvals(policy, ret);
}

void decide_by_rules(const struct policy *policy, const struct policy_facts *facts,
		     struct policy_verdict *ret)
{
	enum policy_action otherwise = layers_otherwise(policy);

	/* An expectation in a file must not depend on the command line. */
	(void)policy_get_default(policy, &otherwise);
	decide(policy, facts, otherwise, false, ret);
}

void policy_decide(const struct policy *policy, const struct policy_facts *facts,
		   struct policy_verdict *ret)
{
	if (policy->problems.count > 0 || !index_is_whole(policy)) {
		decide_clear(POLICY_DEFAULT_DENY, ret);
		return;
	}
	decide(policy, facts, layers_otherwise(policy), true, ret);
}

static void decide_refuse(enum policy_reason reason, struct policy_verdict *ret)
{
	ret->action = POLICY_DENY;
	ret->reason = reason;
	ret->promise = POLICY_NO_PROTOCOL;
	ret->may_private = false;
	ret->limits = (struct policy_limits){ 0 };
}

/* `allow * except 10.0.0.0/8`: does a rule still allow the name, now that its address is known? */
static bool decide_is_still_allowed(const struct search *addressed,
				    const struct policy_verdict *verdict)
{
	enum policy_reason allowed_by = verdict->reason;
	struct search search = { .policy = addressed->policy,
				 .target = addressed->target,
				 .by = verdict->rule,
				 .now = addressed->now };

	if (!search.policy->has_address_exceptions || search.target.dst->addr.family != 0)
		return true;
	if (allowed_by != POLICY_RULE_ALLOW && allowed_by != POLICY_ANSWER_ALLOW)
		return true;
	search_any(&search);
	search_name(&search);
	return search_has(&search,
			  allowed_by == POLICY_RULE_ALLOW ? RULE_ALLOW : RULE_ANSWER_ALLOW);
}

static enum policy_reason decide_address_reason(const struct search *search,
						const struct policy_verdict *verdict)
{
	enum special_class class = special_class(search->target.addr);
	struct policy_destination dialled = { .host = "", .addr = *search->target.addr };
	bool is_loopback = policy_destination_is_loopback(&dialled);

	if (class == SPECIAL_METADATA)
		return POLICY_METADATA_ADDRESS;
	if (class == SPECIAL_NEVER)
		return POLICY_SPECIAL_ADDRESS;
	if (search->best[RULE_DENY])
		return POLICY_RULE_DENY;
	if (verdict->reason == POLICY_INSIDE)
		return is_loopback ? POLICY_NONE : POLICY_PRIVATE_ADDRESS;
	/* A resolver that returns another address for localhost is not trusted. */
	if (policy_destination_is_loopback(search->target.dst) && !is_loopback)
		return POLICY_PRIVATE_ADDRESS;
	if (class == SPECIAL_PRIVATE && !verdict->may_private && !search->is_private[RULE_ALLOW])
		return POLICY_PRIVATE_ADDRESS;
	return POLICY_NONE;
}

void policy_decide_address(const struct policy *policy, const struct policy_destination *dst,
			   const struct policy_verdict *verdict, const struct addr *resolved,
			   struct policy_verdict *ret)
{
	struct policy_verdict out = *verdict; /* @ret may be @verdict */
	struct addr addr = *resolved;

	addr_unmap(&addr);
	struct search search = {
		.policy = policy,
		.target = { dst, &addr, verdict->promise ? verdict->promise : POLICY_TCP },
		/* Rules that have ended since the start still deny. */
		.now = policy->start,
	};

	if (verdict->action != POLICY_ALLOW || !index_is_whole(policy)) {
		decide_refuse(verdict->reason, &out);
		*ret = out;
		return;
	}
	search_address(&search);
	enum policy_reason reason = decide_address_reason(&search, verdict);

	if (reason == POLICY_RULE_DENY)
		decide_show_rule(policy, search.best[RULE_DENY], &out);
	if (reason == POLICY_NONE && !decide_is_still_allowed(&search, &out))
		reason = POLICY_RULE_DENY; /* @out shows the rule with that exception */
	if (reason != POLICY_NONE)
		decide_refuse(reason, &out);
	*ret = out;
}

/* Only `deny` applies to an alias: an allow names the requested host. As with addresses, conditions
 * on the request and the requester count as met. */
void policy_decide_alias(const struct policy *policy, const struct policy_destination *dst,
			 const struct policy_verdict *verdict, const char *alias,
			 struct policy_verdict *ret)
{
	struct policy_destination other = { .protocol = dst->protocol, .port = dst->port };
	struct policy_verdict out = *verdict; /* @ret may be @verdict */
	struct search search = {
		.policy = policy,
		.target = { &other, NULL, verdict->promise ? verdict->promise : POLICY_TCP },
		.now = policy->start,
	};

	(void)snprintf(other.host, sizeof(other.host), "%s", alias);
	if (verdict->action != POLICY_ALLOW || !index_is_whole(policy)) {
		decide_refuse(verdict->reason, &out);
	} else {
		search_name(&search);
		if (search.best[RULE_DENY]) {
			decide_show_rule(policy, search.best[RULE_DENY], &out);
			decide_refuse(POLICY_RULE_DENY, &out);
		}
	}
	*ret = out;
}
