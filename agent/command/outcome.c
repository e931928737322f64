#include "agent/command/outcome.h"

#include <stdlib.h>

#include "agent/session/client.h"
#include "agent/session/sandbox_json.h"
#include "agent/command/refusal.h"
#include "agent/session/session.h"
#include "agent/command/task.h"
#include "agent/session/tell.h"
#include "agent/command/task_exec.h"
#include "base/mem.h"
#include "exec/exec.h"

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
/* The name of each decider that can reject; NULL: it was not rejected. */
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
	[EXEC_EXITED] = "exited",           [EXEC_SIGNALLED] = "signalled",
	[EXEC_TIMED_OUT] = "timed_out",     [EXEC_CANCELLED] = "cancelled",
	[EXEC_INTERRUPTED] = "interrupted", [EXEC_DENIED] = "denied",
	[EXEC_NOT_STARTED] = "not_started", [EXEC_KILLED] = "failed",
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
	tell_add_text(object, "message", result->why);
	tell_add_text(object, "note", result->note);
	if (rejecters[result->kind])
		tell_add(object, "by", json_string(rejecters[result->kind]));
	if (result->is_abort)
		tell_add(object, "abort", json_true());
}

static json_t *network_json(const struct orchestrator_network_outcome *network,
			    const struct task_exec *exec)
{
	json_t *object = json_pack("{s:s, s:I}", "outcome", network_kinds[network->kind], "blocked",
				   (json_int_t)network->blocked);
	json_t *blocks = json_array();

	tell_add_text(object, "text", network->text);
	for (uint64_t i = 0; i < network->block_count; i++) {
		const struct orchestrator_block *block = &network->blocks[i];

		(void)json_array_append_new(
			blocks, json_pack("{s:o, s:o, s:i, s:s}", "host", tell_text(block->host),
					  "protocol", tell_text(block->protocol), "port",
					  (int)block->port, "by", network_kinds[block->kind]));
	}
	tell_add(object, "blocks", blocks);
	tell_add(object, "allowed", json_incref(exec->allowed));
	if (exec->is_allowed_cut)
		tell_add(object, "allowed_cut", json_true());
	return object;
}

/* The part of a stream that was kept. */
static json_t *stream_json(const struct task_exec *exec, enum exec_stream stream)
{
	static const char *const names[] = { "stdout", "stderr" };
	json_t *object = json_object();
	struct exec_kept kept;
	size_t len;
	auto_free char *text = exec_text(exec->running, stream, &len);

	exec_kept(exec->running, stream, &kept);
	tell_bytes(object, text, len);
	tell_add(object, "omitted", json_integer((json_int_t)kept.omitted));
	if (kept.spill >= 0 && stream != EXEC_MERGED) {
		auto_free char *path =
			mem_printf("%s/%llu.%s", exec->task->session->agent->config.spill_dir,
				   (unsigned long long)exec->number, names[stream]);

		tell_add(object, "spill_file", tell_text(path));
		tell_add(object, "spill_whole", json_boolean(kept.spill_error == 0));
	}
	return object;
}

/* Adds the usage of all its processes until their end, if it is known. */
static void add_usage(json_t *object, const struct task_exec *exec)
{
	const struct exec_usage *usage = &exec->result.raw.usage;

	if (exec->has_result && usage->max_rss_bytes > 0)
		tell_add(object, "usage",
			 json_pack("{s:I, s:I, s:I}", "user_us", (json_int_t)usage->user_us,
				   "system_us", (json_int_t)usage->system_us, "max_rss_bytes",
				   (json_int_t)usage->max_rss_bytes));
}

/* What the result of a command says about each of its execs. */
static void add_exec(json_t *object, const struct task_exec *exec,
		     const struct orchestrator_network_outcome *network)
{
	tell_add(object, "record_exec", json_integer((json_int_t)exec->number));
	tell_add(object, "confined", json_boolean(exec->is_confined));
	tell_add(object, "sandbox", sandbox_json(exec->sandbox));
	tell_add(object, "evidence", json_incref(exec->refusals.evidence));
	tell_add(object, "network", network_json(network, exec));
	tell_add(object, "exit_code",
		 exec->has_result ? json_integer(exec->result.code) : json_null());
	if (!exec->has_result)
		return;
	if (exec->result.raw.end == EXEC_PROCESS_SIGNALLED)
		tell_add(object, "signal", json_integer(exec->result.raw.status));
	tell_add(object, "duration_ms", json_integer((json_int_t)exec->result.total_ms));
	tell_add(object, "running_ms", json_integer((json_int_t)exec->result.running_ms));
	add_usage(object, exec);
}

