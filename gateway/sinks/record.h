/* record: one audit record as members of a JSON object: ASCII only, every string cut and escaped,
 * always in one order. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "gateway/sinks/sink_impl.h"

/* Writes ,"NAME":VALUE for each member but those of the chain. The length, or -E2BIG. */
ssize_t record_members(const struct sink_record *record, char *out, size_t size);
