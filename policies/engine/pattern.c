#include "policies/engine/pattern_impl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "policies/hosts/host_impl.h"
#include "policies/engine/index_impl.h"
#include "policies/engine/rules_impl.h"
#include "policies/hosts/special_impl.h"

/* A destination split at its punctuation. Offsets are into the whole text, for the columns of
 * messages. */
struct pattern_cut {
	const char *text;
	size_t host, host_len;
	size_t at; /* where the host was in the text, before it was copied to scratch */
	size_t ports, ports_len;
	bool has_ports;
	bool has_slash; /* the host part is a CIDR */
};

static int pattern_take_protocol(const char *text, size_t len, struct pattern *ret,
				 size_t *ret_rest, struct flaw *flaw)
{
	static const enum policy_protocol known[] = { POLICY_HTTP, POLICY_HTTPS, POLICY_TCP,
						      POLICY_UDP };
	const char *mark = memmem(text, len, "://", 3);

	*ret_rest = 0;
	ret->protocol = POLICY_NO_PROTOCOL;
	if (!mark)
		return 0;
	size_t name_len = (size_t)(mark - text);

	*ret_rest = name_len + 3;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (text_equal_nocase(text, name_len, policy_protocol_name(known[i])))
			ret->protocol = (uint8_t)known[i];
	}
	if (ret->protocol != POLICY_NO_PROTOCOL)
		return 0;
	return flaw_set(flaw, 0, "http://, https://, tcp:// or udp://", "unknown protocol");
}

/* Parses the ports behind @colon, which is the length of the text when there are none. */
static void pattern_cut_ports(struct pattern_cut *cut, size_t colon, size_t len)
{
	cut->has_ports = colon < len;
	cut->ports = colon < len ? colon + 1 : len;
	cut->ports_len = len - cut->ports;
}

static size_t pattern_seek(const char *text, size_t from, size_t len, char c)
{
	const char *found = from < len ? memchr(text + from, c, len - from) : NULL;

	return found ? (size_t)(found - text) : len;
}

/* "[2001:db8::]/32:443", "[2001:db8::/32]:443", "[::1]" */
static int pattern_cut_bracket(const char *text, size_t at, size_t len, struct pattern_cut *cut,
			       char scratch[ADDR_TEXT_MAX], struct flaw *flaw)
{
	size_t close = pattern_seek(text, at, len, ']');
	size_t colon = close;

	if (close == len)
		return flaw_set(flaw, at, "[2001:db8::1]",
				"the opening bracket has no closing bracket");
	while (colon < len && text[colon] != ':')
		colon++;
	/* Joins the parts without brackets: "2001:db8::" and "/32". */
	int r = snprintf(scratch, ADDR_TEXT_MAX, "%.*s%.*s", (int)(close - at - 1), text + at + 1,
			 (int)(colon - close - 1), text + close + 1);

	if (r < 0 || r >= ADDR_TEXT_MAX || (colon > close + 1 && text[close + 1] != '/'))
		return flaw_set(flaw, at, "[2001:db8::1]:443",
				"the brackets do not contain an IPv6 address");
	if (!memchr(scratch, ':', (size_t)r))
		return flaw_set(flaw, at, "the address without brackets",
				"only an IPv6 address may be in brackets");
	cut->text = scratch;
	cut->host = 0;
	cut->at = at + 1;
	cut->host_len = (size_t)r;
	cut->has_slash = memchr(scratch, '/', (size_t)r) != NULL;
	pattern_cut_ports(cut, colon, len);
	return 0;
}

static int pattern_cut_plain(const char *text, size_t at, size_t len, struct pattern_cut *cut,
			     struct flaw *flaw)
{
	size_t slash = pattern_seek(text, at, len, '/');
	size_t colon = pattern_seek(text, slash < len ? slash : at, len, ':');