/* And what it says about the last one, whose output counts. */
static void add_last(json_t *event, const struct task_exec *exec,
		     const struct orchestrator_network_outcome *network)
{
	bool has_streams = !exec->task->has_pty;

	tell_add(event, "attempt", json_integer((json_int_t)exec->attempt));
	add_exec(event, exec, network);
	tell_add(event, "output", stream_json(exec, has_streams ? EXEC_MERGED : EXEC_STDOUT));
	if (has_streams) {
		tell_add(event, "stdout", stream_json(exec, EXEC_STDOUT));
		tell_add(event, "stderr", stream_json(exec, EXEC_STDERR));
	}
	if (exec->result.is_cut)
		tell_add(event, "cut", json_true());
}

json_t *outcome_first(const struct orchestrator_result *result, size_t count)
{
	for (size_t i = 0; i + 1 < count; i++) {
		const struct task_exec *exec = result->outcomes[i].output;
		json_t *first = exec ? json_object() : NULL; /* NULL: it was not started */

		if (!exec)
			continue;
		tell_add(first, "status", json_string(ends[result->outcomes[i].end]));
		add_exec(first, exec, &result->networks[i]);
		return first;
	}
	return NULL;
}

/* Adds the files of all execs: what the first one made existed when the second one began. */
static void add_made(json_t *event, const struct task *task)
{
	json_t *made = json_array();
	const char *unknown = NULL;
	size_t count = 0;

	for (size_t i = 0; i < task->exec_count; i++) {
		const struct task_exec *exec = task->execs[i];

		count += exec->look.made_count;
		(void)json_array_extend(made, exec->look.made); /* NULL is fine */
		unknown = exec->look.unknown ? exec->look.unknown : unknown;
	}
	if (count > json_array_size(made))
		tell_add(event, "made_cut", json_true());
	if (count > 0)
		tell_add(event, "made", json_incref(made));
	if (unknown)
		tell_add(event, "made_unknown", tell_text(unknown));
	json_decref(made);
}

/* A denial on the network that ended the command is its message already. */
static void drop_repeated(json_t *object)
{
	json_t *network = json_object_get(object, "network");

	if (json_equal(json_object_get(network, "text"), json_object_get(object, "message")))
		(void)json_object_del(network, "text"); /* it is there */
}

json_t *outcome_json(const struct task *task, const struct orchestrator_result *result)
{
	json_t *object = json_object();
	const struct task_exec *last = NULL;
	size_t count = result->exec_count;

	/* An exec that was not started has no output. */
	for (; count > 0 && !last; count--)
		last = result->outcomes[count - 1].output;
	tell_add(object, "status", json_string(outcome_status(result)));
	outcome_add_words(object, result);
	if (last)
		add_last(object, last, &result->networks[count]);
	else
		tell_add(object, "exit_code", json_null());
	if (last)
		tell_add(object, "first_attempt", outcome_first(result, count + 1));
	drop_repeated(object);
	add_made(object, task);
	return object;
}

/* A denial changes the status as it does for an exec that was waited for; a cancelled command was
 * cancelled by the client, which knows why it ended. */
static const char *deferred_status(const struct task *task, const struct task_exec *exec,
				   const struct orchestrator_network_outcome *network)
{
	enum exec_end end = exec->result.end;
	bool is_own_end = end == EXEC_EXITED || end == EXEC_SIGNALLED ||
			  (end == EXEC_CANCELLED && !task->is_cancelled);

	/* The same rule as for an exec that was waited for: an access was refused, and the command
	 * failed. */
	bool has_failed = exec->is_confined && exec->refusals.count > 0 && end == EXEC_EXITED &&
			  exec->result.code != 0 &&
			  !refusal_is_beside(&exec->refusals, &exec->result.raw);

	return ends[(network->is_denial && is_own_end) || has_failed ? EXEC_DENIED : end];
}

json_t *outcome_deferred_json(const struct task *task, const struct task_exec *exec)
{
	json_t *object = json_object();
	struct orchestrator *orchestrator = task->session->orchestrator;
	struct orchestrator_network_outcome network = { 0 };

	/* -ENOENT: nothing was recorded. */
	(void)orchestrator_network_settle(orchestrator, exec->number, &network);
	const char *status = deferred_status(task, exec, &network);
	const char *why =
		network.is_denial && !exec->result.why[0] ? network.text : exec->result.why;

	tell_add(object, "status", json_string(status));
	tell_add_text(object, "message", why);
	add_last(object, exec, &network);
	tell_add(object, "first_attempt", json_incref(task->first));
	drop_repeated(object);
	add_made(object, task);
	orchestrator_network_forget(orchestrator, exec->number);
	return object;
}
