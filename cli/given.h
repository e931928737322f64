/* given: the sockets that a service manager hands over: sd_listen_fds(3). */
#pragma once

#include <stddef.h>

#define GIVEN_FD  3 /* the first */
#define GIVEN_MAX 1024

/* How many are for this process. 0: none. */
size_t given_count(void);
