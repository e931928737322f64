#include "cli/audit/send/receiver_impl.h"

#include "cli/audit/send/otlp.h"
#include "cli/audit/send/postgresql.h"
#include "cli/audit/send/syslog_tls.h"

const struct receiver_ops *const receiver_table[] = {
	&otlp_http_ops, &otlp_https_ops, &postgresql_ops, &syslog_tls_ops, NULL,
};
