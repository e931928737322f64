#include "agent/propose.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/session/client.h"
#include "agent/rpc/fields.h"
#include "agent/rpc/limits.h"
#include "agent/session/received.h"
#include "agent/session/session.h"
#include "agent/command/task.h"
#include "agent/session/tell.h"
#include "agent/command/task_exec.h"
#include "base/err.h"
#include "base/mem.h"

#define PROPOSALS_MAX 64 /* per session */

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

/* One proposal that waits at the gateway. */
struct proposal {
	struct session *session;
	char *id;
	struct gateway_proposal *proposal;
	TAILQ_ENTRY(proposal) entry;
};

static void drop(struct proposal *proposal)
{
	/* A gateway that was freed has freed it. */
	if (proposal->session->agent->gateway)
		gateway_proposal_withdraw(proposal->proposal);
	TAILQ_REMOVE(&proposal->session->proposals, proposal, entry);
	free(proposal->id);
	free(proposal);
}

void propose_drop_all(struct session *session)
{
	struct proposal *proposal;

	while ((proposal = TAILQ_FIRST(&session->proposals)))
		drop(proposal);
}

static void on_verdict(const struct policy_verdict *verdict, void *arg)
{
	struct proposal *proposal = arg;
	struct session *session = proposal->session;
	json_t *told = tell_of_session(session);
	bool is_allowed = verdict->action == POLICY_ALLOW;

	tell_add(told, "outcome", json_string(is_allowed ? "approved" : "rejected"));
	tell_add(told, "reason", json_string(policy_reason_code(verdict->reason)));
	if (verdict->by[0])
		tell_add(told, "by", json_string("person"));
	tell_add_text(told, "why", verdict->because);
	tell_reply(session->agent, proposal->id, told);
	proposal->proposal = NULL; /* freed: nothing to withdraw */
	drop(proposal);
	client_look(session->agent);
}

/* The gateway's number of the command that the client names: 0 if it names none. */
static int find_exec(const struct session *session, int64_t number, uint64_t *ret_exec,
		     struct err *why)
{
	const struct task *task = number ? task_find(session, (uint64_t)number) : NULL;

	*ret_exec = task && task->exec_count ? task->execs[task->exec_count - 1]->number : 0;
	return number && !*ret_exec
		       ? err_set(why, -ENOENT, "no command with this number is running")
		       : 0;
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
		r = err_set(why, -EAGAIN, "the gate is not open yet; try again later");
	if (r < 0)
		return r;
	TAILQ_FOREACH (other, &session->proposals, entry)
		count++;
	if (count >= PROPOSALS_MAX)
		return err_set(why, -EBUSY, "%d proposals are open; wait for an answer to one",
			       PROPOSALS_MAX);
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
	json_t *event = tell_of_session(session);

	tell_add(event, "id", tell_id(submission->id));
	tell_add(event, "kind", json_string("network_rule"));
	tell_send(agent, TELL_TASK_STARTED, event);
	return 0;
}
