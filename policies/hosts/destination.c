#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "policies/hosts/host_impl.h"
#include "policies/policies_gate.h"
#include "policies/policies_tools.h"
#include "policies/hosts/special_impl.h"

#define DESTINATION_SHOWN_MAX 80 /* bytes of a refused host in messages */

enum policy_protocol policy_protocol_of_port(uint16_t port)
{
	return port == 80 ? POLICY_HTTP : port == 443 ? POLICY_HTTPS : POLICY_TCP;
}

size_t policy_facts_protocols(const struct policy_facts *facts,
			      enum policy_protocol ret[POLICY_PROTOCOLS_MAX])
{
	static const enum policy_protocol others[] = { POLICY_HTTPS, POLICY_HTTP };
	size_t count = 0;

	if (facts->carries == POLICY_UDP || /* a datagram is never one of another protocol */
	    (facts->way != POLICY_WAY_CONNECT && facts->way != POLICY_WAY_SOCKS5 &&
	     facts->way != POLICY_WAY_CAPTURED)) {
		ret[0] = facts->carries;
		return 1;
	}
	ret[count++] = policy_protocol_of_port(facts->dst.port);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (others[i] != ret[0])
			ret[count++] = others[i];
	}
	return count;
}

static int destination_refuse(const char *host, size_t len, const struct flaw *flaw,
			      struct err *why)
{
	char shown[DESTINATION_SHOWN_MAX];

	(void)text_visible(shown, sizeof(shown), host, len);
	return err_set(why, -EBADMSG, "\"%s\" cannot be a host: %s", shown, flaw->words);
}

int policy_destination_set(struct policy_destination *ret, const char *host, size_t host_len,
			   uint16_t port, struct err *why)
{
	struct policy_destination out = { .port = port, .protocol = policy_protocol_of_port(port) };
	struct host canonical;
	struct flaw flaw = { 0 };

	if (port == 0)
		return err_set(why, -EBADMSG, "the port is 0; it must be from 1 to 65535");
	if (host_canonical(host, host_len, &canonical, &flaw) < 0)
		return destination_refuse(host, host_len, &flaw, why);
	memcpy(out.host, canonical.text, sizeof(out.host));
	out.addr = canonical.addr;
	*ret = out;
	return 0;
}

static int destination_protocol(const char **text, enum policy_protocol *ret, struct err *why)
{
	static const enum policy_protocol known[] = { POLICY_HTTP, POLICY_HTTPS, POLICY_TCP,
						      POLICY_UDP };
	const char *mark = strstr(*text, "://");

	*ret = POLICY_NO_PROTOCOL;
	if (!mark)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (text_equal_nocase(*text, (size_t)(mark - *text),
				      policy_protocol_name(known[i])))
			*ret = known[i];
	}
	if (*ret == POLICY_NO_PROTOCOL)
		return err_set(why, -EBADMSG, "the protocol must be http, https, tcp or udp");
	*text = mark + 3;
	return 0;
}

/* The colon before the port, or NULL. Colons inside brackets, and those of a bare IPv6 address,
 * belong to the host. */
static const char *destination_colon(const char *text)
{
	const char *close = text[0] == '[' ? strchr(text, ']') : NULL;

	if (close)
		return close[1] == ':' ? close + 1 : NULL;
	const char *first = strchr(text, ':');

	return first && !strchr(first + 1, ':') ? first : NULL;
}

int policy_destination_parse(const char *text, struct policy_destination *ret, struct err *why)
{
	enum policy_protocol protocol;
	uint64_t port;
	int r = destination_protocol(&text, &protocol, why);

	if (r < 0)
		return r;
	const char *colon = destination_colon(text);

	if (!colon && protocol == POLICY_UDP)
		return err_set(why, -EBADMSG, "a destination of udp needs a port");
	size_t host_len = colon ? (size_t)(colon - text) : strlen(text);

	port = protocol == POLICY_HTTP ? 80 : 443;
	if (colon &&
	    (text_to_u64(colon + 1, strlen(colon + 1), UINT16_MAX, &port) < 0 || port == 0))
		return err_set(why, -EBADMSG, "the port must be a number from 1 to 65535");

	struct policy_destination out;

	r = policy_destination_set(&out, text, host_len, (uint16_t)port, why);
	if (r < 0)
		return r;
	if (protocol != POLICY_NO_PROTOCOL)
		out.protocol = protocol;
	*ret = out;
	return 0;
}

const char *policy_destination_text(const struct policy_destination *dst,
				    char out[POLICY_DESTINATION_TEXT_MAX])
{
	bool is_v6 = dst->addr.family == AF_INET6;
	const char *protocol =
		dst->protocol == POLICY_NO_PROTOCOL ? "" : policy_protocol_name(dst->protocol);

	(void)snprintf(out, POLICY_DESTINATION_TEXT_MAX, "%s%s%s%.*s%s:%u", protocol,
		       protocol[0] ? "://" : "", is_v6 ? "[" : "", POLICY_HOST_MAX - 1, dst->host,
		       is_v6 ? "]" : "", dst->port);
	return out;
}

bool policy_destination_equal(const struct policy_destination *left,
			      const struct policy_destination *right)
{
	return left->port == right->port && left->protocol == right->protocol &&
	       strncmp(left->host, right->host, POLICY_HOST_MAX) == 0;
}

bool policy_destination_is_loopback(const struct policy_destination *dst)
{
	struct addr addr = dst->addr;

	if (addr.family == 0)
		return host_is_localhost(dst->host);
	addr_unmap(&addr);
	if (addr.family == AF_INET)
		return addr.bytes[0] == 127;
	return memcmp(addr.bytes, &in6addr_loopback, sizeof(addr.bytes)) == 0;
}
