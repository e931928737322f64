#include "agent/command/exec_report.h"

#include <string.h>

#include "agent/command/network_question.h"
#include "agent/command/refusal.h"
#include "agent/command/task.h"
#include "agent/command/task_exec.h"
#include "agent/rpc/channel.h"
#include "agent/rpc/limits.h"
#include "agent/rpc/piece.h"
#include "agent/session/client.h"
#include "agent/session/session.h"
#include "agent/session/tell.h"
#include "base/mem.h"

static struct agent *agent_of(const struct task_exec *exec)
{
	return exec->task->session->agent;
}

/* @is_last: no bytes follow, so an incomplete character is sent as it is. */
static void tell_output(struct task_exec *exec, const struct exec_output *output, bool is_last)
{
	static const char *const streams[] = { "stdout", "stderr", "output" };
	struct piece *piece = &exec->pieces[output->stream];
	uint64_t *told = &exec->told[output->stream];
	uint64_t offset = (output->len > 0 ? output->offset : *told) - piece->len;
	size_t len;
	auto_free char *bytes = piece_join(piece, output->bytes, output->len, is_last, &len);

	if (output->len > 0)
		*told = output->offset + output->len;
	if (len == 0 && output->dropped == 0)
		return;
	json_t *event = task_event(exec->task);

	tell_add(event, "attempt", json_integer((json_int_t)exec->attempt));
	tell_add(event, "stream", json_string(streams[output->stream]));
	tell_add(event, "offset", json_integer((json_int_t)offset));
	tell_bytes(event, bytes, len);
	if (output->dropped)
		tell_add(event, "dropped", json_integer((json_int_t)output->dropped));
	tell_send(agent_of(exec), TELL_EXEC_OUTPUT, event);
}

void exec_report_output(struct task_exec *exec, const struct exec_output *output)
{
	if (!exec->task->is_streamed)
		return; /* the client polls for it */
	tell_output(exec, output, output->dropped > 0);
	/* While the client does not read, the command's output is not read either. */
	if (channel_is_full(agent_of(exec)->channel))
		exec->owed += output->len;
	else
		exec_consumed(exec->running, output->len);
}

void exec_report_consume(struct task_exec *exec)
{
	if (exec->owed == 0 || exec->has_result)
		return;
	exec_consumed(exec->running, exec->owed);
	exec->owed = 0;
}

/* The bytes that waited for the rest of a character. */
void exec_report_rest(struct task_exec *exec)
{
	for (size_t i = 0; i < EXEC_STREAMS; i++) {
		const struct exec_output none = { .stream = (enum exec_stream)i };

		tell_output(exec, &none, true);
	}
}

static enum gateway_whose whose_is(const struct gateway_exec_event *event)
{
	return event->whose == GATEWAY_BY_NOBODY && strcmp(event->by, network_question_nobody) == 0
		       ? GATEWAY_BY_POLICY
		       : event->whose;
}

/* Did a person or a reviewer decide it, in words? */
static bool has_word(const struct gateway_exec_event *event)
{
	return event->whose == GATEWAY_BY_PERSON || event->whose == GATEWAY_BY_REVIEW;
}

/* Why nobody answered; NULL: for another reason. */
static const char *silence_of(enum policy_reason reason)
{
	switch ((int)reason) {
	case POLICY_NO_APPROVER:
		return "it needs approval, and nobody could be asked";
	case POLICY_PROMPT_TIMEOUT:
		return "it needs approval, and nobody answered in time";
	case POLICY_APPROVER_GONE:
		return "it needs approval, and who was asked left without an answer";
	default:
		return NULL;
	}
}

/* Only what nobody answered can be changed by an answer. A default of deny has precedence over what
 * is granted to a command. */
static bool is_final(const struct gateway_exec_event *event)
{
	return has_word(event) || !silence_of(event->reason);
}

/* Why the policy denied it, for reasons that need an explanation. */
static const char *words_of(enum policy_reason reason)
{
	static const char denied[] = "a rule denies it, and no answer can change that";
	static const char unlisted[] = "no rule allows it";
	static const char local[] = "it is a local or private address, and no rule allows it";
	static const char *const words[POLICY_REASON_COUNT] = {
		[POLICY_RULE_DENY] = denied,
		[POLICY_ANSWER_DENY] = denied,
		[POLICY_DENIED_ALWAYS] = denied,
		[POLICY_DENIED_SESSION] = denied,
		[POLICY_DEFAULT_DENY] = unlisted,
		[POLICY_OUTSIDE_ONLY] = unlisted,
		[POLICY_NO_APPROVER] = unlisted,
		[POLICY_PROMPT_TIMEOUT] = unlisted,
		[POLICY_PRIVATE_ADDRESS] = local,
		[POLICY_METADATA_ADDRESS] = local,
		[POLICY_SPECIAL_ADDRESS] = local,
		[POLICY_OWN_LISTENER] = local,
		[POLICY_GATE_CLOSING] = "the gate is not open",
	};

	return words[reason];
}

