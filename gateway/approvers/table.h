/* table: the list of approvers; one line here, one in table.c. Private to this folder. */
#pragma once

#include "gateway/approvers/approver_impl.h"

extern const struct approver_ops control_approver;  /* control.c: `sallyport approve` */
extern const struct approver_ops tty_approver;      /* tty.c: the terminal of the run */
extern const struct approver_ops web_approver;      /* web.c: the page on loopback */
extern const struct approver_ops embedded_approver; /* embedded.c: the program around the gateway */
extern const struct approver_ops hooks_approver;    /* hooks.c: programs, one after another */
extern const struct approver_ops reviewer_approver; /* reviewer.c: a program */
extern const struct approver_ops notify_approver;   /* notify.c: a notice on the desktop */
extern const struct approver_ops webhook_approver;  /* webhook.c: a notice to a server */
extern const struct approver_ops metrics_approver;  /* metrics.c: counts, for --metrics */
