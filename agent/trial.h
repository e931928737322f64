/* trial: one attempt at a command: an exec of the gateway's, a job, and what was refused to it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "exec/orchestrator/orchestrator_ops.h"

struct session;
struct trial;

/* An orchestrator's operations: see struct orchestrator_ops. */
int trial_start(const struct orchestrator_attempt *attempt, struct err *why);
void trial_stop(struct trial *trial, const char *why);
void trial_pause(struct trial *trial, bool is_paused);

/* Its result was told as running on. */
void trial_defer(struct trial *trial);
void trial_cancel(struct trial *trial, const char *why);
/* The gateway has said its last word about it. */
void trial_settle(struct trial *trial);
/* The channel has room again. */
void trial_consume(struct trial *trial);
/* As the gateway reads it: returned owned. */
char *trial_destination(const struct orchestrator_access *access);
/* By the orchestrator's number; NULL: none. */
struct trial *trial_find(const struct session *session, uint64_t number);
void trial_free(struct trial *trial);
