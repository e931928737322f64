/* lookups: finds the programs that requests come from, in small parts. The waiters of one exec
 * share a scan of its processes; execs take turns, so that one with many processes does not delay
 * the others. */
#pragma once

#include "gateway/state.h"

#define LOOKUPS_WORK 64 /* names of /proc that one turn of the loop reads, for all execs */
/* From the start of a scan. If it takes longer, the program counts as not known, because processes
 * may have changed meanwhile. */
#define LOOKUPS_SCAN_MS 1000
/* What nobody waits for must not cost much: so many waiters in one scan, and each part of the work
 * has a price in time; an exec that has used so much in advance pauses. */
#define LOOKUPS_NOTED_MAX 16
#define LOOKUPS_PART_MS   8
#define LOOKUPS_BURST_MS  1000

/* @on_known is called for each waiter whose lookup has ended, and continues its decision. */
void lookups_init(struct gateway *gw, void (*on_known)(struct waiter *waiter));
/* True: @waiter is being looked up, and will be passed to @on_known. False: there is nothing (more)
 * to find out. */
bool lookups_start(struct waiter *waiter);
/* Once per request, and only if a rule or a grant needs the program. True: as lookups_start(); its
 * program must not be used in a decision before that has ended. */
bool lookups_ask(struct waiter *waiter);
/* @waiter is allowed; its program, for the record of its end, is stored in it if it can be found
 * without delaying anything. Too many at once have none. */
void lookups_note(struct waiter *waiter);
/* @waiter is withdrawn. */
void lookups_remove(struct waiter *waiter);
/* Returns its waiters with an unknown program, and frees its scan. */
void lookups_exec_ended(struct gateway *gw, struct gateway_exec *exec);
/* The names of the program's parents; "": not known. */
void lookups_chain(const struct waiter *waiter, char out[SOCKET_OWNER_CHAIN_MAX]);
void lookups_done(struct gateway *gw);