static void tell_denied(const struct task_exec *exec, const struct gateway_exec_event *event)
{
	static const char *const whose[] = {
		[GATEWAY_BY_NOBODY] = "nobody",   [GATEWAY_BY_POLICY] = "policy",
		[GATEWAY_BY_PERSON] = "person",   [GATEWAY_BY_REVIEW] = "reviewer",
		[GATEWAY_BY_NETWORK] = "network",
	};
	json_t *told = task_event(exec->task);

	tell_add(told, "attempt", json_integer((json_int_t)exec->attempt));
	if (event->dst)
		tell_add(told, "destination", tell_destination(event->dst));
	tell_add(told, "reason", json_string(policy_reason_code(event->reason)));
	tell_add(told, "by", json_string(whose[whose_is(event)]));
	tell_add_text(told, "who", event->by);
	tell_add_text(told, "rule", event->rule);
	tell_add_text(told, "because", event->because);
	tell_add_text(told, "cause", event->cause);
	tell_add(told, "times", json_integer(event->times));
	tell_send(exec->task->session->agent, TELL_NETWORK_DENIED, told);
}

static void note_denied(struct task_exec *exec, const struct gateway_exec_event *event)
{
	static const enum orchestrator_network_kind network_kinds[] = {
		[GATEWAY_BY_NOBODY] = ORCHESTRATOR_NETWORK_DISCONNECTED,
		[GATEWAY_BY_POLICY] = ORCHESTRATOR_NETWORK_BY_POLICY,
		[GATEWAY_BY_PERSON] = ORCHESTRATOR_NETWORK_BY_PERSON,
		[GATEWAY_BY_REVIEW] = ORCHESTRATOR_NETWORK_BY_PERSON,
		[GATEWAY_BY_NETWORK] = ORCHESTRATOR_NETWORK_NOTHING,
	};
	struct orchestrator_block block = {
		.kind = network_kinds[whose_is(event)],
		.host = event->dst ? event->dst->host : "",
		.protocol = event->dst ? policy_protocol_name(event->dst->protocol) : "",
		.port = event->dst ? event->dst->port : 0,
	};

	if (event->whose == GATEWAY_BY_NETWORK)
		return; /* the network failed; it was not denied */
	if (has_word(event))
		block.words = event->because;
	else if (block.kind == ORCHESTRATOR_NETWORK_BY_POLICY)
		block.words = words_of(event->reason);
	else if (block.kind == ORCHESTRATOR_NETWORK_DISCONNECTED)
		block.words = silence_of(event->reason);
	if (event->dst && event->dst->host[0])
		refusal_add_destination(&exec->refusals, event->dst, is_final(event),
					policy_reason_code(event->reason), event->pid);
	/* -ESTALE, -ENOENT: it was cancelled; its denials were told by the event. */
	(void)orchestrator_network_record(exec->task->session->orchestrator, exec->number, &block);
}

static void note_waiting(struct task_exec *exec, unsigned int questions)
{
	bool is_waiting = questions > 0;

	if (is_waiting == exec->is_waiting)
		return;
	exec->is_waiting = is_waiting;
	/* -ENOENT, -ESTALE: it has ended meanwhile, and has no timer any more. */
	(void)orchestrator_network_question(exec->task->session->orchestrator, exec->number,
					    is_waiting);
}

static void note_allowed(struct task_exec *exec, const struct gateway_exec_event *event)
{
	if (json_array_size(exec->allowed) == AGENT_ALLOWED_SHOWN)
		exec->is_allowed_cut = true;
	else if (event->dst)
		(void)json_array_append_new(exec->allowed, /* fails only without memory */
					    tell_destination(event->dst));
}

void exec_report_network(struct task_exec *exec, const struct gateway_exec_event *event)
{
	tally_network(&exec->task->session->tally, event);
	exec->is_allowed_cut |= event->dropped > 0; /* a dropped one may be an allowed one */
	switch (event->kind) {
	case GATEWAY_EXEC_DENIED:
		tell_denied(exec, event);
		return note_denied(exec, event);
	case GATEWAY_EXEC_WAITING:
		return note_waiting(exec, event->questions);
	case GATEWAY_EXEC_ALLOWED:
		return note_allowed(exec, event);
	case GATEWAY_EXEC_ENDED:
	default:
		return;
	}
}
