/* refused_socket: finds the addresses that a call wants to reach and that the command's view or its
 * network refuses. */
#pragma once

#include "exec/notify/refused.h"

/* As refused_calls_find(), for connect(2) and calls that send to an address; 0 for any other
 * call. */
size_t refused_socket_find(const struct plan *plan, const struct inside *inside,
			   const struct seccomp_notif *request, const struct seccomp_call *call,
			   struct refused *ret);
