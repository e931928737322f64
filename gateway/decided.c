/* Decisions about what is no destination: a command, a patch, a permission and so on. They are made
 * by whoever embeds the gateway, and recorded as the gateway's own are: before they count. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "gateway/core.h"
#include "gateway/gateway_decided.h"
#include "gateway/journal.h"
#include "gateway/redact.h"
#include "gateway/turn.h"

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
		.cause = decided->cause,
		.is_awaited = decided->is_allowed,
	};

	(void)snprintf(verdict.by, sizeof(verdict.by), "%s", decided->by ? decided->by : "");
	if (decided->words)
		(void)text_visible(verdict.because, sizeof(verdict.because), decided->words,
				   strlen(decided->words));
	journal_stamp(gw->journal, &record);
	record.duration_ms = decided->waited_ms > 0 ? (uint64_t)decided->waited_ms : 0;
	return turn_write_down(gw, &record);
}
