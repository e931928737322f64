/* addr: IP addresses and CIDR blocks as plain values, with one text form each. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define ADDR_TEXT_MAX 64 /* "ffff:…:ffff" */
#define ADDR_PORT_MAX 72 /* "[…]:65535" */

/* A zeroed value means "no address": family 0. Bytes beyond the family's length are zero, so
 * memcmp() compares two addresses. */
struct addr {
	uint8_t family; /* AF_INET, AF_INET6 or 0 */
	uint8_t bytes[16];
};

struct addr_block {
	struct addr base; /* bits beyond @bits are zero */
	uint8_t bits;
};

/* Strict text: dotted quad or RFC 4291 IPv6 without brackets or zone. 0 or -EINVAL. */
int addr_parse(const char *text, size_t len, struct addr *ret);

/* Every IPv4 spelling that inet_aton(3) takes (decimal, octal, hex, one to four parts). -EINVAL: it
 * is not such a spelling. */
int addr_parse_loose_v4(const char *text, size_t len, struct addr *ret);

/* "10.0.0.0/8", "fc00::/7"; host bits that are set or a bad length: -EINVAL. */
int addr_block_parse(const char *text, size_t len, struct addr_block *ret);
bool addr_block_has(const struct addr_block *block, const struct addr *addr);

bool addr_equal(const struct addr *left, const struct addr *right);
/* Turns ::ffff:a.b.c.d into the IPv4 address a.b.c.d, which is the same host to the kernel (RFC
 * 4291 §2.5.5.2). Does not change others. */
void addr_unmap(struct addr *addr);
/* RFC 5952 text; returns @out. */
const char *addr_text(const struct addr *addr, char out[ADDR_TEXT_MAX]);
/* "1.2.3.4:80", "[::1]:80" */
const char *addr_port_text(const struct addr *addr, uint16_t port, char out[ADDR_PORT_MAX]);

socklen_t addr_to_sockaddr(const struct addr *addr, uint16_t port, struct sockaddr_storage *ret);
int addr_from_sockaddr(const struct sockaddr *sockaddr, struct addr *ret, uint16_t *ret_port);
