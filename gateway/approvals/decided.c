/* Decisions about something other than a destination: a command, a patch, a permission. The program
 * that embeds the gateway makes them; they are recorded like the gateway's own, before they take
 * effect. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "gateway/state.h"
#include "gateway/gateway_decided.h"
#include "gateway/audit/journal.h"
#include "gateway/audit/redact.h"
#include "gateway/decide/queue.h"

int gateway_decided(struct gateway *gw, const struct gateway_decided *decided)
{
	struct policy_verdict verdict = {
		.action = decided->is_allowed ? POLICY_ALLOW : POLICY_DENY,
		.reason = decided->reason,
	};
	auto_free char *shown = decided->shown ? redact_command(decided->shown) : NULL;
	struct sink_record record = {
		.event = SINK_DECISION,
		.exec = decided->exec,
		.command = shown,
		.kind = decided->kind,
		.through = decided->through,
		.is_unconfined = decided->is_unconfined,
		.is_retry = decided->is_retry,
		.verdict = &verdict,
		.reason = decided->reason,
		.program = decided->program,
		.grants = decided->grants,
		.is_awaited = decided->is_allowed,
	};

	(void)snprintf(verdict.by, sizeof(verdict.by), "%s", decided->by ? decided->by : "");
	if (decided->rule)
		(void)text_visible(verdict.rule, sizeof(verdict.rule), decided->rule,
				   strlen(decided->rule));
	if (decided->words)
		(void)text_visible(verdict.because, sizeof(verdict.because), decided->words,
				   strlen(decided->words));
	journal_stamp(gw->journal, &record);
	record.duration_ms = decided->waited_ms > 0 ? (uint64_t)decided->waited_ms : 0;
	return queue_write_down(gw, &record);
}
