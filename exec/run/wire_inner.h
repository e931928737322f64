/* wire_inner: what the worker asks init for, one byte at a time, on the inner channel: sockets of
 * the sandbox's network. */
#pragma once

/* Sent first on the inner channel, with the listener of the Unix socket, if any; no answer. */
#define WIRE_INNER_DOOR 'd'
/* A bit of a request for that listener by a worker that comes later; the response is the same byte,
 * with the listener if there is one. */
#define WIRE_INNER_RENEW 0x80
#define WIRE_INNER_UDP   'u' /* a request for a UDP socket on 127.0.0.1; 4 and 6: one of TCP */
/* With WIRE_CAPTURE_UDP, for one of struct datagrams: */
#define WIRE_INNER_CAPTURED 'c'
#define WIRE_INNER_RAW4     'r'
#define WIRE_INNER_RAW6     'R'
