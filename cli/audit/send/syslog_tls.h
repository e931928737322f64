/* syslog_tls: sends records to a syslog receiver: RFC 5424 messages by TLS (RFC 5425). */
#pragma once

#include "cli/audit/send/receiver_impl.h"

extern const struct receiver_ops syslog_tls_ops;
