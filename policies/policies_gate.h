/* policies_gate: for code that holds a request until it is decided: the requester, warnings
 * about a host, and kept answers. docs/decisions/0006 gives the reason for a separate header. */
#pragma once

#include "policies/policies.h"

/* The host of the gate's own pages; the gate answers all requests to it. */
#define POLICY_GATE_HOST "sallyport.internal"

/* The protocols that a request with these facts may carry, in the order in which they are decided:
 * first what the request itself says, or for a tunnel what its port implies, then the other
 * protocols of rules. */
#define POLICY_PROTOCOLS_MAX 3
size_t policy_facts_protocols(const struct policy_facts *facts,
			      enum policy_protocol ret[POLICY_PROTOCOLS_MAX]);
/* Sets how a request would reach us, for callers that only ask for the decision: plain http as a
 * request, others in a tunnel. Known properties of a request stay set, also for https as if it were
 * inspected. */
void policy_facts_take_way(struct policy_facts *facts);
/* Has a question about these facts been answered with allow already? */
typedef bool (*policy_answered_fn)(const struct policy_facts *facts, void *arg);
/* As policy_decide(), for a request or a tunnel: uses the first protocol that is allowed, or asked
 * about and answered (@is_answered may be NULL); otherwise the one that a rule asks about by name;
 * otherwise the first. Sets the protocol of @facts to it. */
void policy_decide_flow(const struct policy *policy, struct policy_facts *facts,
			policy_answered_fn is_answered, void *arg, struct policy_verdict *ret);
/* As policy_decide_flow(), for bytes of protocol @facts->carries: a denial if the protocol allowed
 * is another one, because the worker would refuse the bytes. */
void policy_decide_bytes(const struct policy *policy, struct policy_facts *facts,
			 struct policy_verdict *ret);
/* As policy_decide_address(), for @alias, a canonical name that @dst leads to by CNAME: a denial if
 * a rule denies that name. */
void policy_decide_alias(const struct policy *policy, const struct policy_destination *dst,
			 const struct policy_verdict *verdict, const char *alias,
			 struct policy_verdict *ret);
/* Does a rule allow, or ask about, some UDP? Otherwise none can leave. */
bool policy_wants_udp(const struct policy *policy);
/* The protocol that rule @number of a verdict names; NO_PROTOCOL: none. */
enum policy_protocol policy_rule_protocol(const struct policy *policy, uint32_t number);

/* A warning about a host whose letters look like others. Only for names with an A-label, because
 * all others are plain ASCII. */
struct policy_host_warning {
	bool is_punycode;                  /* has an A-label (xn--) */
	bool is_mixed;                     /* a label mixes scripts that are not written together */
	char scripts[96];                  /* "Cyrillic and Latin": of the labels not in ASCII */
	char unicode[POLICY_HOST_MAX * 4]; /* as browsers may show it, UTF-8: not for a terminal;
					      "": it cannot be decoded */
	char looks_like[POLICY_HOST_MAX];  /* the ASCII host it can be taken for, or "" */
	char text[2 * POLICY_HOST_MAX + 160]; /* all of that in one line of ASCII */
};
/* @host: canonical, as in struct policy_destination. True: there is a warning. */
bool policy_host_warning(const char *host, struct policy_host_warning *ret);
/* A well-known domain, or one that @policy (NULL: none) allows by name, from which the registrable
 * domain of canonical @host differs by one letter, or by the order of two. False: there is none, or
 * @host belongs to such a domain itself. @ret is only valid with true. */
struct policy_host_resembles {
	char domain[POLICY_HOST_MAX];
	char text[2 * POLICY_HOST_MAX + 40]; /* "looks like github.com, is gihtub.com" */
};
bool policy_host_resembles(const struct policy *policy, const char *host,
			   struct policy_host_resembles *ret);
/* The registrable domain of a canonical name (one label more than its public suffix), within it;
 * NULL: it has none. */
const char *policy_host_domain(const char *host);
/* policy_host_is_listed(): does the baseline preset deny canonical @host, as a service for
 * pastes, tunnels, request bins or DoH? The other function: does another preset allow it by
 * name? For prompts, independent of the presets that the policy includes. */
bool policy_host_is_listed(const char *host);
bool policy_host_is_known(const char *host);
/* Does the configuration of a tool, which @policy has read for `configured TOOL`, name exactly
 * @dst? For prompts, as above. */
bool policy_is_configured(const struct policy *policy, const struct policy_destination *dst);

/* policy_reason_next() where nobody is asked (--ci), and so nobody can answer. */
const char *policy_reason_next_unasked(enum policy_reason reason);
/* Does @because say something that the text of @rule does not say already? Both may be NULL. */
bool policy_because_adds(const char *rule, const char *because);
/* The policy line that would allow @dst after a denial for @reason; NULL: no line would by itself.
 * @rule: that decided; NULL or "": none. Returned owned. */
char *policy_reason_line(enum policy_reason reason, const struct policy_destination *dst,
			 const char *rule);
/* Appends `answer allow|deny TEXT # PROVENANCE` to @path (created 0600, folder 0700), with lock,
 * fsync and rename. @text: "tcp://example.org:22 for 1h". A line that exists is not added again;
 * one with `for` replaces one with the same text. Symbolic links, and files that others may write,
 * are refused. -EINVAL: not a valid answer. */
int policy_answer_append_text(const char *path, enum policy_action action, const char *text,
			      const char *provenance, struct err *why);
/* As policy_answer_append_text(), for complete lines such as `command allow npm run build`. Each
 * must be valid; a line that the file already contains is not added. */
int policy_lines_append(const char *path, const char *const *lines, struct err *why);
/* Removes every `answer` line with @text from @path, in the same way. -ENOENT: there is none. */
int policy_answer_remove(const char *path, enum policy_action action, const char *text,
			 struct err *why);
/* Removes the last `answer` line from @path, in the same way; *@ret_line: that line, returned
 * owned. -ENOENT: there is none. */
int policy_answer_undo(const char *path, char **ret_line, struct err *why);

/* The requester, for `by` and `from`. policy_asker_new(): @argv of the exec, which must outlive
 * the result; returned owned. policy_asker_set_program(): the absolute path of the executable
 * (borrowed); NULL or "": not known with certainty. */
struct policy_asker *policy_asker_new(const char *const *argv);
void policy_asker_free(struct policy_asker *asker);
void policy_asker_set_program(struct policy_asker *asker, const char *path);
/* Does a rule have `by`? Otherwise the program that asks need not be determined. */
bool policy_wants_program(const struct policy *policy);
/* Does a rule have `by` or `from`? Otherwise the requester does not matter. */
bool policy_wants_asker(const struct policy *policy);
/* `durable strict` in any file: a record is on the disk before what it allows is let go. */
bool policy_is_durable(const struct policy *policy);
/* `audit keep`: what stays in the audit log, INT64_MAX: of any age, any size. False: no line says
 * so, and all stays. */
bool policy_get_keep(const struct policy *policy, int64_t *ret_age_ms, uint64_t *ret_bytes);
/* Combines two sets of limits: the smaller value of each applies. The account is that of @more
 * if it has one; a budget of @limits is then counted there, together with the other requests of
 * that account. */
void policy_limits_narrow(struct policy_limits *limits, const struct policy_limits *more);
