#include "proxy/inside/nameserver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/inside_net.h"
#include "base/mem.h"
#include "base/text.h"
#include "policies/policies.h"
#include "proxy/config.h"
#include "proxy/parse/dns.h"

#define BATCH    64 /* queries answered before the others get their turn */
#define WHY      "_why."
#define WHY_MAX  256 /* with NUL: one string of a TXT record */
#define TLS_PORT 443

static bool ends_with(const char *name, const char *suffix)
{
	size_t len = strlen(name), tail = strlen(suffix);

	return len >= tail && strcasecmp(name + len - tail, suffix) == 0;
}

/* Names that no resolver may ask others about (RFC 6761, 6762, 7686). */
static bool is_never_there(const char *host)
{
	return ends_with(host, ".invalid") || ends_with(host, ".local") ||
	       ends_with(host, ".onion");
}

/* What policy says about https to @dst, in one line; "" unless it is a denial. */
static void say_why(const struct nameserver *server, const struct policy_destination *dst,
		    char out[WHY_MAX])
{
	struct policy_facts facts = { .dst = *dst,
				      .carries = POLICY_HTTPS,
				      .way = POLICY_WAY_CAPTURED,
				      .exec = server->exec };
	struct policy_verdict verdict;

	out[0] = '\0';
	facts.dst.protocol = POLICY_HTTPS;
	policy_decide(server->config->policy, &facts, &verdict);
	if (verdict.action == POLICY_DENY)
		(void)snprintf(out, WHY_MAX, "https://%.100s: %s%s%.100s", dst->host,
			       policy_reason_sentence(verdict.reason), verdict.rule[0] ? " " : "",
			       verdict.rule);
}

struct response {
	struct dns_answer answer;
	struct addr addr;
	char why[WHY_MAX];
};

static void answer_address(struct nameserver *server, const struct policy_destination *dst,
			   int family, struct response *ret)
{
	bool is_own = policy_destination_is_loopback(dst);
	uint32_t number = is_own ? 0 : names_add(&server->names, dst->host);

	uint32_t *used = server->config->turn.names_used;

	if (used && *used < number)
		*used = number;
	say_why(server, dst, ret->why);
	ret->answer.extra = ret->why[0] ? DNS_BLOCKED : DNS_NOTHING;
	ret->answer.extra_text = ret->why;
	if (!is_own && number == 0) {
		ret->answer = (struct dns_answer){ .code = DNS_SERVER_FAILURE };
		return;
	}
	if (family == AF_INET6 && !server->has_v6)
		return;
	ret->addr = names_address(number, family);
	if (is_own && family == AF_INET)
		(void)addr_parse("127.0.0.1", 9, &ret->addr);
	else if (is_own)
		(void)addr_parse("::1", 3, &ret->addr);
	ret->answer.addr = ret->addr.bytes;
	ret->answer.addr_len = family == AF_INET ? 4 : 16;
}

/* "4.3.2.1.in-addr.arpa", or 32 digits in hex before "ip6.arpa" (RFC 3596 §2.5). */
static bool parse_reverse(const char *name, struct addr *ret)
{
	unsigned int part[4];
	int end = 0;

	*ret = (struct addr){ 0 };
	if (ends_with(name, ".in-addr.arpa") &&
	    sscanf(name, "%3u.%3u.%3u.%3u%n", &part[3], &part[2], &part[1], &part[0], &end) == 4 &&
	    strcasecmp(name + end, ".in-addr.arpa") == 0) {
		for (int i = 0; i < 4; i++)
			ret->bytes[i] = (uint8_t)part[i];
		ret->family = AF_INET;
		return part[0] < 256 && part[1] < 256 && part[2] < 256 && part[3] < 256;
	}
	if (strlen(name) != 64 + strlen("ip6.arpa") || !ends_with(name, "ip6.arpa"))
		return false;
	ret->family = AF_INET6;
	for (int i = 0; i < 32; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *digit = strchr(digits, name[2 * i] | 0x20);

		if (!digit || !*digit || name[2 * i + 1] != '.')
			return false;
		ret->bytes[15 - i / 2] |= (uint8_t)((digit - digits) << (i % 2 ? 4 : 0));
	}
	return true;
}

static void answer_reverse(const struct nameserver *server, const char *name, struct response *ret)
{
	struct addr addr;

	if (parse_reverse(name, &addr))
		ret->answer.name = names_host(&server->names, &addr);
	if (!ret->answer.name)
		ret->answer.code = DNS_NO_NAME;
}

