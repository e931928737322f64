#include <stdio.h>

#include "base/mem.h"
#include "gateway/execs.h"
#include "gateway/gateway_agent.h"
#include "gateway/journal.h"
#include "gateway/redact.h"
#include "gateway/turn.h"

static void copy(char *out, size_t size, const char *text)
{
	(void)snprintf(out, size, "%s", text ? text : ""); /* cut */
}

void gateway_exec_refused(struct gateway *gw, uint64_t id, const struct gateway_refused *refused)
{
	struct gateway_exec *exec = execs_find(gw, id);
	struct policy_verdict verdict = { .action = POLICY_DENY, .reason = refused->reason };

	/* A command that tries again and again must not fill the disk, which would end all else. */
	if (!exec || exec->refused == GATEWAY_REFUSED_MAX)
		return;
	exec->refused++;
	auto_free char *command = refused->command ? redact_command(refused->command) : NULL;
	struct sink_record record = {
		.event = SINK_PROGRAM,
		.exec = id,
		.command = command,
		.program = refused->path,
		.verdict = &verdict,
		.reason = refused->reason,
		.cause = exec->refused == GATEWAY_REFUSED_MAX
				 ? "what else this command is refused is not recorded"
				 : NULL,
	};

	copy(verdict.rule, sizeof(verdict.rule), refused->rule);
	copy(verdict.because, sizeof(verdict.because), refused->because);
	copy(verdict.by, sizeof(verdict.by), refused->by);
	journal_stamp(gw->journal, &record);
	(void)turn_write_down(gw, &record);
}
