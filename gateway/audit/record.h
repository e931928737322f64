/* record: writes an audit record as members of a JSON object: ASCII only, every string cut and
 * escaped, always in the same order. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "gateway/audit/sink_impl.h"

/* The name in records, for example "exec_start". */
const char *record_event_name(enum sink_event event);
/* Fills in the present time, for a record that no run writes. */
void record_stamp(struct sink_record *record);
/* Writes ,"NAME":VALUE for each member except those of the chain. The length, or -E2BIG. */
ssize_t record_members(const struct sink_record *record, char *out, size_t size);
