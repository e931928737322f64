#include "agent/outcome.h"

#include <stdlib.h>

#include "agent/core.h"
#include "agent/tell.h"
#include "base/mem.h"
#include "exec/exec_job.h"
#include "exec/exec_sandbox.h"

static const char *const statuses[] = {
	[ORCHESTRATOR_REJECTED_BY_RULE] = "rejected",
	[ORCHESTRATOR_REJECTED_BY_PERSON] = "rejected",
	[ORCHESTRATOR_REJECTED_BY_HOOK] = "rejected",
	[ORCHESTRATOR_REJECTED_BY_REVIEWER] = "rejected",
	[ORCHESTRATOR_REJECTED_REVIEWER_LATE] = "rejected",
	[ORCHESTRATOR_REJECTED_NO_ANSWER] = "rejected",
	[ORCHESTRATOR_DENIED] = "denied",
	[ORCHESTRATOR_RESULT_NOT_STARTED] = "not_started",
	[ORCHESTRATOR_RESULT_TIMED_OUT] = "timed_out",
	[ORCHESTRATOR_RESULT_SIGNALLED] = "signalled",
	[ORCHESTRATOR_RESULT_INTERRUPTED] = "interrupted",
	[ORCHESTRATOR_RESULT_FAILED] = "failed",
	[ORCHESTRATOR_CANCELLED] = "cancelled",
	[ORCHESTRATOR_DONE] = "exited",
};
/* Who rejected it; NULL: it was not rejected. */
static const char *const rejecters[] = {
	[ORCHESTRATOR_REJECTED_BY_RULE] = "rule",
	[ORCHESTRATOR_REJECTED_BY_PERSON] = "person",
	[ORCHESTRATOR_REJECTED_BY_HOOK] = "hook",
	[ORCHESTRATOR_REJECTED_BY_REVIEWER] = "reviewer",
	[ORCHESTRATOR_REJECTED_REVIEWER_LATE] = "reviewer_late",
	[ORCHESTRATOR_REJECTED_NO_ANSWER] = "no_answer",
	[ORCHESTRATOR_DONE] = NULL,
};
static const char *const ends[] = {
	[ORCHESTRATOR_NOT_STARTED] = "not_started", [ORCHESTRATOR_EXITED] = "exited",
	[ORCHESTRATOR_SIGNALLED] = "signalled",     [ORCHESTRATOR_TIMED_OUT] = "timed_out",
	[ORCHESTRATOR_INTERRUPTED] = "interrupted", [ORCHESTRATOR_STOPPED] = "cancelled",
	[ORCHESTRATOR_FAILED] = "failed",
};
static const char *const job_ends[] = {
	[EXEC_JOB_EXITED] = "exited",           [EXEC_JOB_SIGNALLED] = "signalled",
	[EXEC_JOB_TIMED_OUT] = "timed_out",     [EXEC_JOB_CANCELLED] = "cancelled",
	[EXEC_JOB_INTERRUPTED] = "interrupted", [EXEC_JOB_DENIED] = "denied",
	[EXEC_JOB_NOT_STARTED] = "not_started", [EXEC_JOB_KILLED] = "failed",
};
static const char *const network_kinds[] = {
	[ORCHESTRATOR_NETWORK_NOTHING] = "nothing",
	[ORCHESTRATOR_NETWORK_BY_POLICY] = "policy",
	[ORCHESTRATOR_NETWORK_DISCONNECTED] = "no_answer",
	[ORCHESTRATOR_NETWORK_BY_PERSON] = "person",
};

const char *outcome_status(const struct orchestrator_result *result)
{
	return statuses[result->kind];
}

void outcome_add_words(json_t *object, const struct orchestrator_result *result)
{
	if (result->why[0])
		tell_add(object, "why", tell_text(result->why));
	if (result->note[0])
		tell_add(object, "note", tell_text(result->note));
	if (rejecters[result->kind])
		tell_add(object, "by", json_string(rejecters[result->kind]));
	if (result->is_abort)
		tell_add(object, "abort", json_true());
}

