#include "tests/unit/proxy/upstream/dns_stub.h"

#include <arpa/inet.h>
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"

#define TYPE_A     1
#define TYPE_CNAME 5
#define TYPE_AAAA  28
#define NAMES_MAX  32

struct dns_stub {
	const struct dns_name *names;
	size_t count;
	uint16_t port;
	struct event *udp, *tcp, *client; /* c-ares keeps one TCP connection */
	unsigned int asked_total, asked_tcp;
	unsigned int asked[NAMES_MAX];  /* per table line */
	unsigned int asked4[NAMES_MAX]; /* for A alone */
};

struct message {
	uint8_t bytes[4096];
	size_t len;
};

static void put16(struct message *message, unsigned int value)
{
	message->bytes[message->len++] = (uint8_t)(value >> 8);
	message->bytes[message->len++] = (uint8_t)value;
}

static void put_name(struct message *message, const char *name)
{
	for (const char *label = name; *label;) {
		size_t len = strcspn(label, ".");
		message->bytes[message->len++] = (uint8_t)len;
		memcpy(message->bytes + message->len, label, len);
		message->len += len;
		label += len + (label[len] == '.');
	}
	message->bytes[message->len++] = 0;
}

/* The name in the question, which never is compressed (RFC 1035 §4.1.2). Returns where it ends. */
static size_t read_name(const uint8_t *query, size_t len, char *out, size_t size)
{
	size_t at = 12, used = 0;

	while (at < len && query[at] != 0) {
		size_t label = query[at++];
		ck_assert(at + label < len && used + label + 2 < size);
		memcpy(out + used, query + at, label);
		used += label;
		out[used++] = '.';
		at += label;
	}
	out[used > 0 ? used - 1 : 0] = '\0';
	return at + 1;
}

static void put_record(struct message *reply, const char *owner, unsigned int type,
		       unsigned int ttl_s, const void *data, size_t len)
{
	put_name(reply, owner);
	put16(reply, type);
	put16(reply, 1);
	put16(reply, 0);
	put16(reply, ttl_s);
	put16(reply, (unsigned int)len);
	memcpy(reply->bytes + reply->len, data, len);
	reply->len += len;
	reply->bytes[7]++; /* ANCOUNT */
}

static void put_addrs(struct message *reply, const char *owner, unsigned int type,
		      unsigned int ttl_s, const char *list)
{
	char copy[2048], *rest = copy;
	uint8_t bytes[16];

	(void)snprintf(copy, sizeof(copy), "%s", list ? list : "");
	for (char *word; (word = strsep(&rest, " "));) {
		if (!*word)
			continue;
		ck_assert_int_eq(inet_pton(type == TYPE_A ? AF_INET : AF_INET6, word, bytes), 1);
		put_record(reply, owner, type, ttl_s, bytes, type == TYPE_A ? 4 : 16);
	}
}

static const char *addrs_of(struct dns_stub *stub, size_t row, unsigned int type)
{
	const struct dns_name *name = &stub->names[row];

	if (type == TYPE_AAAA)
		return name->v6;
	if (stub->asked4[row]++ > 0 && name->v4_then)
		return name->v4_then;
	return name->v4;
}

static void put_answer(struct dns_stub *stub, struct message *reply, size_t row, unsigned int type,
		       bool is_udp)
{
	const struct dns_name *name = &stub->names[row];
	const char *owner = name->name;

	reply->bytes[3] |= type == TYPE_AAAA && name->v6_code ? name->v6_code : name->code;
	if (is_udp && name->is_truncated) {
		reply->bytes[2] |= 0x02; /* TC */
		return;
	}
	if ((reply->bytes[3] & 0x0f) != 0)
		return;
	if (name->alias) {
		struct message target = { 0 };
		put_name(&target, name->alias);
		put_record(reply, owner, TYPE_CNAME, name->alias_ttl_s, target.bytes, target.len);
		owner = name->alias;
	}
	put_addrs(reply, owner, type, name->ttl_s, addrs_of(stub, row, type));
}

/* False: say nothing. */
static bool answer(struct dns_stub *stub, const uint8_t *query, size_t len, bool is_udp,
		   struct message *reply)
{
	char name[512];

	ck_assert_uint_gt(len, 12);
	size_t end = read_name(query, len, name, sizeof(name));
	unsigned int type = (unsigned int)query[end] << 8 | query[end + 1];

	stub->asked_total++;
	stub->asked_tcp += !is_udp;
	*reply = (struct message){ 0 };
	memcpy(reply->bytes, query, 12);
	reply->bytes[2] = 0x81; /* QR, RD */
	reply->bytes[3] = 0x80; /* RA */
	memset(reply->bytes + 6, 0, 6);
	memcpy(reply->bytes + 12, query + 12, end + 4 - 12);
	reply->len = end + 4;
	for (size_t i = 0; i < stub->count; i++) {
		if (strcmp(stub->names[i].name, name) != 0)
			continue;
		stub->asked[i]++;
		if (stub->names[i].is_silent || (type == TYPE_AAAA && stub->names[i].is_v6_silent))
			return false;
		put_answer(stub, reply, i, type, is_udp);
		return true;
	}
	reply->bytes[3] |= 3; /* NXDOMAIN */
	return true;
}