	if (pattern_seek(text, at, len, '@') < len)
		return flaw_set(flaw, at, "only the host, without a user",
				"a user name before the host is not allowed");
	if (slash == len && pattern_seek(text, colon + 1, len, ':') < len)
		return flaw_set(flaw, at, "an IPv6 address in brackets: [2001:db8::1]:443",
				"the destination has more than one colon");
	cut->text = text;
	cut->host = at;
	cut->at = at;
	cut->host_len = colon - at;
	cut->has_slash = slash < len;
	pattern_cut_ports(cut, colon, len);
	return 0;
}

static void pattern_set_block(struct policy *policy, const struct addr *addr, uint8_t bits,
			      struct pattern *ret)
{
	char key[PATTERN_BLOCK_KEY];

	index_block_key(addr, bits, key);
	ret->kind = PATTERN_BLOCK;
	ret->key = rules_add_name(policy, key, sizeof(key));
	ret->key_len = PATTERN_BLOCK_KEY;
}

/* If only the host bits are wrong, says which block was meant. */
static int pattern_bad_block(const char *text, size_t len, size_t at, struct flaw *flaw)
{
	struct addr addr;
	size_t slash = pattern_seek(text, 0, len, '/');
	uint64_t bits;
	char key[PATTERN_BLOCK_KEY], shown[ADDR_TEXT_MAX], instead[ADDR_TEXT_MAX + 8];

	if (addr_parse(text, slash, &addr) < 0)
		return flaw_set(flaw, at + slash, "the host alone: https://example.org",
				"a destination has no path, only a protocol, a host and a port");
	if (slash == len || text_to_u64(text + slash + 1, len - slash - 1,
					addr.family == AF_INET ? 32 : 128, &bits) < 0)
		return flaw_set(flaw, at + slash, "a length from 0 to 32 (IPv4) or 128 (IPv6)",
				"the prefix length is not valid");
	index_block_key(&addr, (uint8_t)bits, key);
	memcpy(addr.bytes, key + 3, sizeof(addr.bytes));
	(void)snprintf(instead, sizeof(instead), "%s/%u", addr_text(&addr, shown),
		       (unsigned int)bits);
	return flaw_set(flaw, at, instead, "the address block has host bits set");
}

static int pattern_take_block(struct policy *policy, const char *text, size_t len, size_t at,
			      struct pattern *ret, struct flaw *flaw)
{
	struct addr_block block;

	if (addr_block_parse(text, len, &block) < 0)
		return pattern_bad_block(text, len, at, flaw);
	if (block.base.family == AF_INET6 && block.bits >= 96) {
		addr_unmap(&block.base);
		if (block.base.family == AF_INET)
			block.bits = (uint8_t)(block.bits - 96);
	}
	pattern_set_block(policy, &block.base, block.bits, ret);
	return 0;
}

/* Skips the `*` at the front, if any: *@ret_skip bytes. Refuses stars elsewhere. */
static int pattern_take_wildcard(const char *text, size_t len, struct pattern *ret,
				 size_t *ret_skip, struct flaw *flaw)
{
	size_t stars = 0;

	while (stars < len && text[stars] == '*')
		stars++;
	*ret_skip = 0;
	ret->kind = PATTERN_EXACT;
	if (pattern_seek(text, stars, len, '*') < len)
		return flaw_set(
			flaw, pattern_seek(text, stars, len, '*'), "*.example.org",
			"a wildcard may only stand for whole labels at the front of a name");
	if (stars == 0)
		return 0;
	if (stars == len) {
		ret->kind = PATTERN_ANY;
		*ret_skip = len;
		return stars == 1 ? 0 : flaw_set(flaw, 0, "*", "'*' alone stands for every host");
	}
	if (text[stars] != '.' || stars > 2)
		return flaw_set(flaw, 0,
				"*.example.org for the names below, or **.example.org for the name "
				"itself too",
				"a wildcard cannot be inside a label");
	ret->kind = stars == 1 ? PATTERN_BELOW : PATTERN_TREE;
	*ret_skip = stars + 1;
	return 0;
}