/* @trial: whose it is; NULL: nothing was tried. */
static json_t *network_json(const struct orchestrator_network_outcome *network,
			    const struct trial *trial)
{
	json_t *object = json_pack("{s:s, s:I}", "outcome", network_kinds[network->kind], "blocked",
				   (json_int_t)network->blocked);
	json_t *blocks = json_array();

	if (network->text && network->text[0])
		tell_add(object, "text", tell_text(network->text));
	for (uint64_t i = 0; i < network->block_count; i++) {
		const struct orchestrator_block *block = &network->blocks[i];

		(void)json_array_append_new(
			blocks, json_pack("{s:o, s:o, s:i, s:s}", "host", tell_text(block->host),
					  "protocol", tell_text(block->protocol), "port",
					  (int)block->port, "by", network_kinds[block->kind]));
	}
	tell_add(object, "blocks", blocks);
	tell_add(object, "allowed", trial ? json_incref(trial->allowed) : json_array());
	if (trial && trial->is_allowed_cut)
		tell_add(object, "allowed_cut", json_true());
	return object;
}

static json_t *confinement_json(const struct trial *trial)
{
	auto_free char *text = exec_sandbox_text(trial->sandbox);

	return json_pack("{s:b, s:s, s:o}", "confined", trial->is_confined ? 1 : 0, "mode",
			 exec_mode_name(exec_sandbox_mode(trial->sandbox)), "sandbox",
			 tell_text(text));
}

/* What is kept of one stream. */
static json_t *stream_json(const struct trial *trial, enum exec_stream stream)
{
	static const char *const names[] = { "stdout", "stderr" };
	json_t *object = json_object();
	struct exec_kept kept;
	size_t len;
	auto_free char *text = exec_job_text(trial->job, stream, &len);

	exec_job_kept(trial->job, stream, &kept);
	tell_bytes(object, text, len);
	tell_add(object, "omitted", json_integer((json_int_t)kept.omitted));
	tell_add(object, "truncated", json_boolean(kept.omitted > 0));
	if (kept.spill >= 0 && stream != EXEC_MERGED) {
		auto_free char *path =
			mem_printf("%s/%llu.%s", trial->task->session->agent->config.spill_dir,
				   (unsigned long long)trial->exec, names[stream]);

		tell_add(object, "spill_file", tell_text(path));
		tell_add(object, "spill_whole", json_boolean(kept.spill_error == 0));
	}
	return object;
}

/* Of all its processes, to their end, where that is known. */
static void add_usage(json_t *object, const struct trial *trial)
{
	const struct exec_usage *usage = &trial->result.raw.usage;

	if (trial->has_result && usage->max_rss_bytes > 0)
		tell_add(object, "usage",
			 json_pack("{s:I, s:I, s:I}", "user_us", (json_int_t)usage->user_us,
				   "system_us", (json_int_t)usage->system_us, "max_rss_bytes",
				   (json_int_t)usage->max_rss_bytes));
}

static json_t *trial_json(const struct trial *trial, const char *status)
{
	json_t *object =
		json_pack("{s:I, s:b, s:s, s:o, s:O}", "attempt", (json_int_t)trial->exec, "retry",
			  trial->is_retry ? 1 : 0, "status", status, "confinement",
			  confinement_json(trial), "evidence", trial->evidence);

	if (trial->has_result) {
		tell_add(object, "exit_code", json_integer(trial->result.code));
		tell_add(object, "duration_ms", json_integer((json_int_t)trial->result.total_ms));
		tell_add(object, "running_ms", json_integer((json_int_t)trial->result.running_ms));
		add_usage(object, trial);
	}
	return object;
}

