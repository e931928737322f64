/* refused_socket: whom a call wants to reach that the command's view or its network keeps it from.
 */
#pragma once

#include "exec/refused.h"

/* As refused_calls_find(), of connect(2) and of what sends to an address; 0 for any other call. */
size_t refused_socket_find(const struct plan *plan, const struct inside *inside,
			   const struct seccomp_notif *request, const struct seccomp_call *call,
			   struct refused *ret);
