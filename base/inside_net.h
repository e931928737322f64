/* inside_net: the addresses of a sandbox's network that init, the worker and the gateway agree on.
 * Inside, every address is local, and TCP connections to all but the own addresses reach one
 * listener of the gate, as datagrams do if they are captured. Names have addresses of their own
 * there, which lead nowhere else. */
#pragma once

#define INSIDE_NET_PORT                                                                            \
	61053 /* of that listener, and of the socket; above the ephemeral range (32768–60999) */
#define INSIDE_NET_DNS 53 /* UDP, to any address; TCP, through the listener */

/* The own addresses on lo, besides loopback: the source of connections to others. 192.0.0.8 is the
 * dummy address of RFC 7600, and the second one is in a unique local prefix (RFC 4193). */
#define INSIDE_NET_OWN_4                                                                           \
	{                                                                                          \
		192, 0, 0, 8                                                                       \
	}
#define INSIDE_NET_OWN_6                                                                           \
	{                                                                                          \
		0xfd, 0x5a, 0x11, 0xa9, 0x70, 0x47, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1                   \
	}

/* Nobody's (RFC 5737, 3849): no datagram to them is captured, so the probe sees its own come back.
 */
#define INSIDE_NET_NOBODYS_4                                                                       \
	{                                                                                          \
		192, 0, 2, 1                                                                       \
	}
#define INSIDE_NET_NOBODYS_6                                                                       \
	{                                                                                          \
		0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1                         \
	}

/* The n-th name (from 1) has the n-th address after these: in 198.18.0.0/15 (RFC 2544), and in the
 * prefix above. */
#define INSIDE_NET_NAMES_4                                                                         \
	{                                                                                          \
		198, 18, 0, 255                                                                    \
	}
#define INSIDE_NET_NAMES_6                                                                         \
	{                                                                                          \
		0xfd, 0x5a, 0x11, 0xa9, 0x70, 0x47, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0                   \
	}
#define INSIDE_NET_NAMES 32768 /* of one exec: bounds what its names need */

/* The resolver's address in the command's resolv.conf: below the names. */
#define INSIDE_NET_RESOLVER "198.18.0.1"
