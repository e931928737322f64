/* record: one audit record as one line of JSON: ASCII only, every string cut and escaped, the
 * members always in one order. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gateway/sinks/sink_impl.h"

/* Writes the object, ending in ,"prev":"@prev"}, without a newline. Its length, or -E2BIG. */
ssize_t record_line(const struct sink_record *record, uint64_t seq, const char *prev, char *out,
		    size_t size);
