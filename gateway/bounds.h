/* bounds: how much the gateway holds and does, and why so much. */
#pragma once

#include <stdint.h>

/* Open at once. Ten thousand hosts are asked for by a crowd of builds on one machine; a question is
 * some 3 KiB. */
#define GATEWAY_QUESTIONS_MAX   16384
#define GATEWAY_WAITERS_MAX     20000 /* on one question */
#define GATEWAY_WAITING_MAX     40000 /* on all questions together */
#define GATEWAY_APPROVERS_MAX   8
#define GATEWAY_BATCH           16  /* verdicts between two writes of the audit log */
#define GATEWAY_TURN_MAX        512 /* verdicts before the loop serves others */
#define GATEWAY_BY_MAX          64  /* of struct policy_verdict */
#define GATEWAY_WORDS_MAX       256 /* of a person, to whoever asked */
#define GATEWAY_DEFAULT_TIMEOUT (5 * 60 * INT64_C(1000))
