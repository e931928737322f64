#include "cli/audit/history.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "gateway/gateway_audit.h"

static const enum history_verdict verdicts[POLICY_REASON_COUNT] = {
	/* An unknown reason, and each that is not named, is HISTORY_FAILED: see history_verdict().
	 */
	[POLICY_RULE_ALLOW] = 1 + HISTORY_ALLOWED,
	[POLICY_DEFAULT_ALLOW] = 1 + HISTORY_ALLOWED,
	[POLICY_ANSWER_ALLOW] = 1 + HISTORY_ALLOWED,
	[POLICY_OBSERVED] = 1 + HISTORY_ALLOWED,
	[POLICY_GRANTED_ONCE] = 1 + HISTORY_ANSWERED,
	[POLICY_GRANTED_EXEC] = 1 + HISTORY_ANSWERED,
	[POLICY_GRANTED_SESSION] = 1 + HISTORY_ANSWERED,
	[POLICY_GRANTED_ALWAYS] = 1 + HISTORY_ANSWERED,
	[POLICY_GRANTED_REVIEW] = 1 + HISTORY_ANSWERED,
	[POLICY_INSIDE] = 1 + HISTORY_INSIDE,
	[POLICY_DEFAULT_DENY] = 1 + HISTORY_UNANSWERED,
	[POLICY_NO_APPROVER] = 1 + HISTORY_UNANSWERED,
	[POLICY_PROMPT_TIMEOUT] = 1 + HISTORY_UNANSWERED,
	[POLICY_APPROVER_GONE] = 1 + HISTORY_UNANSWERED,
	[POLICY_OVERLOADED] = 1 + HISTORY_UNANSWERED,
	[POLICY_CLIENT_LEFT] = 1 + HISTORY_UNANSWERED,
	[POLICY_WITHDRAWN] = 1 + HISTORY_UNANSWERED,
	[POLICY_EXPIRED] = 1 + HISTORY_UNANSWERED,
	[POLICY_RULE_DENY] = 1 + HISTORY_DENIED,
	[POLICY_ANSWER_DENY] = 1 + HISTORY_DENIED,
	[POLICY_DENIED_ONCE] = 1 + HISTORY_DENIED,
	[POLICY_DENIED_EXEC] = 1 + HISTORY_DENIED,
	[POLICY_DENIED_SESSION] = 1 + HISTORY_DENIED,
	[POLICY_DENIED_ALWAYS] = 1 + HISTORY_DENIED,
	[POLICY_DENIED_REVIEW] = 1 + HISTORY_DENIED,
	[POLICY_ABORTED] = 1 + HISTORY_DENIED,
	[POLICY_OUTSIDE_ONLY] = 1 + HISTORY_DENIED,
	[POLICY_DENIED_SINCE] = 1 + HISTORY_DENIED,
	[POLICY_REVOKED] = 1 + HISTORY_DENIED,
	[POLICY_NOT_ENFORCED] = 1 + HISTORY_DENIED,
	[POLICY_PRIVATE_ADDRESS] = 1 + HISTORY_PRIVATE,
	[POLICY_METADATA_ADDRESS] = 1 + HISTORY_NEVER,
	[POLICY_SPECIAL_ADDRESS] = 1 + HISTORY_NEVER,
	[POLICY_OWN_LISTENER] = 1 + HISTORY_NEVER,
	[POLICY_BAD_HOST] = 1 + HISTORY_NEVER,
};

static enum history_verdict history_verdict(enum policy_reason reason)
{
	return verdicts[reason] ? verdicts[reason] - 1 : HISTORY_FAILED;
}

bool history_is_unanswered(enum policy_reason reason)
{
	return reason != POLICY_DEFAULT_DENY && history_verdict(reason) == HISTORY_UNANSWERED;
}

enum policy_reason history_reason(const char *code)
{
	for (int reason = POLICY_NONE + 1; reason < POLICY_REASON_COUNT; reason++) {
		const char *known = policy_reason_code((enum policy_reason)reason);

		if (known[0] == code[0] && strcmp(known, code) == 0)
			return (enum policy_reason)reason;
	}
	return POLICY_NONE;
}

void history_init(struct history *history)
{
	*history = (struct history){ .plain = policy_new() };
	policy_set_default(history->plain, POLICY_ALLOW);
	(void)policy_finish(history->plain); /* an empty policy has no errors */
	tally_init(&history->destinations, sizeof(struct history_destination),
		   HISTORY_DESTINATIONS_MAX);
	tally_init(&history->execs, HISTORY_COMMAND_MAX, HISTORY_EXECS_MAX);
}

void history_done(struct history *history)
{
	tally_done(&history->destinations, NULL);
	tally_done(&history->execs, NULL);
	policy_free(history->plain);
}

static void exec_key(const struct gateway_logged *record, char *out, size_t size)
{
	(void)snprintf(out, size, "%s %" PRIu64, record->run, record->exec);
}

static void history_command_note(struct tally *execs, const struct gateway_logged *record)
{
	char key[160];

	if (strcmp(record->event, "exec_start") != 0)
		return;
	exec_key(record, key, sizeof(key));
	char *command = tally_at(execs, key);

	if (!command)
		return;
	auto_free char *shown = text_visible_once(record->command);

	if (snprintf(command, HISTORY_COMMAND_MAX, "%s", shown) >= HISTORY_COMMAND_MAX)
		memcpy(command + HISTORY_COMMAND_MAX - 4, "...", 4);
}

/* The command of the record's exec, or "". history_command_note() must see every record before. */
static const char *history_command(struct tally *execs, const struct gateway_logged *record)
{
	char key[160];

	exec_key(record, key, sizeof(key));
	const char *command = tally_find(execs, key);

	return command ? command : "";
}

