/* lookups: which programs the waiters come from, found a piece at a time. The waiters of one exec
 * share a scan of its processes; the execs take turns, so what one of them has made large holds up
 * no other. */
#pragma once

#include "gateway/core.h"

#define LOOKUPS_WORK 256 /* names of /proc that one turn of the loop reads, for all execs */
/* From the start of a scan. What takes longer is not known: the programs may be others by then. */
#define LOOKUPS_SCAN_MS 1000

void lookups_init(struct gateway *gw);
/* True: @waiter is being looked up, and comes back to the queue, to its question or to the review
 * of what is open. False: there is nothing (more) to find out about it. */
bool lookups_start(struct waiter *waiter);
/* It leaves. */
void lookups_remove(struct waiter *waiter);
/* Its waiters go back as they are: not known. Frees what is left of its scan. */
void lookups_exec_ended(struct gateway *gw, struct gateway_exec *exec);
/* Who started the program, by name; "": not known. */
void lookups_chain(const struct waiter *waiter, char out[WHO_CHAIN_MAX]);
void lookups_done(struct gateway *gw);
