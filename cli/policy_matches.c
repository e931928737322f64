#include "cli/policy_matches.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "cli/policy_change.h"
#include "policies/policies_tools.h"

#define UNTIL_MAX 40

void policy_matches_until(const struct policy_rule_look *look, char *out, size_t size)
{
	time_t seconds = look->until;
	struct tm parts;

	out[0] = '\0';
	if (look->until && gmtime_r(&seconds, &parts))
		(void)strftime(out, size, "until %Y-%m-%dT%H:%M:%SZ", &parts);
}

/* What keeps a rule that matches from counting. Returned owned. */
static char *why_not(const struct policy_rule_look *look, bool is_asked)
{
	char until[UNTIL_MAX];

	policy_matches_until(look, until, sizeof(until));
	switch (look->match) {
	case POLICY_MATCH_EXPIRED:
		return until[0] ? mem_printf("expired: it held %s", until)
				: mem_strdup("expired, or the time is not known");
	case POLICY_MATCH_UNTRUSTED:
		return mem_strdup("does not count: the project's file is not trusted");
	case POLICY_MATCH_NOT_ENFORCED:
		return mem_printf("not enforced by this version: %s", look->not_enforced);
	case POLICY_MATCH_NO:
	case POLICY_MATCHES:
		break;
	}
	if (look->is_answer && !is_asked)
		return mem_strdup("not consulted: nothing is asked");
	return mem_strdup(until);
}

/* Was a question the outcome, or would it have been without a kept answer? */
static bool is_asked(const struct policy_verdict *verdict)
{
	return verdict->action == POLICY_ASK || verdict->reason == POLICY_ANSWER_ALLOW ||
	       verdict->reason == POLICY_ANSWER_DENY || verdict->reason == POLICY_NO_APPROVER;
}

/* Returned owned; "" when nothing can. */
static char *change(const struct policy_matches *matches)
{
	const struct policy_verdict *verdict = matches->verdict;
	char text[POLICY_DESTINATION_TEXT_MAX];
	const char *colon = strstr(verdict->rule, ": "); /* "FILE:LINE: the line" */
	int line = colon ? (int)(colon - verdict->rule) : 0;

	(void)policy_destination_text(&matches->facts->dst, text);
	switch ((int)verdict->reason) {
	case POLICY_DEFAULT_DENY:
	case POLICY_ASKED:
		if (!verdict->rule[0])
			return mem_printf("`allow %s` or `deny %s` in a policy file", text, text);
		return mem_printf("`deny %s`, or %.*s without the rule", text, line, verdict->rule);
	case POLICY_RULE_DENY:
		return mem_printf("%.*s without the rule, or with `except %s` on it", line,
				  verdict->rule, matches->facts->dst.host);
	case POLICY_NOT_ENFORCED:
		return mem_printf("%.*s without the clause, if the rest of it is still meant", line,
				  verdict->rule);
	case POLICY_OUTSIDE_ONLY:
		return mem_printf("`only %s` in the managed layer, and a rule that allows it",
				  text);
	case POLICY_ANSWER_ALLOW:
	case POLICY_ANSWER_DENY:
		return mem_printf("%.*s without the answer: it is asked again", line,
				  verdict->rule);
	case POLICY_NO_APPROVER:
		return mem_printf("`allow %s`, or the setting `approvals` taken out", text);
	case POLICY_RULE_ALLOW:
	case POLICY_DEFAULT_ALLOW:
	case POLICY_INSIDE:
		return mem_printf("`deny %s` in a policy file", text);
	default:
		return mem_strdup("");
	}
}

static void print_row(const char *name, const char *text)
{
	if (text[0])
		(void)printf("  %-8s %s\n", name, text);
}

/* A plain rule does not say who added it; its file says who could, and when at the latest. */
static void print_file(const char *rule, const char *added)
{
	char when[POLICY_CHANGE_TEXT_MAX], owner[POLICY_CHANGE_TEXT_MAX];

	if (!added[0] && policy_change_file(rule, when, owner))
		(void)printf("  %-8s last changed %s, owned by %s\n", "file", when, owner);
}

void policy_matches_print(const struct policy_matches *matches)
{
	const struct policy_verdict *verdict = matches->verdict;
	struct policy_rule_look look;
	bool is_first = true;
	auto_free char *changes = change(matches), *others = policy_change_others(matches);

	if (verdict->number > 0) {
		policy_rule_look(matches->policy, verdict->number, NULL, &look);
		print_row("layer", policy_layer_name(look.layer));
		print_row("added", look.when);
		print_file(verdict->rule, look.when);
	}
	for (size_t i = 1; i <= policy_rule_count(matches->policy); i++) {
		policy_rule_look(matches->policy, i, matches->facts, &look);
		if (look.match == POLICY_MATCH_NO || i == verdict->number)
			continue;
		auto_free char *why = why_not(&look, is_asked(verdict));

		(void)printf("  %-8s %s (%s)%s%s\n", is_first ? "also" : "", look.rule,
			     policy_layer_name(look.layer), why[0] ? ": " : "", why);
		is_first = false;
	}
	if (changes[0])
		(void)printf("  %-8s %s%s\n", "change", changes, others);
}

static json_t *match_object(const struct policy_rule_look *look, bool may_answer)
{
	auto_free char *why = why_not(look, may_answer);
	char until[UNTIL_MAX];

	policy_matches_until(look, until, sizeof(until));
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b}", "statement", look->word,
			 "rule", look->rule, "layer", policy_layer_name(look->layer), "added_by",
			 look->by, "added_at", look->when, "until",
			 until[0] ? until + strlen("until ") : "", "note", why, "counts",
			 (int)(look->match == POLICY_MATCHES));
}

int policy_matches_put(const struct policy_matches *matches, json_t *object)
{
	const struct policy_verdict *verdict = matches->verdict;
	struct policy_rule_look look = { 0 };
	json_t *list = json_array();
	auto_free char *changes = change(matches), *others = policy_change_others(matches);
	auto_free char *told = mem_printf("%s%s", changes, changes[0] ? others : "");
	char when[POLICY_CHANGE_TEXT_MAX] = "", owner[POLICY_CHANGE_TEXT_MAX] = "";
	const char *layer = "";
	int r = 0;

	for (size_t i = 1; i <= policy_rule_count(matches->policy); i++) {
		policy_rule_look(matches->policy, i, matches->facts, &look);
		if (look.match != POLICY_MATCH_NO)
			r |= json_array_append_new(list, match_object(&look, is_asked(verdict)));
	}
	look = (struct policy_rule_look){ 0 };
	if (verdict->number > 0) {
		policy_rule_look(matches->policy, verdict->number, NULL, &look);
		layer = policy_layer_name(look.layer);
	}
	r |= json_object_set_new(object, "layer", json_string(layer));
	r |= json_object_set_new(object, "added_by", json_string(look.by));
	r |= json_object_set_new(object, "added_at", json_string(look.when));
	(void)policy_change_file(verdict->rule, when, owner);
	r |= json_object_set_new(object, "file_changed_at", json_string(when));
	r |= json_object_set_new(object, "file_owner", json_string(owner));
	r |= json_object_set_new(object, "change", json_string(told));
	r |= json_object_set_new(object, "matches", list);
	return r;
}
