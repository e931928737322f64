/* packet: the IP packets that answer a datagram: another datagram, or that its port is closed.
 * Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

#define PACKET_HEAD_MAX    48 /* an IPv6 and a UDP head */
#define PACKET_REFUSAL_MAX 96 /* two of IPv6, one of ICMP and one of UDP */

/* Both addresses are of one family. */
struct packet_way {
	struct addr from, to;
	uint16_t from_port, to_port;
};

/* The heads of a datagram with @payload, which follows them: their length; 0: it is too long. */
size_t packet_write_head(const struct packet_way *way, const void *payload, size_t len,
			 uint8_t out[PACKET_HEAD_MAX]);
/* What a host answers to a datagram that went this way to a closed port: the length. */
size_t packet_write_refusal(const struct packet_way *way, uint8_t out[PACKET_REFUSAL_MAX]);
