/* datagrams: those that programs send without the gate's proxy, and that the sandbox hands to one
 * socket. Each pair of a client's socket and a destination is a flow. */
#pragma once

#include "policies/policies.h"

struct datagrams;
struct exec_sockets;
struct way;

/* Asks @inner for the sockets; it has none if nothing was captured from the start of the exec.
 * Keeps @way. Returned owned. */
struct datagrams *datagrams_begin(struct way *way, struct exec_sockets *inner);
void datagrams_end(struct datagrams *datagrams); /* NULL is fine */
