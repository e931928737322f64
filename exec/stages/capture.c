#include "exec/stages/capture.h"

#include "exec/init/sys.h"
#include "exec/stages/listening.h"
#include "exec/stages/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/inside_net.h"

#define BACKLOG  4096
#define LOOPBACK 1      /* the index of lo: the first interface of each namespace */
#define PRIORITY (-150) /* before the routing decision, as iptables' mangle table */
#define TCP      6
#define UDP      17

static const uint8_t own_4[4] = INSIDE_NET_OWN_4;
static const uint8_t own_6[16] = INSIDE_NET_OWN_6;
static const uint8_t nobodys_4[4] = INSIDE_NET_NOBODYS_4;
static const uint8_t nobodys_6[16] = INSIDE_NET_NOBODYS_6;
static const char table[] = "sallyport", chain[] = "capture";

/* An own address on lo, and a route by which all addresses of its family are local. */
static int make_local(int family, const uint8_t *own, size_t size)
{
	const struct ifaddrmsg address = { .ifa_family = (uint8_t)family,
					   .ifa_prefixlen = (uint8_t)(size * 8),
					   .ifa_flags = IFA_F_NODAD, /* usable at once */
					   .ifa_scope = RT_SCOPE_HOST,
					   .ifa_index = LOOPBACK };
	const struct rtmsg route = { .rtm_family = (uint8_t)family,
				     .rtm_table = RT_TABLE_LOCAL,
				     .rtm_protocol = RTPROT_STATIC,
				     .rtm_scope = RT_SCOPE_HOST,
				     .rtm_type = RTN_LOCAL };
	const uint32_t index = LOOPBACK;
	struct netlink_batch batch = { .len = 0 };

	netlink_add(&batch, RTM_NEWADDR, NLM_F_CREATE, &address, sizeof(address));
	netlink_put(&batch, IFA_LOCAL, own, size);
	netlink_put(&batch, IFA_ADDRESS, own, size);
	netlink_add(&batch, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_ACK, &route, sizeof(route));
	netlink_put(&batch, RTA_OIF, &index, sizeof(index));
	netlink_put(&batch, RTA_PREFSRC, own, size);
	return netlink_send(&batch, NETLINK_ROUTE);
}

static void add(struct netlink_batch *batch, int type, uint16_t flags)
{
	const struct nfgenmsg family = { .nfgen_family = NFPROTO_INET };

	netlink_add(batch, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), flags, &family,
		    sizeof(family));
}

static void add_edge(struct netlink_batch *batch, int type)
{
	const struct nfgenmsg edge = { .res_id = htons(NFNL_SUBSYS_NFTABLES) };

	netlink_add(batch, (uint16_t)type, 0, &edge, sizeof(edge));
}

struct expression {
	size_t element, data;
};

static struct expression begin(struct netlink_batch *batch, const char *name)
{
	struct expression it = { .element = netlink_begin(batch, NFTA_LIST_ELEM) };

	netlink_put_text(batch, NFTA_EXPR_NAME, name);
	it.data = netlink_begin(batch, NFTA_EXPR_DATA);
	return it;
}

static void end(struct netlink_batch *batch, struct expression it)
{
	netlink_end(batch, it.data);
	netlink_end(batch, it.element);
}

static void put_value(struct netlink_batch *batch, uint16_t type, const void *value, size_t size)
{
	size_t data = netlink_begin(batch, type);

	netlink_put(batch, NFTA_DATA_VALUE, value, size);
	netlink_end(batch, data);
}

static void must_be(struct netlink_batch *batch, const void *value, size_t size)
{
	struct expression it = begin(batch, "cmp");

	netlink_put_u32(batch, NFTA_CMP_SREG, NFT_REG_1);
	netlink_put_u32(batch, NFTA_CMP_OP, NFT_CMP_EQ);
	put_value(batch, NFTA_CMP_DATA, value, size);
	end(batch, it);
}

static void meta_must_be(struct netlink_batch *batch, enum nft_meta_keys key, uint8_t value)
{
	struct expression it = begin(batch, "meta");

	netlink_put_u32(batch, NFTA_META_DREG, NFT_REG_1);
	netlink_put_u32(batch, NFTA_META_KEY, key);
	end(batch, it);
	must_be(batch, &value, sizeof(value));
}

