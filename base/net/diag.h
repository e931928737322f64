/* diag: asks the kernel about one TCP connection: sock_diag(7), by inet_diag. */
#pragma once

#include <linux/inet_diag.h>
#include <netinet/in.h>

/* The end at @theirs of its connection with @ours (of one family), as the network namespace of
 * @netlink (a SOCK_RAW socket of NETLINK_SOCK_DIAG, borrowed) has it. Never waits: the kernel
 * answers within the call that asks. 0; -ESRCH: there is none; -EBADMSG, -errno: the kernel did not
 * say. */
int diag_tcp(int netlink, const struct sockaddr *theirs, const struct sockaddr *ours,
	     struct inet_diag_msg *ret);
