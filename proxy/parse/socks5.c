#include "proxy/parse/socks5.h"

#include <errno.h>
#include <string.h>

#include "base/addr.h"

#define LOGIN_VERSION 1 /* RFC 1929 §2 */

enum method { METHOD_NONE = 0, METHOD_LOGIN = 2 };
enum address_type { ADDRESS_IPV4 = 1, ADDRESS_NAME = 3, ADDRESS_IPV6 = 4 };

/* RFC 1928 §3 */
int socks5_parse_greeting(const uint8_t *bytes, size_t len, uint8_t *ret_method)
{
	if (len >= 1 && bytes[0] != SOCKS5_VERSION)
		return -EBADMSG;
	if (len >= 2 && bytes[1] == 0)
		return -EBADMSG;
	if (len < 2 || len < 2U + bytes[1])
		return -EAGAIN;

	if (memchr(bytes + 2, METHOD_NONE, bytes[1]) != NULL)
		*ret_method = METHOD_NONE;
	else if (memchr(bytes + 2, METHOD_LOGIN, bytes[1]) != NULL)
		*ret_method = METHOD_LOGIN;
	else
		*ret_method = SOCKS5_NO_METHOD;
	return 2 + bytes[1];
}

/* RFC 1929 §2, but an empty name or password is accepted: both are ignored. */
int socks5_parse_login(const uint8_t *bytes, size_t len)
{
	if (len >= 1 && bytes[0] != LOGIN_VERSION)
		return -EBADMSG;
	if (len < 2)
		return -EAGAIN;

	size_t password_at = 2U + bytes[1];

	if (len <= password_at || len < password_at + 1 + bytes[password_at])
		return -EAGAIN;
	return (int)(password_at + 1 + bytes[password_at]);
}

static void set_address(struct socks5_request *request, uint8_t family, const uint8_t *bytes,
			size_t len)
{
	struct addr addr = { .family = family };
	char text[ADDR_TEXT_MAX];

	memcpy(addr.bytes, bytes, len);
	addr_text(&addr, text);
	request->host_len = strlen(text);
	memcpy(request->host, text, request->host_len + 1);
}

/* Validates the bytes as they arrive, so that other protocols are refused at the first wrong
 * byte. */
static int check_start(const uint8_t *bytes, size_t len)
{
	if (len >= 1 && bytes[0] != SOCKS5_VERSION)
		return -EBADMSG;
	if (len >= 3 && bytes[2] != 0)
		return -EBADMSG;
	if (len < 4)
		return -EAGAIN;
	return 0;
}

/* Finds the address behind the first four bytes; *@ret_at is its position. */
static int find_address(const uint8_t *bytes, size_t len, size_t *ret_at, size_t *ret_len)
{
	*ret_at = 4;
	switch (bytes[3]) {
	case ADDRESS_IPV4:
		*ret_len = 4;
		return 0;
	case ADDRESS_IPV6:
		*ret_len = 16;
		return 0;
	case ADDRESS_NAME:
		if (len < 5)
			return -EAGAIN;
		*ret_at = 5;
		*ret_len = bytes[4];
		return *ret_len == 0 ? -EBADMSG : 0;
	default:
		return -EAFNOSUPPORT;
	}
}

/* A request and a datagram have the same bytes from the fourth on. @ret->command is kept. */
static int parse_destination(const uint8_t *bytes, size_t len, struct socks5_request *ret)
{
	size_t address_at = 0, address_len = 0;
	int r = find_address(bytes, len, &address_at, &address_len);

	if (r < 0)
		return r;

	size_t port_at = address_at + address_len;

	if (len < port_at + 2)
		return -EAGAIN;
	ret->address_type = bytes[3];
	ret->port = (uint16_t)(bytes[port_at] << 8 | bytes[port_at + 1]);
	if (ret->address_type == ADDRESS_IPV4) {
		set_address(ret, AF_INET, bytes + address_at, address_len);
	} else if (ret->address_type == ADDRESS_IPV6) {
		set_address(ret, AF_INET6, bytes + address_at, address_len);
	} else {
		ret->host_len = address_len;
		memcpy(ret->host, bytes + address_at, address_len);
	}
	return (int)(port_at + 2);
}

/* RFC 1928 §4. The caller answers an unknown command (SOCKS5_COMMAND_UNSUPPORTED). */
int socks5_parse_request(const uint8_t *bytes, size_t len, struct socks5_request *ret)
{
	struct socks5_request request = { 0 };
	int r = check_start(bytes, len);

	if (r < 0)
		return r;
	request.command = (enum socks5_command)bytes[1];
	r = parse_destination(bytes, len, &request);
	if (r < 0)
		return r;
	if (request.command == SOCKS5_CONNECT && request.port == 0)
		return -EBADMSG;
	*ret = request;
	return r;
}

/* RFC 1928 §7. Reassembling fragments is optional there. */
int socks5_parse_datagram(const uint8_t *bytes, size_t len, struct socks5_request *ret)
{
	struct socks5_request request = { .command = SOCKS5_UDP_ASSOCIATE };

	if (len < 4 || bytes[0] != 0 || bytes[1] != 0)
		return -EBADMSG;
	if (bytes[2] != 0)
		return -EOPNOTSUPP;
	int r = parse_destination(bytes, len, &request);

	if (r == -EAGAIN || (r >= 0 && request.port == 0))
		return -EBADMSG;
	if (r >= 0)
		*ret = request;
	return r;
}

/* RFC 1928 §6 */
void socks5_write_reply(enum socks5_reply reply, uint8_t out[SOCKS5_REPLY_BYTES])
{
	memset(out, 0, SOCKS5_REPLY_BYTES);
	out[0] = SOCKS5_VERSION;
	out[1] = (uint8_t)reply;
	out[3] = ADDRESS_IPV4;
}

void socks5_write_associated(uint16_t port, uint8_t out[SOCKS5_REPLY_BYTES])
{
	socks5_write_reply(SOCKS5_OK, out);
	out[4] = 127;
	out[7] = 1;
	out[8] = (uint8_t)(port >> 8);
	out[9] = (uint8_t)port;
}
