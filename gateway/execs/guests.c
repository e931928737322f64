#include "gateway/gateway_guests.h"

#include "gateway/approvers/ledger_impl.h"
#include "gateway/state.h"
#include "gateway/execs/execs.h"

void gateway_guest_unattended(struct gateway *gw, uint64_t id, struct bundle *bundle,
			      bool is_impatient)
{
	struct gateway_exec *exec = execs_find(gw, id);

	if (!exec)
		return;
	exec->bundle = bundle;
	exec->is_impatient = is_impatient;
}

static void count_grant(const struct approver_grant *grant, void *arg)
{
	unsigned int *count = arg;

	(*count)++;
}

void gateway_count(struct gateway *gw, unsigned int *ret_questions, unsigned int *ret_grants)
{
	*ret_questions = gw->question_count;
	*ret_grants = 0;
	gateway_each_grant(gw, count_grant, ret_grants);
}
