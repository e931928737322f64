/* sessions: the sessions of a program that holds the gateway (gateway_agent.h), which are parts of
 * the gateway's own: an answer for the session applies to the sessions whose requests waited, and
 * to no other. */
#pragma once

#include "gateway/state.h"

#define SESSIONS_MAX 256 /* for one answer; requests of further sessions are asked about again */

struct approval;
struct waiter;

/* 0: only the gateway's own. */
uint64_t sessions_of_waiter(const struct waiter *waiter);
/* Fills in the sessions whose requests wait on it, without duplicates; returns their number, at
 * least 1. */
size_t sessions_of_approval(const struct approval *approval, uint64_t ret[SESSIONS_MAX]);
