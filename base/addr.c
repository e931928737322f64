#include "base/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

int addr_parse(const char *text, size_t len, struct addr *ret)
{
	struct addr out = { 0 };
	char copy[ADDR_TEXT_MAX];

	if (len == 0 || len >= sizeof(copy) || memchr(text, '\0', len))
		return -EINVAL;
	memcpy(copy, text, len);
	copy[len] = '\0';
	out.family = memchr(copy, ':', len) ? AF_INET6 : AF_INET;
	if (inet_pton(out.family, copy, out.bytes) != 1)
		return -EINVAL;
	*ret = out;
	return 0;
}

/* One part of an inet_aton(3) number: 0x means hexadecimal, 0 octal, otherwise decimal. */
static int addr_loose_part(const char *text, size_t len, uint64_t *ret_value)
{
	unsigned int radix = 10;
	uint64_t value = 0;

	if (len == 0)
		return -EINVAL;
	if (len > 1 && text[0] == '0') {
		radix = (text[1] | 0x20) == 'x' ? 16 : 8;
		text += radix == 16 ? 2 : 1;
		len -= radix == 16 ? 2 : 1;
		if (len == 0)
			return -EINVAL;
	}
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		unsigned int digit = 99;

		if (c >= '0' && c <= '9')
			digit = c - '0';
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			digit = (c | 0x20) - 'a' + 10;
		if (digit >= radix)
			return -EINVAL;
		value = value * radix + digit;
		if (value > UINT32_MAX)
			return -EINVAL;
	}
	*ret_value = value;
	return 0;
}

int addr_parse_loose_v4(const char *text, size_t len, struct addr *ret)
{
	uint64_t parts[4];
	size_t count = 0, at = 0;
	uint32_t value = 0;

	for (;;) {
		const char *dot = at < len ? memchr(text + at, '.', len - at) : NULL;
		size_t end = dot ? (size_t)(dot - text) : len;

		if (count == 4 || addr_loose_part(text + at, end - at, &parts[count]) < 0)
			return -EINVAL;
		count++;
		if (!dot)
			break;
		at = end + 1;
	}
	for (size_t i = 0; i + 1 < count; i++) {
		if (parts[i] > 255)
			return -EINVAL;
		value |= (uint32_t)parts[i] << (24 - 8 * i);
	}
	if (parts[count - 1] > (uint64_t)UINT32_MAX >> (8 * (count - 1)))
		return -EINVAL;
	value |= (uint32_t)parts[count - 1];

	*ret = (struct addr){ .family = AF_INET };
	for (size_t i = 0; i < 4; i++)
		ret->bytes[i] = (uint8_t)(value >> (24 - 8 * i));
	return 0;
}

int addr_block_parse(const char *text, size_t len, struct addr_block *ret)
{
	const char *slash = memchr(text, '/', len);
	struct addr_block out;
	uint64_t bits;

	if (!slash || addr_parse(text, (size_t)(slash - text), &out.base) < 0)
		return -EINVAL;
	uint64_t width = out.base.family == AF_INET ? 32 : 128;

	if (text_to_u64(slash + 1, len - (size_t)(slash + 1 - text), width, &bits) < 0)
		return -EINVAL;
	out.bits = (uint8_t)bits;
	for (uint64_t i = bits; i < width; i++) {
		if (out.base.bytes[i / 8] & (0x80 >> (i % 8)))
			return -EINVAL;
	}
	*ret = out;
	return 0;
}

bool addr_block_has(const struct addr_block *block, const struct addr *addr)
{
	size_t whole = block->bits / 8;
	unsigned int rest = block->bits % 8;

	if (addr->family != block->base.family)
		return false;
	if (memcmp(addr->bytes, block->base.bytes, whole) != 0)
		return false;
	if (rest == 0)
		return true;
	return ((addr->bytes[whole] ^ block->base.bytes[whole]) >> (8 - rest)) == 0;
}

bool addr_equal(const struct addr *left, const struct addr *right)
{
	return left->family == right->family &&
	       memcmp(left->bytes, right->bytes, sizeof(left->bytes)) == 0;
}

void addr_unmap(struct addr *addr)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct addr inner = { .family = AF_INET };

	if (addr->family != AF_INET6 || memcmp(addr->bytes, mapped, sizeof(mapped)) != 0)
		return;
	memcpy(inner.bytes, addr->bytes + sizeof(mapped), 4);
	*addr = inner;
}

const char *addr_text(const struct addr *addr, char out[ADDR_TEXT_MAX])
{
	if (addr->family == 0 || !inet_ntop(addr->family, addr->bytes, out, ADDR_TEXT_MAX))
		out[0] = '\0';
	return out;
}

const char *addr_port_text(const struct addr *addr, uint16_t port, char out[ADDR_PORT_MAX])
{
	char text[ADDR_TEXT_MAX];

	(void)snprintf(out, ADDR_PORT_MAX, addr->family == AF_INET6 ? "[%s]:%u" : "%s:%u",
		       addr_text(addr, text), port);
	return out;
}

socklen_t addr_to_sockaddr(const struct addr *addr, uint16_t port, struct sockaddr_storage *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (addr->family == AF_INET) {
		struct sockaddr_in *v4 = (struct sockaddr_in *)ret;

		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		memcpy(&v4->sin_addr, addr->bytes, 4);
		return sizeof(*v4);
	}
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;

	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	memcpy(&v6->sin6_addr, addr->bytes, 16);
	return sizeof(*v6);
}

int addr_from_sockaddr(const struct sockaddr *sockaddr, struct addr *ret, uint16_t *ret_port)
{
	struct addr out = { .family = (uint8_t)sockaddr->sa_family };
	uint16_t port;

	if (sockaddr->sa_family == AF_INET) {
		const struct sockaddr_in *v4 = (const struct sockaddr_in *)sockaddr;

		memcpy(out.bytes, &v4->sin_addr, 4);
		port = ntohs(v4->sin_port);
	} else if (sockaddr->sa_family == AF_INET6) {
		const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)sockaddr;

		memcpy(out.bytes, &v6->sin6_addr, 16);
		port = ntohs(v6->sin6_port);
	} else {
		return -EAFNOSUPPORT;
	}
	*ret = out;
	if (ret_port)
		*ret_port = port;
	return 0;
}