static void answer_why(const struct nameserver *server, const char *name, struct response *ret)
{
	struct policy_destination dst;

	if (policy_destination_set(&dst, name, strlen(name), TLS_PORT, NULL) < 0) {
		ret->answer.code = DNS_NO_NAME;
		return;
	}
	say_why(server, &dst, ret->why);
	if (!ret->why[0])
		(void)snprintf(ret->why, sizeof(ret->why), "https://%.200s: no rule denies it.",
			       dst.host);
	ret->answer.text = ret->why;
}

static void respond(struct nameserver *server, const struct dns_query *query, struct response *ret)
{
	struct policy_destination dst;
	const char *name = query->name;

	if (query->code != DNS_OK) {
		ret->answer.code = query->code;
		return;
	}
	if (query->type == DNS_TXT && strncasecmp(name, WHY, strlen(WHY)) == 0) {
		answer_why(server, name + strlen(WHY), ret);
		return;
	}
	if (query->type == DNS_PTR) {
		answer_reverse(server, name, ret);
		return;
	}
	/* An address is not a name, and "" is none either. */
	if (policy_destination_set(&dst, name, strlen(name), TLS_PORT, NULL) < 0 ||
	    dst.addr.family != 0 || is_never_there(dst.host)) {
		ret->answer.code = DNS_NO_NAME;
		return;
	}
	if (query->type == DNS_A || query->type == DNS_ANY)
		answer_address(server, &dst, AF_INET, ret);
	else if (query->type == DNS_AAAA)
		answer_address(server, &dst, AF_INET6, ret);
}

size_t nameserver_answer(struct nameserver *server, const uint8_t *bytes, size_t len, bool is_udp,
			 uint8_t *out)
{
	struct dns_query query;
	struct response response = { 0 };
	size_t room;

	if (dns_read(bytes, len, &query) < 0)
		return 0;
	respond(server, &query, &response);
	room = is_udp && query.room < DNS_REPLY_MAX ? query.room : DNS_REPLY_MAX;
	return dns_write(&query, &response.answer, out, room);
}

/* False: there is no more, or the socket fails. */
static bool serve_one(struct nameserver *server)
{
	uint8_t bytes[DNS_MESSAGE_MAX], reply[DNS_REPLY_MAX];
	struct sockaddr_storage peer;
	/* The address that was asked comes here, and goes back as the source of the answer. */
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	} control;
	struct iovec part = { .iov_base = bytes, .iov_len = sizeof(bytes) };
	struct msghdr message = { .msg_name = &peer,
				  .msg_namelen = sizeof(peer),
				  .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	ssize_t n = recvmsg(server->fd, &message, MSG_DONTWAIT);

	if (n < 0)
		return errno == EINTR;
	if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return true;
	size_t len = nameserver_answer(server, bytes, (size_t)n, true, reply);

	part = (struct iovec){ .iov_base = reply, .iov_len = len };
	message.msg_flags = 0;
	/* A response that cannot be sent is lost, as any packet may be: the client asks again. */
	if (len > 0)
		(void)sendmsg(server->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	return true;
}

static void on_query(evutil_socket_t fd, short what, void *arg)
{
	for (int i = 0; i < BATCH && serve_one(arg); i++)
		;
}

void nameserver_init(struct nameserver *server, const struct proxy_config *config, uint64_t exec)
{
	*server = (struct nameserver){ .config = config, .exec = exec };
	server->names.first =
		config->turn.names < INSIDE_NET_NAMES ? config->turn.names : INSIDE_NET_NAMES;
}

int nameserver_open(struct nameserver *server, struct loop *loop, int fd)
{
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);
	int r = getsockname(fd, (struct sockaddr *)&name, &len) < 0 ? -errno : 0;

	if (r == 0)
		r = fd_set_nonblocking(fd, true);
	if (r < 0) {
		fd_close(fd);
		return r;
	}
	server->fd = fd;
	server->is_open = true;
	server->has_v6 = name.ss_family == AF_INET6;
	event_assign(&server->event, loop_base(loop), fd, EV_READ | EV_PERSIST, on_query, server);
	event_add(&server->event, NULL);
	return 0;
}

void nameserver_close(struct nameserver *server)
{
	names_done(&server->names);
	if (!server->is_open)
		return;
	event_del(&server->event);
	fd_close(server->fd);
	server->is_open = false;
}
