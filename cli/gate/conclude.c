#include "cli/gate/conclude.h"

#include "base/loop.h"
#include "cli/cli.h"
#include "cli/gate/gate.h"
#include "cli/gate/run_own.h"
#include "cli/report/run_lock.h"
#include "cli/report/run_refused.h"
#include "cli/report/run_report.h"
#include "cli/report/run_status.h"
#include "cli/report/run_summary.h"
#include "cli/run/run_options.h"
#include "cli/view/run_made.h"
#include "gateway/gateway.h"

int conclude(const struct gate *gate, struct run_summary *summary, bool is_failed, int status,
	     int64_t started_ms)
{
	const struct run_made made = { 0 };
	const struct run_refused refused = { 0 };
	const struct run_lock lock = RUN_LOCK_EMPTY;

	summary->session = gate_session(gate);
	summary->made = &made;
	summary->refused = &refused;
	summary->lock = &lock;
	summary->policy_path = gate_policy_path(gate);
	summary->asks_nobody = gate->options->asks_nobody;
	summary->policy = gate->policy;
	summary->bundle = gate->options->bundle;
	summary->result.end = is_failed ? EXEC_PROCESS_KILLED : EXEC_PROCESS_EXITED;
	summary->command_status = is_failed ? CLI_NO_SANDBOX : status;
	summary->duration_ms = loop_now_ms(gate->loop) - started_ms;
	run_own_report(gate, summary);
	run_status_settle(gate, summary);
	gateway_ends_with(gate->gateway, summary->exit_status);
	run_report_print(summary, gate->options->report);
	summary->made = NULL;
	summary->refused = NULL;
	summary->lock = NULL;
	return summary->exit_status;
}
