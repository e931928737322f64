#include "gateway/approvers/table.h"

/* The terminal first: who sits in front of the command sees the question before anybody far away.
 */
const struct approver_ops *const approver_table[] = {
	&tty_approver,      &control_approver, &web_approver,
	&embedded_approver, &hooks_approver,   &reviewer_approver,
	&notify_approver,   &webhook_approver, NULL,
};
