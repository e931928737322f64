#include "cli/report/run_status.h"

#include "cli/cli.h"
#include "cli/gate/gate.h"
#include "cli/run/run_bundle.h"
#include "cli/report/run_lock.h"
#include "cli/run/run_options.h"
#include "cli/report/run_summary.h"
#include "gateway/gateway_tools.h"

#define EXIT_DENIED 77 /* EX_NOPERM of sysexits.h */
#define EXIT_ASKED  78 /* EX_CONFIG */
#define EXIT_NEW    79 /* not in egress.lock */

/* If the gate ended the command, its own status has precedence. */
static void set_status(const struct gate *gate, struct run_summary *summary)
{
	const struct run_options *options = gate->options;
	bool is_of_command = summary->result.end == EXEC_PROCESS_EXITED ||
			     summary->result.end == EXEC_PROCESS_SIGNALLED;
	bool was_asked = run_bundle_has_any(gate->bundle) || summary->unanswered > 0;
	uint64_t denied = summary->others->denied + summary->denied;
	uint64_t unanswered = summary->others->unanswered + summary->unanswered;

	for (size_t i = 0; i < summary->trip_count; i++) {
		denied += summary->trips[i].denied;
		unanswered += summary->trips[i].unanswered;
	}
	summary->exit_status = summary->command_status;
	if (is_of_command && options->must_fail_on_ask && was_asked) {
		summary->exit_status = EXIT_ASKED;
		summary->fails_by = options->asks_nobody ? "--ci" : "--fail-on-ask";
	}
	if (is_of_command && options->must_fail_on_deny &&
	    (denied > 0 || (unanswered > 0 && !summary->fails_by))) {
		summary->exit_status = EXIT_DENIED;
		summary->fails_by = "--fail-on-deny";
	}
	if (is_of_command && !summary->fails_by && summary->lock->mode == RUN_LOCK_CHECK &&
	    summary->lock->has_new) {
		summary->exit_status = EXIT_NEW;
		summary->fails_by = "--egress-lock";
	}
}

void run_status_settle(const struct gate *gate, struct run_summary *summary)
{
	set_status(gate, summary);
	int status = run_bundle_write(gate->bundle, summary->run, summary->session);

	if (status != CLI_OK)
		summary->exit_status = status;
}
