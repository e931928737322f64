/* postgresql: copies records into a table that several machines share. */
#pragma once

#include "cli/audit/send/receiver_impl.h"

extern const struct receiver_ops postgresql_ops;