/* Of the trial that counts. */
static void add_trial(json_t *event, const struct trial *trial)
{
	bool has_streams = !trial->task->has_pty;

	tell_add(event, "exit_code",
		 trial->has_result ? json_integer(trial->result.code) : json_null());
	if (trial->has_result && trial->result.raw.end == EXEC_SIGNALLED)
		tell_add(event, "signal", json_integer(trial->result.raw.status));
	tell_add(event, "duration_ms", json_integer((json_int_t)trial->result.total_ms));
	tell_add(event, "output", stream_json(trial, has_streams ? EXEC_MERGED : EXEC_STDOUT));
	if (has_streams) {
		tell_add(event, "stdout", stream_json(trial, EXEC_STDOUT));
		tell_add(event, "stderr", stream_json(trial, EXEC_STDERR));
	}
	if (trial->result.is_cut)
		tell_add(event, "cut", json_true());
	add_usage(event, trial);
	tell_add(event, "confinement", confinement_json(trial));
	tell_add(event, "evidence", json_incref(trial->evidence));
}

json_t *outcome_attempts(const struct orchestrator_result *result, size_t count,
			 const struct trial **ret_last)
{
	json_t *attempts = json_array();

	*ret_last = NULL;
	for (size_t i = 0; i < count; i++) {
		const struct trial *trial = result->outcomes[i].output;

		if (!trial)
			continue; /* it was not started */
		json_t *attempt = trial_json(trial, ends[result->outcomes[i].end]);

		tell_add(attempt, "network", network_json(&result->networks[i], trial));
		(void)json_array_append_new(attempts, attempt); /* out of memory only */
		*ret_last = trial;
	}
	return attempts;
}

json_t *outcome_exec_end(const struct task *task, const struct orchestrator_result *result)
{
	json_t *event = tell_of_task(TELL_EXEC_END, task);
	const struct trial *last;
	json_t *attempts = outcome_attempts(result, result->attempt_count, &last);

	tell_add(event, "status", json_string(outcome_status(result)));
	outcome_add_words(event, result);
	if (last)
		add_trial(event, last);
	else
		tell_add(event, "exit_code", json_null());
	tell_add(event, "attempts", attempts);
	tell_add(event, "network",
		 result->attempt_count
			 ? network_json(&result->networks[result->attempt_count - 1], last)
			 : network_json(&(struct orchestrator_network_outcome){ 0 }, NULL));
	return event;
}

/* A denial counts as it does before a result was told; who cancelled it knows why it ended. */
static const char *deferred_status(const struct task *task, const struct trial *trial,
				   const struct orchestrator_network_outcome *network)
{
	enum exec_job_end end = trial->result.end;
	bool is_own_end = end == EXEC_JOB_EXITED || end == EXEC_JOB_SIGNALLED ||
			  (end == EXEC_JOB_CANCELLED && !task->is_cancelled);

	/* As of what is waited for: something was refused to it, and it failed. */
	bool has_failed = trial->is_confined && trial->refusals.count > 0 &&
			  end == EXEC_JOB_EXITED && trial->result.code != 0;

	return job_ends[(network->is_denial && is_own_end) || has_failed ? EXEC_JOB_DENIED : end];
}

json_t *outcome_deferred_end(const struct task *task, const struct trial *trial,
			     const char **ret_status)
{
	json_t *event = tell_of_task(TELL_EXEC_END, task);
	struct orchestrator *orchestrator = task->session->orchestrator;
	struct orchestrator_network_outcome network = { 0 };

	/* -ENOENT: nothing was recorded. */
	(void)orchestrator_network_settle(orchestrator, trial->number, &network);
	const char *status = *ret_status = deferred_status(task, trial, &network);
	const char *why =
		network.is_denial && !trial->result.why[0] ? network.text : trial->result.why;

	tell_add(event, "status", json_string(status));
	if (why[0])
		tell_add(event, "why", tell_text(why));
	add_trial(event, trial);
	json_t *attempt = trial_json(trial, job_ends[trial->result.end]);
	json_t *attempts = json_copy(task->earlier);

	tell_add(attempt, "network", network_json(&network, trial));
	(void)json_array_append_new(attempts, attempt); /* out of memory only */
	tell_add(event, "attempts", attempts);
	tell_add(event, "network", network_json(&network, trial));
	orchestrator_network_forget(orchestrator, trial->number);
	return event;
}
