/* policies_tools: for tools that show a policy instead of deciding by it: explain, list, diff, fmt.
 * docs/decisions/0006 says why this is a header of its own. */
#pragma once

#include "policies/policies.h"
#include "policies/policies_gate.h"
#include "policies/policies_load.h"

/* Rules and answers, of all files; `expect` lines. */
size_t policy_rule_count(const struct policy *policy);
size_t policy_expect_count(const struct policy *policy);
/* Adds warnings about rules that can never allow anything: their destination is never reachable, or
 * they have ended at @now (seconds since 1970). Call after policy_finish(). */
void policy_note_dead(struct policy *policy, int64_t now);
const char *policy_layer_name(enum policy_layer layer);
/* "https://a.test:443", "a.test", "10.0.0.1:22": as in explain and expect; no port: 443. */
int policy_destination_parse(const char *text, struct policy_destination *ret, struct err *why);

/* How a rule matches a request. */
enum policy_match {
	POLICY_MATCH_NO,
	POLICY_MATCHES,
	POLICY_MATCH_UNTRUSTED,
	POLICY_MATCH_EXPIRED,
	POLICY_MATCH_NOT_ENFORCED
};
struct policy_rule_look {
	const char *word; /* "allow", "answer deny", "only" */
	enum policy_layer layer;
	enum policy_match match;
	bool is_answer;
	int64_t until;              /* expiry, seconds since 1970; 0: none */
	char rule[POLICY_TEXT_MAX]; /* as in verdicts */
	char by[64], when[64];      /* of an answer, or "" */
	char not_enforced[64];      /* its clauses that are not enforced by this version, or "" */
};
/* Rule @number, from 1 to policy_rule_count(), in the order of the files. @facts may be NULL. */
void policy_rule_look(const struct policy *policy, size_t number, const struct policy_facts *facts,
		      struct policy_rule_look *ret);

/* The same for `command` and `program` lines: @match says whether the line counts. */
size_t policy_command_count(const struct policy *policy);
void policy_command_look(const struct policy *policy, size_t number, struct policy_rule_look *ret);

/* Setting @index, from 0, in the order of the files: its line as it was written, and whether it
 * counts; false behind the last. */
bool policy_setting_look(const struct policy *policy, size_t index, struct policy_rule_look *ret);

/* Statement @index of those that are not enforced yet; false behind the last. @ret: @match says
 * whether it counts; if it does, nothing may be run with this policy. */
bool policy_later_look(const struct policy *policy, size_t index, struct policy_rule_look *ret);

/* What @after decides differently from @before: hosts, ports and protocols that every pattern of
 * both treats alike, with one request as the example. Rules with conditions on the request or on
 * the requester are not evaluated: where they count, each line that only one policy has is a change
 * with only @what and @rule set. Text is borrowed for the call. */
struct policy_change {
	enum policy_action before, after;
	/* "newly allowed", "newly denied", "newly asked"; with the same action "other bytes",
	 * "wider limits", "narrower limits", "other limits", or "limits counted in another way":
	 * the same limits, but together with other requests. For a line: "only in the first", or
	 * second. */
	const char *what;
	const char *rule;        /* "FILE:LINE: the line", or "" */
	const char *destination; /* in the policy's language */
	const char *resolved;    /* only when it resolves to this block, else "" */
	const char *example;
	const char *example_address; /* with @resolved, else "" */
	const char *from;            /* "2030-01-01T00:00:00Z", when a rule ends; "": at once */
	const char *limits[2];       /* before and after: "upload 1024, rate 10/60s", or "" */
	const struct policy_facts *facts; /* the example: both policies decide it as described */
};
typedef void (*policy_change_fn)(const struct policy_change *change, void *arg);
/* Compares both policies on one request of every kind, from the start on: a proof,
 * docs/decisions/0011. Returns 0: they are equal, 1: they differ, or may; -E2BIG: too much
 * to prove. Both policies are finished, with the same start. Calls @report at once, for at most
 * @max changes; *@ret_count: how many there are. */
int policy_diff(const struct policy *before, const struct policy *after, size_t max,
		policy_change_fn report, void *arg, size_t *ret_count, struct err *why);

/* @text in the canonical layout: same verdicts, order and comments. Returned owned. */
char *policy_format(const char *text, size_t len, size_t *ret_len);
/* As policy_format() for a file, which is replaced atomically under the lock of
 * policy_answer_append_text(), unless @is_check_only. A file with errors, a symbolic link, or a
 * file that others may write is refused. */
int policy_format_file(const char *path, bool is_check_only, bool *ret_changed, struct err *why);

/* Translates another tool's policy into our language: never wider. @name: of the file, for
 * messages. Returned owned: the policy, and one line "FILE:LINE: what" for each thing that it does
 * not express. -EBADMSG: a denial cannot be expressed, or the file cannot be read; -ENOTSUP: no
 * such format, with a list. */
int policy_import(const char *format, const char *name, const char *text, size_t len,
		  char **ret_text, char **ret_losses, struct err *why);
const char *policy_import_format(size_t number); /* NULL behind the last */
/* Translates @policy, loaded and finished, into another tool's format: never allows what @policy
 * does not; what cannot be expressed is not allowed, and listed. @may_widen: a host may stand for
 * all its ports and any protocol, and a denial may be missing: listed as "wider". -EBADMSG: a
 * denial cannot be expressed; -E2BIG: too much to prove. */
int policy_export(const char *format, const struct policy *policy, bool may_widen, char **ret_text,
		  char **ret_losses, struct err *why);
