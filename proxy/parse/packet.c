#include "proxy/parse/packet.h"

#include <string.h>

#define IP4_BYTES  20
#define IP6_BYTES  40
#define UDP_BYTES  8
#define ICMP_BYTES 8
#define LIFETIME   64
#define LEN_MAX    65535 /* of an IPv4 packet, and of what follows an IPv6 head */

enum protocol { ICMP4 = 1, UDP = 17, ICMP6 = 58 };

static void put_16(uint8_t *at, size_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

/* The sum of RFC 1071, not yet folded; @bytes begin at an even place of the whole. */
static uint64_t add(uint64_t sum, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i + 1 < len; i += 2)
		sum += (uint64_t)bytes[i] << 8 | bytes[i + 1];
	return len % 2 ? sum + ((uint64_t)bytes[len - 1] << 8) : sum;
}

static uint16_t fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static size_t addr_bytes(const struct packet_way *way)
{
	return way->from.family == AF_INET ? 4 : 16;
}

/* The pseudo head. */
static uint64_t add_ends(const struct packet_way *way, enum protocol protocol, size_t len)
{
	uint64_t sum = add(protocol + len, way->from.bytes, addr_bytes(way));

	return add(sum, way->to.bytes, addr_bytes(way));
}

static size_t put_ip(const struct packet_way *way, enum protocol protocol, size_t len, uint8_t *out)
{
	if (way->from.family == AF_INET) {
		memset(out, 0, IP4_BYTES);
		out[0] = 0x45; /* version 4, five words */
		put_16(out + 2, IP4_BYTES + len);
		out[6] = 0x40; /* not to be fragmented */
		out[8] = LIFETIME;
		out[9] = (uint8_t)protocol;
		memcpy(out + 12, way->from.bytes, 4);
		memcpy(out + 16, way->to.bytes, 4);
		put_16(out + 10, fold(add(0, out, IP4_BYTES)));
		return IP4_BYTES;
	}
	memset(out, 0, IP6_BYTES);
	out[0] = 0x60;
	put_16(out + 4, len);
	out[6] = (uint8_t)protocol;
	out[7] = LIFETIME;
	memcpy(out + 8, way->from.bytes, 16);
	memcpy(out + 24, way->to.bytes, 16);
	return IP6_BYTES;
}

static size_t put_udp(const struct packet_way *way, const void *payload, size_t len, uint8_t *out)
{
	put_16(out, way->from_port);
	put_16(out + 2, way->to_port);
	put_16(out + 4, UDP_BYTES + len);
	put_16(out + 6, 0);
	uint16_t sum =
		fold(add(add(add_ends(way, UDP, UDP_BYTES + len), out, UDP_BYTES), payload, len));

	put_16(out + 6, sum ? sum : 0xffff); /* zero would mean that there is none */
	return UDP_BYTES;
}

size_t packet_write_head(const struct packet_way *way, const void *payload, size_t len,
			 uint8_t out[PACKET_HEAD_MAX])
{
	size_t ip = way->from.family == AF_INET ? IP4_BYTES : 0;

	if (len > LEN_MAX - UDP_BYTES - ip)
		return 0;
	size_t used = put_ip(way, UDP, UDP_BYTES + len, out);

	return used + put_udp(way, payload, len, out + used);
}

/* RFC 792 and RFC 4443 §3.1: the port is unreachable; then the heads of the datagram. */
size_t packet_write_refusal(const struct packet_way *way, uint8_t out[PACKET_REFUSAL_MAX])
{
	const struct packet_way back = { .from = way->to, .to = way->from };
	bool is_v4 = way->from.family == AF_INET;
	enum protocol protocol = is_v4 ? ICMP4 : ICMP6;
	size_t len = ICMP_BYTES + (is_v4 ? IP4_BYTES : IP6_BYTES) + UDP_BYTES;
	uint8_t *icmp = out + put_ip(&back, protocol, len, out);

	memset(icmp, 0, ICMP_BYTES);
	icmp[0] = is_v4 ? 3 : 1;
	icmp[1] = is_v4 ? 3 : 4;
	(void)packet_write_head(way, NULL, 0, icmp + ICMP_BYTES);
	put_16(icmp + 2, fold(add(is_v4 ? 0 : add_ends(&back, protocol, len), icmp, len)));
	return (size_t)(icmp - out) + len;
}
