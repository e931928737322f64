#include "policies/policies_upstream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/crypto/base64.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

#define UPSTREAM_BETWEEN ", \t\n" /* the entries of NO_PROXY */

static const struct {
	const char *scheme;
	enum policy_upstream_kind kind;
	uint16_t port; /* when the URL has none */
	bool is_tls;
} schemes[] = {
	{ "http", POLICY_UPSTREAM_HTTP, 80, false },
	{ "https", POLICY_UPSTREAM_HTTP, 443, true },
	{ "socks5h", POLICY_UPSTREAM_SOCKS, 1080, false },
	{ "socks5", POLICY_UPSTREAM_SOCKS, 1080, false },
};

static int upstream_hex(char c)
{
	static const char digits[] = "0123456789abcdef";
	char low = c >= 'A' && c <= 'F' ? (char)(c - 'A' + 'a') : c;
	const char *at = low ? strchr(digits, low) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Copies @text; @has_escapes: percent-decoded (RFC 3986 §2.1). A control character would end a
 * field of a head. */
static int upstream_take(const char *text, size_t len, bool has_escapes,
			 char out[POLICY_UPSTREAM_LOGIN_MAX])
{
	size_t used = 0;

	for (size_t i = 0; i < len; i++) {
		int value = (unsigned char)text[i];

		if (has_escapes && value == '%') {
			if (len - i < 3 || upstream_hex(text[i + 1]) < 0 ||
			    upstream_hex(text[i + 2]) < 0)
				return -EBADMSG;
			value = upstream_hex(text[i + 1]) << 4 | upstream_hex(text[i + 2]);
			i += 2;
		}
		if (value < 0x20 || value == 0x7f || used == POLICY_UPSTREAM_LOGIN_MAX - 1)
			return -EBADMSG;
		out[used++] = (char)value;
	}
	out[used] = '\0';
	return 0;
}

static int upstream_login(struct policy_upstream *upstream, const char *text, size_t len,
			  bool has_escapes, struct err *why)
{
	const char *colon = memchr(text, ':', len);
	size_t user_len = colon ? (size_t)(colon - text) : len;
	size_t password_len = colon ? len - user_len - 1 : 0;

	if (upstream_take(text, user_len, has_escapes, upstream->user) < 0 ||
	    upstream_take(text + len - password_len, password_len, has_escapes,
			  upstream->password) < 0 ||
	    upstream->user[0] == '\0' || strchr(upstream->user, ':'))
		return err_set(why, -EBADMSG,
			       "the login must be USER:PASSWORD, each at most 255 bytes and "
			       "without control characters");
	upstream->has_login = true;
	return 0;
}

int policy_upstream_set_login(struct policy_upstream *upstream, const char *text, struct err *why)
{
	return upstream_login(upstream, text, strcspn(text, "\r\n"), false, why);
}

/* Splits "HOST[:PORT]"; *@ret_port is not changed without a port. The length of the host, or
 * -EBADMSG. */
static ssize_t upstream_split(const char *text, size_t len, uint16_t *ret_port)
{
	const char *bracket = text[0] == '[' ? memchr(text, ']', len) : NULL;
	const char *colon = bracket ? bracket + 1 : memchr(text, ':', len);
	size_t host_len = colon ? (size_t)(colon - text) : len;
	uint64_t port;

	if (host_len == len)
		return (ssize_t)len;
	if (text[host_len] != ':' ||
	    text_to_u64(text + host_len + 1, len - host_len - 1, UINT16_MAX, &port) < 0)
		return -EBADMSG;
	*ret_port = (uint16_t)port;
	return (ssize_t)host_len;
}

static int upstream_host(struct policy_upstream *upstream, const char *text, size_t len,
			 uint16_t port, struct err *why)
{
	if (len > 0 && text[len - 1] == '/')
		len--;
	ssize_t host_len = len ? upstream_split(text, len, &port) : -EBADMSG;

	if (host_len < 0)
		return err_set(why, -EBADMSG,
			       "the proxy must be written as http://HOST:PORT, "
			       "https://HOST:PORT or socks5h://HOST:PORT");
	return policy_destination_set(&upstream->proxy, text, (size_t)host_len, port, why);
}

int policy_upstream_parse(const char *url, struct policy_upstream *ret, struct err *why)
{
	struct policy_upstream out = { 0 };
	const char *end = strstr(url, "://"), *at, *rest = end ? end + 3 : url;
	size_t i = 0;
	int r = 0;

	while (end && i < ARRAY_SIZE(schemes) &&
	       !text_equal_nocase(url, (size_t)(end - url), schemes[i].scheme))
		i++;
	if (i == ARRAY_SIZE(schemes))
		return err_set(why, -EPROTONOSUPPORT,
			       "only http://, https:// and socks5h:// proxies are "
			       "supported");
	at = strrchr(rest, '@');
	if (at)
		r = upstream_login(&out, rest, (size_t)(at - rest), true, why);
	rest = at ? at + 1 : rest;
	if (r == 0)
		r = upstream_host(&out, rest, strlen(rest), schemes[i].port, why);
	if (r < 0)
		return r;
	out.kind = schemes[i].kind;
	out.is_tls = schemes[i].is_tls;
	*ret = out;
	return 0;
}

const char *policy_upstream_text(const struct policy_upstream *upstream,
				 char out[POLICY_UPSTREAM_TEXT_MAX])
{
	bool is_v6 = upstream->proxy.addr.family == AF_INET6;

	(void)snprintf(out, POLICY_UPSTREAM_TEXT_MAX, "%s://%s%s%s:%u",
		       upstream->kind == POLICY_UPSTREAM_SOCKS ? "socks5h"
		       : upstream->is_tls                      ? "https"
							       : "http",
		       is_v6 ? "[" : "", upstream->proxy.host, is_v6 ? "]" : "",
		       (unsigned int)upstream->proxy.port);
	return out;
}

char *policy_upstream_field(const struct policy_upstream *upstream)
{
	if (!upstream->has_login)
		return mem_strdup("");
	auto_free char *login = mem_printf("%s:%s", upstream->user, upstream->password);
	auto_free char *token = base64_encode(login, strlen(login));

	return mem_printf("Proxy-Authorization: Basic %s\r\n", token);
}

/* Is @host the name @name, or below it? */
static bool upstream_is_below(const char *host, const char *name)
{
	size_t host_len = strlen(host), len = strlen(name);

	return host_len >= len && strcmp(host + host_len - len, name) == 0 &&
	       (host_len == len || host[host_len - len - 1] == '.');
}

/* One entry of NO_PROXY: `*`, an address, a CIDR block, or a name, which stands for the names below
 * it too, with a port or without. What cannot be read names nothing. */
static bool upstream_names(const char *entry, size_t len, const struct policy_destination *dst)
{
	struct policy_destination named;
	struct addr_block block;
	struct addr addr;
	uint16_t port = dst->port;
	ssize_t host_len;

	if (len == 1 && entry[0] == '*')
		return true;
	if (addr_block_parse(entry, len, &block) == 0)
		return dst->addr.family != 0 && addr_block_has(&block, &dst->addr);
	if (addr_parse(entry, len, &addr) == 0) /* IPv6 without brackets */
		return addr_equal(&addr, &dst->addr);
	if (len > 1 && entry[0] == '*' && entry[1] == '.') {
		entry++;
		len--;
	}
	if (len > 1 && entry[0] == '.') {
		entry++;
		len--;
	}
	host_len = upstream_split(entry, len, &port);
	if (host_len <= 0 || port != dst->port ||
	    policy_destination_set(&named, entry, (size_t)host_len, port, NULL) < 0)
		return false;
	if (named.addr.family != 0 || dst->addr.family != 0)
		return addr_equal(&named.addr, &dst->addr);
	return upstream_is_below(dst->host, named.host);
}

static bool upstream_is_direct(const char *list, const struct policy_destination *dst)
{
	if (policy_destination_is_loopback(dst))
		return true;
	for (list += strspn(list, UPSTREAM_BETWEEN); *list;
	     list += strspn(list, UPSTREAM_BETWEEN)) {
		size_t len = strcspn(list, UPSTREAM_BETWEEN);

		if (upstream_names(list, len, dst))
			return true;
		list += len;
	}
	return false;
}

const struct policy_upstream *policy_upstream_for(const struct policy_upstreams *upstreams,
						  const struct policy_destination *dst)
{
	const struct policy_upstream *upstream;

	if (!upstreams)
		return NULL;
	upstream = dst->protocol == POLICY_HTTP    ? &upstreams->http
		   : dst->protocol == POLICY_HTTPS ? &upstreams->https
						   : &upstreams->other;
	if (upstream->kind == POLICY_UPSTREAM_NONE || upstream_is_direct(upstreams->direct, dst))
		return NULL;
	return upstream;
}
