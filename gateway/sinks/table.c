#include "gateway/sinks/sink_impl.h"

#include "gateway/sinks/jsonl.h"

const struct sink_ops *const sink_table[] = {
	&jsonl_ops,
	NULL,
};
