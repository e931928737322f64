/* table: the approvers there are; one line here, one in table.c. Private to this folder. */
#pragma once

#include "gateway/approvers/approver_impl.h"

extern const struct approver_ops control_approver;  /* control.c: `sallyport approve` */
extern const struct approver_ops tty_approver;      /* tty.c: the terminal of the run */
extern const struct approver_ops web_approver;      /* web.c: the page on loopback */
extern const struct approver_ops embedded_approver; /* embedded.c: the program we are in */
extern const struct approver_ops hooks_approver;    /* hooks.c: programs, one after the other */
extern const struct approver_ops reviewer_approver; /* reviewer.c: a program */
extern const struct approver_ops notify_approver;   /* notify.c: a hint on the desktop */
extern const struct approver_ops webhook_approver;  /* webhook.c: a hint to a server */