/* The destination address begins with @value. */
static void destination_must_be(struct netlink_batch *batch, bool is_v4, const void *value,
				size_t size)
{
	struct expression it;

	meta_must_be(batch, NFT_META_NFPROTO, is_v4 ? NFPROTO_IPV4 : NFPROTO_IPV6);
	it = begin(batch, "payload");
	netlink_put_u32(batch, NFTA_PAYLOAD_DREG, NFT_REG_1);
	netlink_put_u32(batch, NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
	netlink_put_u32(batch, NFTA_PAYLOAD_OFFSET, is_v4 ? 16 : 24);
	netlink_put_u32(batch, NFTA_PAYLOAD_LEN, (uint32_t)size);
	end(batch, it);
	must_be(batch, value, size);
}

static void destination_port_must_be(struct netlink_batch *batch, uint16_t port)
{
	const uint16_t value = htons(port);
	struct expression it = begin(batch, "payload");

	netlink_put_u32(batch, NFTA_PAYLOAD_DREG, NFT_REG_1);
	netlink_put_u32(batch, NFTA_PAYLOAD_BASE, NFT_PAYLOAD_TRANSPORT_HEADER);
	netlink_put_u32(batch, NFTA_PAYLOAD_OFFSET, 2);
	netlink_put_u32(batch, NFTA_PAYLOAD_LEN, sizeof(value));
	end(batch, it);
	must_be(batch, &value, sizeof(value));
}

static void accept_it(struct netlink_batch *batch)
{
	struct expression it = begin(batch, "immediate");

	netlink_put_u32(batch, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
	size_t data = netlink_begin(batch, NFTA_IMMEDIATE_DATA);
	size_t verdict = netlink_begin(batch, NFTA_DATA_VERDICT);

	netlink_put_u32(batch, NFTA_VERDICT_CODE, NF_ACCEPT);
	netlink_end(batch, verdict);
	netlink_end(batch, data);
	end(batch, it);
}

/* The listener gets the packet, whatever its destination. */
static void hand_to_listener(struct netlink_batch *batch)
{
	const uint16_t port = htons(INSIDE_NET_PORT);
	struct expression it = begin(batch, "immediate");

	netlink_put_u32(batch, NFTA_IMMEDIATE_DREG, NFT_REG_1);
	put_value(batch, NFTA_IMMEDIATE_DATA, &port, sizeof(port));
	end(batch, it);
	it = begin(batch, "tproxy");
	netlink_put_u32(batch, NFTA_TPROXY_FAMILY, NFPROTO_UNSPEC);
	netlink_put_u32(batch, NFTA_TPROXY_REG_PORT, NFT_REG_1);
	end(batch, it);
}

static size_t begin_rule(struct netlink_batch *batch, uint16_t flags)
{
	add(batch, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND | flags);
	netlink_put_text(batch, NFTA_RULE_TABLE, table);
	netlink_put_text(batch, NFTA_RULE_CHAIN, chain);
	return netlink_begin(batch, NFTA_RULE_EXPRESSIONS);
}

static void keep_own(struct netlink_batch *batch, bool is_v4, const void *value, size_t size)
{
	size_t rule = begin_rule(batch, 0);

	destination_must_be(batch, is_v4, value, size);
	accept_it(batch);
	netlink_end(batch, rule);
}

static void add_chain(struct netlink_batch *batch)
{
	add(batch, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
	netlink_put_text(batch, NFTA_CHAIN_TABLE, table);
	netlink_put_text(batch, NFTA_CHAIN_NAME, chain);
	netlink_put_text(batch, NFTA_CHAIN_TYPE, "filter");
	size_t hook = netlink_begin(batch, NFTA_CHAIN_HOOK);

	netlink_put_u32(batch, NFTA_HOOK_HOOKNUM, NF_INET_PRE_ROUTING);
	netlink_put_u32(batch, NFTA_HOOK_PRIORITY, (uint32_t)PRIORITY);
	netlink_end(batch, hook);
}

static void capture_protocol(struct netlink_batch *batch, uint8_t protocol, uint16_t flags)
{
	size_t rule = begin_rule(batch, flags);

	meta_must_be(batch, NFT_META_L4PROTO, protocol);
	hand_to_listener(batch);
	accept_it(batch);
	netlink_end(batch, rule);
}

/* Names are asked at port 53 of every address. */
static void capture_datagrams(struct netlink_batch *batch)
{
	keep_own(batch, true, nobodys_4, sizeof(nobodys_4));
	keep_own(batch, false, nobodys_6, sizeof(nobodys_6));
	size_t rule = begin_rule(batch, 0);

	meta_must_be(batch, NFT_META_L4PROTO, UDP);
	destination_port_must_be(batch, INSIDE_NET_DNS);
	accept_it(batch);
	netlink_end(batch, rule);
	capture_protocol(batch, UDP, NLM_F_ACK);
}

static int make_rules(bool has_datagrams)
{
	const uint8_t loopback_4 = IN_LOOPBACKNET;
	const uint8_t loopback_6[16] = { [15] = 1 };
	struct netlink_batch batch = { .len = 0 };

	add_edge(&batch, NFNL_MSG_BATCH_BEGIN);
	add(&batch, NFT_MSG_NEWTABLE, NLM_F_CREATE);
	netlink_put_text(&batch, NFTA_TABLE_NAME, table);
	add_chain(&batch);
	keep_own(&batch, true, &loopback_4, sizeof(loopback_4));
	keep_own(&batch, true, own_4, sizeof(own_4));
	keep_own(&batch, false, loopback_6, sizeof(loopback_6));
	keep_own(&batch, false, own_6, sizeof(own_6));
	capture_protocol(&batch, TCP, has_datagrams ? 0 : NLM_F_ACK);
	if (has_datagrams)
		capture_datagrams(&batch);
	uint32_t last = batch.sent;

	add_edge(&batch, NFNL_MSG_BATCH_END);
	batch.sent = last; /* the end has no answer of its own */
	return netlink_send(&batch, NETLINK_NETFILTER);
}

static int set(long fd, int level, int option, int value)
{
	return (int)sys(setsockopt, fd, level, option, &value, sizeof(value));
}

/* May have every address of others as its own: needs CAP_NET_ADMIN. */
static int make_transparent(long fd, int family)
{
	return family == AF_INET6 ? set(fd, SOL_IPV6, IPV6_TRANSPARENT, 1)
				  : set(fd, SOL_IP, IP_TRANSPARENT, 1);
}

/* At all addresses; of both families, if there is IPv6. */
static socklen_t name_any(struct sockaddr_storage *ret, int family, uint16_t port)
{
	struct sockaddr_in6 *v6 = (void *)ret;
	struct sockaddr_in *v4 = (void *)ret;

	memset(ret, 0, sizeof(*ret));
	ret->ss_family = (sa_family_t)family;
	if (family == AF_INET6)
		v6->sin6_port = htons(port);
	else
		v4->sin_port = htons(port);
	return family == AF_INET6 ? sizeof(*v6) : sizeof(*v4);
}

static int open_listener(int family)
{
	struct sockaddr_storage name;
	socklen_t len = name_any(&name, family, INSIDE_NET_PORT);
	int fd = listening_open(&name, len, BACKLOG);
	int r = fd < 0 ? fd : make_transparent(fd, family);

	if (r == 0)
		return fd;
	if (fd >= 0)
		(void)sys(close, fd);
	return r;
}

/* With a name comes the address that was asked, which the answer comes from; with a captured
 * datagram the address that it was sent to. */
static int report_destination(long fd, int family, bool has_names)
{
	if (has_names)
		return family == AF_INET6 ? set(fd, SOL_IPV6, IPV6_RECVPKTINFO, 1)
					  : set(fd, SOL_IP, IP_PKTINFO, 1);
	int r = set(fd, SOL_IP, IP_RECVORIGDSTADDR, 1);

	return r == 0 && family == AF_INET6 ? set(fd, SOL_IPV6, IPV6_RECVORIGDSTADDR, 1) : r;
}

static int open_udp(int family, bool has_names)
{
	struct sockaddr_storage name;
	socklen_t len = name_any(&name, family, has_names ? INSIDE_NET_DNS : INSIDE_NET_PORT);
	long fd = sys(socket, family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = fd < 0 ? (int)fd : make_transparent(fd, family);

	if (r == 0)
		r = report_destination(fd, family, has_names);
	if (r == 0)
		r = (int)sys(bind, fd, &name, len);
	if (r == 0)
		return (int)fd;
	if (fd >= 0)
		(void)sys(close, fd);
	return r;
}

/* It sends whole packets, and receives none. */
static int open_raw(int family)
{
	return (int)sys(socket, family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_RAW);
}

int capture_open(struct capture *ret, bool has_datagrams)
{
	/* The rules first: without them an address would be local, and its servers the command's
	 * own. IPv6 may be switched off. */
	int r = make_rules(has_datagrams);
	bool has_v6 = r == 0 && make_local(AF_INET6, own_6, sizeof(own_6)) == 0;
	int family = has_v6 ? AF_INET6 : AF_INET;

	if (r == 0)
		r = make_local(AF_INET, own_4, sizeof(own_4));
	ret->listener = open_listener(family);
	ret->names = ret->listener < 0 ? -1 : open_udp(family, true);
	ret->datagrams = (struct datagrams){ -1, -1, -1 };
	if (ret->names < 0)
		return ret->listener < 0 ? ret->listener : ret->names;
	if (r == 0 && has_datagrams) {
		ret->datagrams.raw4 = open_raw(AF_INET);
		ret->datagrams.raw6 = has_v6 ? open_raw(AF_INET6) : -1;
		ret->datagrams.listener = open_udp(family, false);
		r = ret->datagrams.listener < 0 ? ret->datagrams.listener : 0;
	}
	return r;
}
