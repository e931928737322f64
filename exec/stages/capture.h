/* capture: makes every address local in the network namespace, and hands TCP connections to others
 * to one listener, with their destination (Documentation/networking/tproxy.rst of the kernel); and
 * datagrams, if they are captured. */
#pragma once

#include <stdbool.h>

/* For captured datagrams; -1: there is none. */
struct datagrams {
	int listener;   /* UDP: gets them, and reports the address that each was sent to */
	int raw4, raw6; /* answers are sent by these, from any address and port */
};

/* The listener, and the UDP socket on which names are asked. */
struct capture {
	int listener, names;
	struct datagrams datagrams;
};

/* lo must be up. 0; or -errno: this kernel has no nf_tables with tproxy (Linux 4.19), and nothing
 * leads to the sockets, which are open in any case unless @ret has -1. */
int capture_open(struct capture *ret, bool has_datagrams);
