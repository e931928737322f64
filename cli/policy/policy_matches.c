#include "cli/policy/policy_matches.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/mem.h"
#include "policies/policies_tools.h"

#define UNTIL_MAX     40
#define FILE_TEXT_MAX 64

void policy_matches_until(const struct policy_rule_look *look, char *out, size_t size)
{
	time_t seconds = look->until;
	struct tm parts;

	out[0] = '\0';
	if (look->until && gmtime_r(&seconds, &parts))
		(void)strftime(out, size, "until %Y-%m-%dT%H:%M:%SZ", &parts);
}

/* Why a rule that matches does not count, or until when it does. Returned owned. */
static char *why_not(const struct policy_rule_look *look, bool is_asked)
{
	char until[UNTIL_MAX];

	policy_matches_until(look, until, sizeof(until));
	switch (look->match) {
	case POLICY_MATCH_EXPIRED:
		return until[0] ? mem_printf("expired; it was valid %s", until)
				: mem_strdup("expired, or the current time is unknown");
	case POLICY_MATCH_UNTRUSTED:
		return mem_strdup("it does not count, because the project's file is not trusted");
	case POLICY_MATCH_NOT_ENFORCED:
		return mem_printf("not enforced by this version: %s", look->not_enforced);
	case POLICY_MATCH_NO:
	case POLICY_MATCHES:
		break;
	}
	if (look->is_answer && !is_asked)
		return mem_strdup("not consulted, because no question is asked");
	return mem_strdup(until);
}

/* Was a question the outcome, or would it be one without a remembered answer? */
static bool is_asked(const struct policy_verdict *verdict)
{
	return verdict->action == POLICY_ASK || verdict->reason == POLICY_ANSWER_ALLOW ||
	       verdict->reason == POLICY_ANSWER_DENY || verdict->reason == POLICY_NO_APPROVER;
}

/* What would change the verdict. Returned owned; "": nothing. */
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
		return mem_printf("%.*s without the clause, if the rest of the rule is still right",
				  line, verdict->rule);
	case POLICY_EXPIRED:
		return mem_printf("%.*s with a later end, or without one", line, verdict->rule);
	case POLICY_OUTSIDE_ONLY:
		return mem_printf("`only %s` in the managed layer, and a rule that allows it",
				  text);
	case POLICY_ANSWER_ALLOW:
	case POLICY_ANSWER_DENY:
		return mem_printf("%.*s without the answer; then a question is asked again", line,
				  verdict->rule);
	case POLICY_NO_APPROVER:
		return mem_printf("`allow %s`, or a policy without the setting `approvals`", text);
	case POLICY_RULE_ALLOW:
	case POLICY_DEFAULT_ALLOW:
	case POLICY_INSIDE:
		return mem_printf("`deny %s` in a policy file", text);
	default:
		return mem_strdup("");
	}
}

/* " (and 2 more rules that say the same)", or "": then removing one of several rules changes
 * nothing. Returned owned. */
static char *others_of(const struct policy_matches *matches)
{
	struct policy_rule_look own, other;
	size_t count = 0, number = matches->verdict->number;

	if (number == 0)
		return mem_strdup("");
	policy_rule_look(matches->policy, number, NULL, &own);
	for (size_t i = 1; i <= policy_rule_count(matches->policy); i++) {
		policy_rule_look(matches->policy, i, matches->facts, &other);
		count += i != number && other.match == POLICY_MATCHES &&
			 strcmp(own.word, other.word) == 0;
	}
	if (count == 0)
		return mem_strdup("");
	return mem_printf(" (and %zu more rule%s that say%s the same)", count,
			  count == 1 ? "" : "s", count == 1 ? "s" : "");
}

/* Who owns the file of @rule ("FILE:LINE: ...") and when it was last changed: "uid 1000" and
 * "2026-11-20T20:13:00Z". A plain rule contains neither. False: it is not a file. The owner is a
 * number: a lookup of the name may need a remote directory, and makes a statically linked program
 * load shared libraries. */
static bool look_at_file(const char *rule, char ret_when[FILE_TEXT_MAX],
			 char ret_owner[FILE_TEXT_MAX])
{
	const char *end = strstr(rule, ": ");
	struct stat status;
	struct tm parts;

	ret_when[0] = ret_owner[0] = '\0';
	while (end && end > rule && end[-1] != ':')
		end--;
	if (!end || end == rule)
		return false;
	auto_free char *path = mem_strndup(rule, (size_t)(end - 1 - rule));

	if (stat(path, &status) < 0 || !S_ISREG(status.st_mode) ||
	    !gmtime_r(&status.st_mtime, &parts))
		return false;
	(void)strftime(ret_when, FILE_TEXT_MAX, "%Y-%m-%dT%H:%M:%SZ", &parts);
	(void)snprintf(ret_owner, FILE_TEXT_MAX, "uid %u", (unsigned int)status.st_uid);
	return true;
}

static void print_row(const char *name, const char *text)
{
	if (text[0])
		(void)printf("  %-8s %s\n", name, text);
}

/* A plain rule does not name its author. The owner of its file could have written it, at the time
 * of its last change at the latest. */
static void print_file(const char *rule, const char *added)
{
	char when[FILE_TEXT_MAX], owner[FILE_TEXT_MAX];

	if (!added[0] && look_at_file(rule, when, owner))
		(void)printf("  %-8s last changed %s, owned by %s\n", "file", when, owner);
}

void policy_matches_print(const struct policy_matches *matches)
{
	const struct policy_verdict *verdict = matches->verdict;
	struct policy_rule_look look;
	bool is_first = true;
	auto_free char *changes = change(matches), *others = others_of(matches);

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
	auto_free char *changes = change(matches), *others = others_of(matches);
	auto_free char *told = mem_printf("%s%s", changes, changes[0] ? others : "");
	char when[FILE_TEXT_MAX] = "", owner[FILE_TEXT_MAX] = "";
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
	(void)look_at_file(verdict->rule, when, owner);
	r |= json_object_set_new(object, "file_changed_at", json_string(when));
	r |= json_object_set_new(object, "file_owner", json_string(owner));
	r |= json_object_set_new(object, "change", json_string(told));
	r |= json_object_set_new(object, "matches", list);
	return r;
}
