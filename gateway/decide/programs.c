#include <stdio.h>

#include "base/mem.h"
#include "gateway/execs/execs.h"
#include "gateway/gateway_agent.h"
#include "gateway/gateway_note.h"
#include "gateway/audit/journal.h"
#include "gateway/audit/redact.h"
#include "gateway/decide/queue.h"
#include "gateway/link/link_server.h"

static void copy(char *out, size_t size, const char *text)
{
	(void)snprintf(out, size, "%s", text ? text : ""); /* cut */
}

void gateway_exec_refused(struct gateway *gw, uint64_t id, const struct gateway_refused *refused)
{
	struct gateway_exec *exec = execs_find(gw, id);
	struct policy_verdict verdict = { .action = POLICY_DENY, .reason = refused->reason };

	/* A command that retries without end must not fill the disk: without disk space every
	 * request is denied. */
	if (!exec || exec->refused == GATEWAY_REFUSED_MAX)
		return;
	exec->refused++;
	auto_free char *command = refused->command ? redact_command(refused->command) : NULL;
	struct sink_record record = {
		.event = SINK_DECISION,
		.kind = "program",
		.exec = id,
		.command = command,
		.program = refused->path,
		.verdict = &verdict,
		.reason = refused->reason,
		.cause = exec->refused == GATEWAY_REFUSED_MAX
				 ? "further refusals of this command are not recorded"
				 : NULL,
	};

	copy(verdict.rule, sizeof(verdict.rule), refused->rule);
	copy(verdict.because, sizeof(verdict.because), refused->because);
	copy(verdict.by, sizeof(verdict.by), refused->by);
	journal_stamp(gw->journal, &record);
	(void)queue_write_down(gw, &record);
}

void gateway_exec_note(struct gateway *gw, uint64_t id, enum gateway_note what, const char *path,
		       const char *words)
{
	static const enum sink_event events[GATEWAY_NOTES] = {
		[GATEWAY_WITHHELD] = SINK_WITHHELD,
		[GATEWAY_MADE] = SINK_MADE,
		[GATEWAY_PROBED] = SINK_PROBED,
		[GATEWAY_REFUSED] = SINK_REFUSED,
		[GATEWAY_CUT_OFF] = SINK_REFUSED,
		[GATEWAY_PUBLISHED] = SINK_PUBLISHED,
		[GATEWAY_WORKER_ENDED] = SINK_WORKER_ENDED,
	};
	struct sink_record record = {
		.event = events[what],
		.exec = id,
		.files = path,
		.cause = words,
	};

	if (what == GATEWAY_CUT_OFF)
		link_server_note(gw, id, words);
	journal_stamp(gw->journal, &record);
	(void)queue_write_down(gw, &record); /* on failure, all later requests are denied */
}
