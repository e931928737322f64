/* record: writes an orchestrator's decision to the gateway's records. */
#pragma once

#include "exec/orchestrator/orchestrator_decided.h"

/* @arg: struct session. As orchestrator_ops.decided. */
int record_decided(const struct orchestrator_decided *decided, void *arg);
/* The decider's name in a record. */
const char *record_by(enum orchestrator_by by, const char *name);
