/* syslog: sends every record to a syslog receiver (RFC 5424). What the receiver does not take in
 * time is dropped and counted; the audit log has it. */
#pragma once

#include "gateway/audit/sink_impl.h"

/* What waits for the receiver. */
#define SYSLOG_QUEUE_MAX   8192
#define SYSLOG_QUEUE_BYTES (4U << 20)

extern const struct sink_ops syslog_ops;
