/* limits: the number, size and duration of what a client may send and have. */
#pragma once

#include <stdint.h>

#define AGENT_SESSIONS_MAX   64
#define AGENT_TASKS_MAX      1024 /* of a session, that have not ended */
#define AGENT_NAME_MAX       64
#define AGENT_PATH_MAX       4096
#define AGENT_TEXT_MAX       4096
#define AGENT_ARGV_MAX       4096
#define AGENT_LIST_MAX       512
#define AGENT_ENV_MAX        512
#define AGENT_DURATION_MAX   (INT64_C(7) * 24 * 3600 * 1000) /* ms */
#define AGENT_EXECS_MAX      2
#define AGENT_EVIDENCE_SHOWN 64
#define AGENT_DENIED_TIMES   64
#define AGENT_ALLOWED_SHOWN  64    /* destinations, in the event of an end */
#define AGENT_END_MS         10000 /* for what runs to end after the client has disconnected */
