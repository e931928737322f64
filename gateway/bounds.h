/* bounds: the limits of what the gateway holds and does, and the reason for each. */
#pragma once

#include <stdint.h>

/* Open questions. Many builds on one machine can ask for ten thousand hosts together; a question
 * takes about 3 KiB. */
#define GATEWAY_QUESTIONS_MAX   16384
#define GATEWAY_WAITERS_MAX     20000 /* on one question */
#define GATEWAY_WAITING_MAX     40000 /* on all questions together */
#define GATEWAY_APPROVERS_MAX   16
#define GATEWAY_BATCH           64  /* verdicts between two writes of the audit log */
#define GATEWAY_TURN_MAX        512 /* verdicts in one turn, before the loop serves other events */
#define GATEWAY_BY_MAX          64  /* of struct policy_verdict */
#define GATEWAY_WORDS_MAX       256 /* of a person, to the requester */
#define GATEWAY_DEFAULT_TIMEOUT (5 * 60 * INT64_C(1000))

/* New questions: the size of the burst and the rate per second. An honest build asks for some tens
 * of hosts, an agent for one now and then; a faster requester may hide one host among many. The
 * limit of a session is the limit of open questions. */
#define GATEWAY_FLOOD_SESSION       16384
#define GATEWAY_FLOOD_SESSION_PER_S 32
#define GATEWAY_FLOOD_EXEC          512
#define GATEWAY_FLOOD_EXEC_PER_S    4
#define GATEWAY_FLOOD_PROGRAM       10240 /* in all commands of the session: many builds at once */
#define GATEWAY_FLOOD_PROGRAM_PER_S 16
#define GATEWAY_FLOOD_PROGRAMS_MAX  4096 /* with a bucket of its own each */
#define GATEWAY_FLOOD_DOMAIN        128  /* registrable: names below it are free to invent */
#define GATEWAY_FLOOD_DOMAIN_PER_S  1
#define GATEWAY_FLOOD_DOMAINS_MAX   16384 /* when all are in use, new ones are refused */

/* A question that ends unanswered can be asked again under the same id for this long. A person who
 * returns to the screen then finds the question that was there; a client's own retry comes within
 * seconds. */
#define GATEWAY_GRACE_MS   30000
#define GATEWAY_GRACES_MAX 1024

/* A person who has begun to type gets this much more time, once per question. */
#define GATEWAY_TOUCH_MS (60 * INT64_C(1000))

/* Finished questions that are kept, so that the record of a late answer can name its question. For
 * each question, this many late answers are recorded one by one, and after that one whenever the
 * number has doubled. */
#define GATEWAY_LATE_QUESTIONS_MAX 256
#define GATEWAY_LATE_ANSWERS_EACH  8

/* Domains that a person has allowed before; the oldest are forgotten. */
#define GATEWAY_SEEN_MAX 4096