static int pattern_check_name(const struct host *host, const char *text, size_t len,
			      bool may_be_broad, struct pattern *ret, struct flaw *flaw)
{
	char instead[POLICY_HOST_MAX + 48];

	if (ret->kind == PATTERN_EXACT) {
		if (host->addr.family != AF_INET || memchr(text, ':', len))
			return 0;
		/* A resolver reads 010.0.0.1 as 8.0.0.1, a reader does not. */
		if (host->len == len && memcmp(host->text, text, len) == 0)
			return 0;
		return flaw_set(flaw, 0, host->text,
				"the IPv4 address is not written as four decimal numbers");
	}
	if (host->addr.family != 0)
		return flaw_set(flaw, 0, "a block, such as 10.0.0.0/8",
				"an address cannot have a wildcard");
	if (may_be_broad || !host_is_public_suffix(host->text))
		return 0;
	(void)snprintf(instead, sizeof(instead), "%s.%s broad   (if you mean all of its names)",
		       ret->kind == PATTERN_BELOW ? "*" : "**", host->text);
	return flaw_set(
		flaw, 0, instead,
		"the wildcard matches a public suffix, and anyone can register a name below it");
}

static int pattern_take_host(struct policy *policy, const char *text, size_t len, bool may_be_broad,
			     struct pattern *ret, struct flaw *flaw)
{
	struct host host;
	size_t skip;
	int r;

	if (len == 0)
		return flaw_set(flaw, 0, "a host, an address or *", "the host is empty");
	if (text[0] == '.')
		return flaw_set(flaw, 0,
				"*.example.org for the names below, or **.example.org for the name "
				"itself too",
				"the host begins with a dot");
	r = pattern_take_wildcard(text, len, ret, &skip, flaw);
	if (r < 0 || ret->kind == PATTERN_ANY)
		return r;
	r = host_canonical(text + skip, len - skip, &host, flaw);
	if (r < 0) {
		flaw->at += skip;
		return r;
	}
	r = pattern_check_name(&host, text, len, may_be_broad, ret, flaw);
	if (r < 0)
		return r;
	if (host.addr.family != 0) {
		pattern_set_block(policy, &host.addr, host.addr.family == AF_INET ? 32 : 128, ret);
		return 0;
	}
	ret->key = rules_add_name(policy, host.text, host.len);
	ret->key_len = (uint8_t)host.len;
	return 0;
}

static int pattern_take_ports(struct policy *policy, const char *text,
			      const struct pattern_cut *cut, struct pattern *ret, struct flaw *flaw)
{
	if (cut->has_ports) {
		int r = ports_parse(policy, text + cut->ports, cut->ports_len, ret, flaw);

		if (r < 0)
			flaw->at += cut->ports;
		return r;
	}
	if (ret->protocol == POLICY_UDP)
		return flaw_set(flaw, 0,
				"udp://example.org:53, or udp://example.org:* for every port",
				"a destination of udp needs a port");
	ret->has_ports = false;
	ret->ports = ret->protocol == POLICY_HTTPS ? POLICY_PORTS_HTTPS : POLICY_PORTS_HTTP;
	ret->port_count = ret->protocol == POLICY_HTTPS || ret->protocol == POLICY_HTTP ? 1 : 2;
	return 0;
}

int pattern_parse(struct policy *policy, const char *text, size_t len, bool may_be_broad,
		  struct pattern *ret, struct flaw *flaw)
{
	struct pattern out = { 0 };
	struct pattern_cut cut = { 0 };
	char scratch[ADDR_TEXT_MAX];
	size_t rest;
	int r = pattern_take_protocol(text, len, &out, &rest, flaw);

	if (r < 0)
		return r;
	r = rest < len && text[rest] == '['
		    ? pattern_cut_bracket(text, rest, len, &cut, scratch, flaw)
		    : pattern_cut_plain(text, rest, len, &cut, flaw);
	if (r < 0)
		return r;
	const char *host = cut.text + cut.host;

	if (cut.has_slash) {
		r = pattern_take_block(policy, host, cut.host_len, cut.at, &out, flaw);
	} else {
		r = pattern_take_host(policy, host, cut.host_len, may_be_broad, &out, flaw);
		if (r < 0)
			flaw->at += cut.at;
	}
	if (r == 0)
		r = pattern_take_ports(policy, text, &cut, &out, flaw);
	if (r == 0)
		*ret = out;
	return r;
}
