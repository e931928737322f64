/* run_syslog: the receiver of --syslog. */
#pragma once

#include "gateway/gateway_syslog.h"

/* udp:ADDRESS:PORT, tcp:ADDRESS:PORT or unix:PATH. Borrows @value for as long as @ret is used. 0 or
 * -EINVAL. */
int run_syslog_parse(const char *value, struct gateway_syslog *ret);