static void on_udp(evutil_socket_t fd, short what, void *arg)
{
	struct sockaddr_storage from;
	socklen_t from_len = sizeof(from);
	struct message reply;
	uint8_t query[1024];
	ssize_t n = recvfrom(fd, query, sizeof(query), 0, (struct sockaddr *)&from, &from_len);

	if (n > 0 && answer(arg, query, (size_t)n, true, &reply))
		ck_assert_int_gt(
			sendto(fd, reply.bytes, reply.len, 0, (struct sockaddr *)&from, from_len),
			0);
}

static void drop_client(struct dns_stub *stub)
{
	if (!stub->client)
		return;
	fd_close(event_get_fd(stub->client));
	event_free(take(stub->client));
}

/* Every segment holds whole questions, since c-ares writes each at once. */
static void on_client(evutil_socket_t fd, short what, void *arg)
{
	struct message reply, framed;
	uint8_t query[2048];
	ssize_t n = recv(fd, query, sizeof(query), 0);

	if (n <= 0) {
		drop_client(arg);
		return;
	}
	for (ssize_t at = 0; at + 2 < n; at += 2 + (query[at] << 8 | query[at + 1])) {
		size_t len = (size_t)(query[at] << 8 | query[at + 1]);
		if (!answer(arg, query + at + 2, len, false, &reply))
			continue;
		framed = (struct message){ 0 };
		put16(&framed, (unsigned int)reply.len);
		memcpy(framed.bytes + 2, reply.bytes, reply.len);
		ck_assert_int_eq(send(fd, framed.bytes, reply.len + 2, MSG_NOSIGNAL),
				 (ssize_t)reply.len + 2);
	}
}

static void on_tcp(evutil_socket_t fd, short what, void *arg)
{
	struct dns_stub *stub = arg;
	int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (client < 0)
		return;
	drop_client(stub);
	stub->client =
		event_new(event_get_base(stub->tcp), client, EV_READ | EV_PERSIST, on_client, stub);
	event_add(stub->client, NULL);
}

static int listen_on(int type, uint16_t *port)
{
	struct sockaddr_in here = { .sin_family = AF_INET,
				    .sin_port = htons(*port),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(here);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (bind(fd, (struct sockaddr *)&here, sizeof(here)) < 0) {
		fd_close(fd);
		return -1;
	}
	if (type == SOCK_STREAM)
		ck_assert_int_eq(listen(fd, 16), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&here, &len), 0);
	*port = ntohs(here.sin_port);
	return fd;
}

struct dns_stub *dns_stub_new(struct loop *loop, const struct dns_name *names, size_t count)
{
	struct dns_stub *stub = mem_new(sizeof(*stub));
	int udp, tcp = -1;

	ck_assert_uint_le(count, NAMES_MAX);
	stub->names = names;
	stub->count = count;
	/* The same number for both; it may be taken for one of them. */
	for (int i = 0; i < 100 && tcp < 0; i++) {
		stub->port = 0;
		udp = listen_on(SOCK_DGRAM, &stub->port);
		tcp = listen_on(SOCK_STREAM, &stub->port);
		if (tcp < 0)
			fd_close(udp);
	}
	ck_assert_int_ge(tcp, 0);
	stub->udp = event_new(loop_base(loop), udp, EV_READ | EV_PERSIST, on_udp, stub);
	stub->tcp = event_new(loop_base(loop), tcp, EV_READ | EV_PERSIST, on_tcp, stub);
	event_add(stub->udp, NULL);
	event_add(stub->tcp, NULL);
	return stub;
}

void dns_stub_free(struct dns_stub *stub)
{
	int udp = event_get_fd(stub->udp), tcp = event_get_fd(stub->tcp);

	drop_client(stub);
	event_free(stub->udp);
	event_free(stub->tcp);
	fd_close(udp);
	fd_close(tcp);
	free(stub);
}

uint16_t dns_stub_port(const struct dns_stub *stub)
{
	return stub->port;
}

unsigned int dns_stub_asked(const struct dns_stub *stub, const char *name)
{
	for (size_t i = 0; name && i < stub->count; i++) {
		if (strcmp(stub->names[i].name, name) == 0)
			return stub->asked[i];
	}
	return name ? 0 : stub->asked_total;
}

unsigned int dns_stub_asked_by_tcp(const struct dns_stub *stub)
{
	return stub->asked_tcp;
}