/* Is it a connection into the sandbox? What the command reached does not include it. */
static bool history_is_inward(const struct gateway_logged *record)
{
	return strcmp(record->way, policy_way_name(POLICY_WAY_PUBLISHED)) == 0;
}

static enum policy_protocol protocol_named(const char *name)
{
	for (int protocol = POLICY_HTTP; protocol <= POLICY_UDP; protocol++)
		if (strcmp(policy_protocol_name((enum policy_protocol)protocol), name) == 0)
			return (enum policy_protocol)protocol;
	return POLICY_NO_PROTOCOL;
}

static enum policy_way way_named(const char *name)
{
	for (int way = POLICY_WAY_HTTP; way < POLICY_WAYS; way++)
		if (strcmp(policy_way_name((enum policy_way)way), name) == 0)
			return (enum policy_way)way;
	return POLICY_WAY_NONE;
}

/* The log is text that may have been edited: the destination is parsed again. */
int history_destination_read(const struct gateway_logged *record, struct policy_destination *ret)
{
	enum policy_protocol protocol = protocol_named(record->protocol);
	int r = policy_destination_set(ret, record->host, strlen(record->host),
				       (uint16_t)record->port, NULL);

	ret->protocol = protocol;
	return r < 0 || protocol == POLICY_NO_PROTOCOL || strcmp(ret->host, record->host) != 0
		       ? -EBADMSG
		       : 0;
}

static struct history_destination *destination_of(struct history *history,
						  const struct gateway_logged *record)
{
	char key[512];

	(void)snprintf(key, sizeof(key), "%s://%s:%" PRIu64, record->protocol, record->host,
		       record->port);
	struct history_destination *at = tally_at(&history->destinations, key);

	if (!at || at->dst.host[0] || at->is_odd)
		return at;
	at->is_odd = history_destination_read(record, &at->dst) < 0;
	at->way = way_named(record->way);
	return at;
}

/* True: @address is private or otherwise special, or the gate never connects to it. */
static bool is_special(const struct history *history, const struct policy_destination *dst,
		       const char *address)
{
	const struct policy_verdict allow = { .action = POLICY_ALLOW, .promise = dst->protocol };
	struct policy_verdict verdict;
	struct addr addr;

	if (addr_parse(address, strlen(address), &addr) < 0)
		return true;
	policy_decide_address(history->plain, dst, &allow, &addr, &verdict);
	return verdict.action != POLICY_ALLOW;
}

static void note_address(const struct history *history, struct history_destination *at,
			 const struct gateway_logged *record)
{
	if (record->resolved[0] && is_special(history, &at->dst, record->resolved))
		(void)snprintf(at->address, sizeof(at->address), "%s", record->resolved);
}

static void note_denial(struct history_destination *at, const struct gateway_logged *record,
			enum policy_reason reason)
{
	const char *whose = record->by[0] ? record->by : record->rule;

	if (record->time_us < at->denied_us)
		return;
	at->denied_us = record->time_us;
	at->denied = reason;
	(void)text_visible(at->denied_by, sizeof(at->denied_by), whose, strlen(whose));
}

static void note_selected(struct history *history, struct history_destination *at,
			  const struct gateway_logged *record, enum policy_reason reason)
{
	enum history_verdict verdict = history_verdict(reason);

	history->decisions += record->times;
	at->counts[verdict] += record->times;
	at->observed += reason == POLICY_OBSERVED ? record->times : 0;
	if (at->first_us == 0 || record->time_us < at->first_us)
		at->first_us = record->time_us;
	if (strcmp(record->action, "allow") != 0)
		at->reason = reason;
	if (record->time_us < at->last_us)
		return;
	at->last_us = record->time_us;
	(void)text_visible(at->run, sizeof(at->run), record->run, strlen(record->run));
	(void)snprintf(at->command, sizeof(at->command), "%s",
		       history_command(&history->execs, record));
	if (verdict == HISTORY_ANSWERED)
		(void)text_visible(at->by, sizeof(at->by), record->by, strlen(record->by));
}

static void on_record(const struct gateway_logged *record, bool is_selected, void *arg)
{
	struct history *history = arg;
	bool is_closed = strcmp(record->event, "closed") == 0;

	history_command_note(&history->execs, record);
	history->runs += is_selected && strcmp(record->event, "start") == 0;
	if (record->host[0] == '\0' || record->kind[0] || strcmp(record->event, "start") == 0 ||
	    history_is_inward(record) || (!is_closed && strcmp(record->event, "decision") != 0))
		return;
	enum policy_reason reason = history_reason(record->reason);
	bool is_denied = history_verdict(reason) == HISTORY_DENIED;

	if (!is_selected && !is_denied)
		return;
	struct history_destination *at = destination_of(history, record);

	if (!at)
		return;
	if (is_denied)
		note_denial(at, record, reason);
	if (!is_selected)
		return;
	note_address(history, at, record);
	if (is_closed) {
		at->connections += record->times;
		at->bytes_up += record->bytes_up;
		at->bytes_down += record->bytes_down;
	} else {
		note_selected(history, at, record, reason);
	}
}

int history_read(struct history *history, struct selection *selection, void ***ret_rows)
{
	int status = selection_read(selection, on_record, history);

	if (status != CLI_OK)
		return status;
	*ret_rows = tally_rows(&history->destinations);
	if (history->destinations.is_full)
		(void)cli_fail(0,
			       "the log names more than %d destinations; the others are left out",
			       HISTORY_DESTINATIONS_MAX);
	return CLI_OK;
}
