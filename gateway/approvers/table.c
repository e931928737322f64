#include "gateway/approvers/table.h"

#include "base/mem.h"
#include "gateway/bounds.h"

/* The terminal comes first: the person in front of it sees a question before remote approvers
 * do. */
const struct approver_ops *const approver_table[] = {
	&tty_approver,     &control_approver,
	&web_approver,     &embedded_approver,
	&hooks_approver,   &reviewer_approver,
	&notify_approver,  &webhook_approver,
	&metrics_approver, NULL,
};

_Static_assert(ARRAY_SIZE(approver_table) - 1 <= GATEWAY_APPROVERS_MAX, "all may be wanted");
