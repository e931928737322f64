#include "gateway/audit/sink_impl.h"

#include "gateway/audit/jsonl.h"

const struct sink_ops *const sink_table[] = {
	&jsonl_ops,
	NULL,
};
