/* socks5: RFC 1928 greeting and request, and the replies. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SOCKS5_VERSION     5
#define SOCKS5_MESSAGE_MAX 262 /* 4 + 1 + 255 + 2: the longest request */

enum socks5_command { SOCKS5_CONNECT = 1, SOCKS5_BIND = 2, SOCKS5_UDP_ASSOCIATE = 3 };
enum socks5_reply {
	SOCKS5_OK = 0,
	SOCKS5_FAILURE = 1,
	SOCKS5_NOT_ALLOWED = 2,
	SOCKS5_NETWORK_UNREACHABLE = 3,
	SOCKS5_HOST_UNREACHABLE = 4,
	SOCKS5_REFUSED = 5,
	SOCKS5_TTL_EXPIRED = 6,
	SOCKS5_COMMAND_UNSUPPORTED = 7,
	SOCKS5_ADDRESS_UNSUPPORTED = 8,
};
#define SOCKS5_NO_METHOD 0xff

/* -EAGAIN, -EBADMSG, or the bytes used; *@ret_method: 0 (no authentication) or 2 (user name, RFC
 * 1929: some clients offer only that; any pair is accepted and ignored) or SOCKS5_NO_METHOD. */
int socks5_parse_greeting(const uint8_t *bytes, size_t len, uint8_t *ret_method);
/* RFC 1929 user name and password: as above. */
int socks5_parse_login(const uint8_t *bytes, size_t len);

struct socks5_request {
	enum socks5_command command;
	char host[256]; /* as sent, with the length in @host_len (it may contain NULs: the caller
			   canonicalises it); addresses as text */
	size_t host_len;
	uint16_t port;
	uint8_t address_type; /* 1, 3, 4 */
};
/* -EAGAIN, -EBADMSG (not SOCKS5), -EAFNOSUPPORT (address type), or the bytes used. */
int socks5_parse_request(const uint8_t *bytes, size_t len, struct socks5_request *ret);

/* The head of a datagram, with what it says in @ret (its command is ASSOCIATE): -EBADMSG (not
 * whole, or port 0), -EOPNOTSUPP (a fragment), -EAFNOSUPPORT, or its length, at most
 * SOCKS5_MESSAGE_MAX. */
int socks5_parse_datagram(const uint8_t *bytes, size_t len, struct socks5_request *ret);

/* A reply with address 0.0.0.0:0. */
#define SOCKS5_REPLY_BYTES 10
void socks5_write_reply(enum socks5_reply reply, uint8_t out[SOCKS5_REPLY_BYTES]);
/* The reply to ASSOCIATE: datagrams are sent to @port of 127.0.0.1. */
void socks5_write_associated(uint16_t port, uint8_t out[SOCKS5_REPLY_BYTES]);
