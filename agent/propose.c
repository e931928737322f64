#include "agent/propose.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/core.h"
#include "agent/fields.h"
#include "agent/submission.h"
#include "agent/task.h"
#include "agent/tell.h"
#include "base/err.h"
#include "base/mem.h"

#define PROPOSALS_MAX 64 /* of a session */

struct wanted {
	const char *destination, *reason;
	int64_t exec;
};
static const struct fields_entry wanted_fields[] = {
	{ "destination", FIELDS_TEXT, offsetof(struct wanted, destination), POLICY_TEXT_MAX, true,
	  NULL },
	{ "reason", FIELDS_TEXT, offsetof(struct wanted, reason), AGENT_TEXT_MAX, true, NULL },
	{ "exec", FIELDS_NUMBER, offsetof(struct wanted, exec), INT64_MAX, false, NULL },
	{ 0 },
};

static void on_verdict(const struct policy_verdict *verdict, void *arg)
{
	struct proposal *proposal = arg;
	struct session *session = proposal->session;
	json_t *event = tell_of_session(TELL_TASK_COMPLETE, proposal->id, session);
	bool is_allowed = verdict->action == POLICY_ALLOW;

	tell_add(event, "outcome", json_string(is_allowed ? "approved" : "rejected"));
	tell_add(event, "reason", json_string(policy_reason_code(verdict->reason)));
	if (verdict->by[0])
		tell_add(event, "by", json_string("person"));
	if (verdict->because[0])
		tell_add(event, "why", tell_text(verdict->because));
	tell_send(session->agent, event);
	proposal->proposal = NULL; /* dead: nothing to withdraw */
	task_drop_proposal(proposal);
	agent_look(session->agent);
}

/* The gateway's number of the command that the client means: 0 when it means none. */
static int find_exec(const struct session *session, int64_t number, uint64_t *ret_exec,
		     struct err *why)
{
	const struct task *task = number ? task_find(session, (uint64_t)number) : NULL;

	*ret_exec = task && task->trial_count ? task->trials[task->trial_count - 1]->exec : 0;
	return number && !*ret_exec ? err_set(why, -ENOENT, "no such command runs") : 0;
}

int propose_serve(struct agent *agent, const struct submission *submission, struct err *why)
{
	struct session *session = submission->session;
	struct wanted wanted = { 0 };
	struct proposal *other;
	uint64_t exec = 0;
	size_t count = 0;
	int r = fields_read(submission->body, wanted_fields, false, &wanted, why);

	if (r == 0)
		r = find_exec(session, wanted.exec, &exec, why);
	if (r == 0 && !agent->gateway)
		r = err_set(why, -EAGAIN, "the gate is not open yet");
	if (r < 0)
		return r;
	TAILQ_FOREACH (other, &session->proposals, entry)
		count++;
	if (count >= PROPOSALS_MAX)
		return err_set(why, -EBUSY, "%d proposals are open already", PROPOSALS_MAX);
	struct proposal *proposal = mem_new(sizeof(*proposal));

	proposal->session = session;
	proposal->id = mem_strdup(submission->id);
	proposal->proposal = gateway_propose(agent->gateway, exec, wanted.destination,
					     wanted.reason, on_verdict, proposal, why);
	if (!proposal->proposal) {
		free(proposal->id);
		free(proposal);
		return -EINVAL;
	}
	gateway_proposal_join(proposal->proposal, session->number);
	TAILQ_INSERT_TAIL(&session->proposals, proposal, entry);
	json_t *event = tell_of_session(TELL_TASK_STARTED, submission->id, session);

	tell_add(event, "kind", json_string("network_rule"));
	tell_send(agent, event);
	return 0;
}
