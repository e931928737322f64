/* sessions: those of a program that holds the gateway (gateway_agent.h), within the gateway's own:
 * an answer for the session counts for the session whose requests waited, and for no other. */
#pragma once

#include "gateway/core.h"

#define SESSIONS_MAX 256 /* that one answer is for; past them who comes is asked again */

struct approval;
struct waiter;

/* 0: none but the gateway's. */
uint64_t sessions_of_waiter(const struct waiter *waiter);
/* Whose requests wait on it, each once: how many, at least 1. */
size_t sessions_of_approval(const struct approval *approval, uint64_t ret[SESSIONS_MAX]);
