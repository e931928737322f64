/* bounds: how much the gateway holds and does, and why so much. */
#pragma once

#include <stdint.h>

/* Open at once. Ten thousand hosts are asked for by a crowd of builds on one machine; a question is
 * some 3 KiB. */
#define GATEWAY_QUESTIONS_MAX   16384
#define GATEWAY_WAITERS_MAX     20000 /* on one question */
#define GATEWAY_WAITING_MAX     40000 /* on all questions together */
#define GATEWAY_APPROVERS_MAX   8
#define GATEWAY_BATCH           64  /* verdicts between two writes of the audit log */
#define GATEWAY_TURN_MAX        512 /* verdicts before the loop serves others */
#define GATEWAY_BY_MAX          64  /* of struct policy_verdict */
#define GATEWAY_WORDS_MAX       256 /* of a person, to whoever asked */
#define GATEWAY_DEFAULT_TIMEOUT (5 * 60 * INT64_C(1000))

/* New questions: so many at once, and then so many a second. An honest build asks for some tens of
 * hosts, an agent for one now and then; whoever asks for more at once is hiding one among many. Of
 * a session: as many as may be open. */
#define GATEWAY_FLOOD_SESSION       16384
#define GATEWAY_FLOOD_SESSION_PER_S 32
#define GATEWAY_FLOOD_EXEC          512
#define GATEWAY_FLOOD_EXEC_PER_S    4
#define GATEWAY_FLOOD_PROGRAM       10240 /* in all commands of the session: a crowd of builds */
#define GATEWAY_FLOOD_PROGRAM_PER_S 16
#define GATEWAY_FLOOD_PROGRAMS_MAX  4096 /* counted one by one, as domains below */
#define GATEWAY_FLOOD_DOMAIN        128 /* registrable: the names below it cost nothing to make up */
#define GATEWAY_FLOOD_DOMAIN_PER_S  1
#define GATEWAY_FLOOD_DOMAINS_MAX   16384 /* counted one by one; with one more, all wait */

/* Unanswered questions that may be asked again as the same. A person who comes back to the screen
 * finds the one that was there; a client's own retry comes within seconds. */
#define GATEWAY_GRACE_MS   30000
#define GATEWAY_GRACES_MAX 1024

/* A person who has begun to type gets as much to end, once a question. */
#define GATEWAY_TOUCH_MS (60 * INT64_C(1000))

/* Questions that are over, kept so that a late answer's record can say to what it came. Of each so
 * many late answers are recorded one by one, and then those that double the number. */
#define GATEWAY_LATE_QUESTIONS_MAX 256
#define GATEWAY_LATE_ANSWERS_EACH  8

#define GATEWAY_SEEN_MAX 4096 /* domains a person has allowed before; the oldest are forgotten */
