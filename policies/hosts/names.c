#include <string.h>

#include "base/mem.h"
#include "policies/policies_gate.h"

static const struct {
	const char *code;
	int status;
	const char *sentence;
	const char *next;
} reasons[] = {
#define X(name, code, status, sentence, next) { code, status, sentence, next },
#include "policies/reasons.def"
#undef X
};

static const char *const actions[] = {
	[POLICY_DENY] = "deny",
	[POLICY_ASK] = "ask",
	[POLICY_ALLOW] = "allow",
};
static const char *const protocols[] = {
	[POLICY_NO_PROTOCOL] = "none", [POLICY_HTTP] = "http", [POLICY_HTTPS] = "https",
	[POLICY_TCP] = "tcp",          [POLICY_UDP] = "udp",
};
static const char *const ways[] = {
	[POLICY_WAY_NONE] = "none",           [POLICY_WAY_HTTP] = "http",
	[POLICY_WAY_CONNECT] = "connect",     [POLICY_WAY_SOCKS5] = "socks5",
	[POLICY_WAY_CAPTURED] = "captured",   [POLICY_WAY_CAPTURED_HTTP] = "captured",
	[POLICY_WAY_PUBLISHED] = "published",
};

/* Values come over a link from another process, so one past the table gets a name too. */
static enum policy_reason reason_known(enum policy_reason reason)
{
	return (unsigned int)reason < ARRAY_SIZE(reasons) ? reason : POLICY_NONE;
}

const char *policy_action_name(enum policy_action action)
{
	return (unsigned int)action < ARRAY_SIZE(actions) ? actions[action] : actions[POLICY_DENY];
}

const char *policy_protocol_name(enum policy_protocol protocol)
{
	return (unsigned int)protocol < ARRAY_SIZE(protocols) ? protocols[protocol] : "none";
}

const char *policy_way_name(enum policy_way way)
{
	return (unsigned int)way < ARRAY_SIZE(ways) ? ways[way] : "none";
}

const char *policy_reason_code(enum policy_reason reason)
{
	return reasons[reason_known(reason)].code;
}

int policy_reason_status(enum policy_reason reason)
{
	return reasons[reason_known(reason)].status;
}

bool policy_reason_is_failure(enum policy_reason reason)
{
	int status = policy_reason_status(reason);

	return status == 502 || status == 504;
}

const char *policy_reason_sentence(enum policy_reason reason)
{
	return reasons[reason_known(reason)].sentence;
}

const char *policy_reason_next(enum policy_reason reason)
{
	return reasons[reason_known(reason)].next;
}

const char *policy_reason_next_unasked(enum policy_reason reason)
{
	return reason == POLICY_NO_APPROVER || reason == POLICY_ASKED
		       ? "Allow it in the policy, in place of a rule that asks; this run "
			 "asks nobody (--ci)."
		       : policy_reason_next(reason);
}

bool policy_because_adds(const char *rule, const char *because)
{
	return because && because[0] && !(rule && strstr(rule, because));
}

char *policy_reason_line(enum policy_reason reason, const struct policy_destination *dst,
			 const char *rule)
{
	static const enum policy_reason open[] = { POLICY_DEFAULT_DENY, POLICY_NO_APPROVER,
						   POLICY_PROMPT_TIMEOUT, POLICY_APPROVER_GONE };
	char text[POLICY_DESTINATION_TEXT_MAX];

	policy_destination_text(dst, text);
	for (size_t i = 0; i < ARRAY_SIZE(open); i++) {
		if (reason == open[i]) /* a rule that asked takes precedence over an allow */
			return rule && rule[0] ? NULL : mem_printf("allow %s", text);
	}
	return reason == POLICY_PRIVATE_ADDRESS ? mem_printf("allow %s private", text) : NULL;
}
