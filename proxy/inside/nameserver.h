/* nameserver: answers the name queries of one exec. Nothing is asked outside: every name gets an
 * address of its own (names.h), which leads to the gate. A response says what policy would deny. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "proxy/inside/names.h"

struct proxy_config;

/* Embedded; zeroed is closed. */
struct nameserver {
	const struct proxy_config *config; /* for its policy */
	struct names names;
	uint64_t exec;
	int fd;
	bool is_open, has_v6;
	struct event event;
};

/* @config: kept. */
void nameserver_init(struct nameserver *server, const struct proxy_config *config, uint64_t exec);
/* Takes @fd, a UDP socket at all addresses of the sandbox, which reports the address that was
 * asked (IP_PKTINFO). 0 or -errno (@fd is closed). */
int nameserver_open(struct nameserver *server, struct loop *loop, int fd);
/* Forgets the names, too. */
void nameserver_close(struct nameserver *server);

/* Writes the response to @query into @out (DNS_REPLY_MAX bytes): returns its length; 0: it is not a
 * query. @is_udp: a response may have to be short. */
size_t nameserver_answer(struct nameserver *server, const uint8_t *query, size_t len, bool is_udp,
			 uint8_t *out);
