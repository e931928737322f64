/* jsonl: the audit log: one JSON object per line, chained by hashes, as in sallyport-audit(1). */
#pragma once

#include "gateway/audit/sink_impl.h"

extern const struct sink_ops jsonl_ops;
