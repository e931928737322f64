/* jsonl: the audit log, one JSON object per line, chained by hashes; sallyport-audit(1) says how.
 */
#pragma once

#include "gateway/sinks/sink_impl.h"

extern const struct sink_ops jsonl_ops;
