#include "gateway/audit/sink_impl.h"

#include "gateway/audit/jsonl.h"
#include "gateway/audit/syslog/syslog.h"

const struct sink_ops *const sink_table[] = {
	&jsonl_ops, /* first: the others get what it has stored */
	&syslog_ops,
	NULL,
};
