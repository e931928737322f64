#include "proxy/service.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/addr.h"
#include "base/crypto/base64.h"
#include "base/crypto/digest.h"
#include "base/fd.h"
#include "base/http1/http1.h"
#include "base/mem.h"
#include "base/net/listener.h"
#include "base/text.h"
#include "proxy/connection.h"
#include "proxy/entrance.h"
#include "proxy/proxy_service.h"
#include "proxy/way.h"

#define BASIC     "basic"
#define FIELD     "proxy-authorization"
#define LOGIN_MAX 1024 /* NAME:SECRET */

/* Clients that nothing identifies, or not yet, leave the other half of the descriptors to those
 * with a name. */
#define OTHERS_SHARE 2

struct service {
	struct proxy *proxy;
	const struct proxy_service *config;
	struct way **ways; /* owned array: exec 1, 2, …; NULL: closed */
	struct listener listeners[PROXY_LISTENERS_MAX];
};

static struct way *way_of(const struct service *service, uint64_t exec)
{
	return service->ways[exec - 1];
}

static bool is_of_other(const struct connection *connection)
{
	return connection->way == way_of(connection->proxy->service, 1);
}

/* The narrowest block that has @peer. */
static uint64_t exec_at(const struct proxy_service *config, const struct addr *peer)
{
	const struct proxy_source *best = NULL;

	for (size_t i = 0; i < config->source_count; i++) {
		const struct proxy_source *source = &config->sources[i];

		if (addr_block_has(&source->block, peer) &&
		    (!best || source->block.bits > best->block.bits))
			best = source;
	}
	return best ? best->exec : 1;
}

/* The user who connected @fd, a Unix socket. */
static uint64_t exec_of_user(const struct proxy_service *config, int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return 1;
	for (size_t i = 0; i < config->user_count; i++) {
		if (config->users[i].uid == peer.uid)
			return config->users[i].exec;
	}
	return 1;
}

/* Family 0: @fd is a Unix socket. */
static void get_peer(int fd, struct addr *ret)
{
	struct sockaddr_storage name = { 0 };
	socklen_t len = sizeof(name);
	uint16_t port;

	*ret = (struct addr){ 0 };
	if (getpeername(fd, (struct sockaddr *)&name, &len) == 0 &&
	    addr_from_sockaddr((struct sockaddr *)&name, ret, &port) == 0)
		addr_unmap(ret);
}

static uint64_t exec_of_client(const struct proxy_service *config, int fd)
{
	struct addr peer;

	get_peer(fd, &peer);
	return peer.family != 0 ? exec_at(config, &peer) : exec_of_user(config, fd);
}

static void on_client(int fd, uint16_t peer_port, void *arg)
{
	const struct service *service = arg;
	struct way *way = way_of(service, exec_of_client(service->config, fd));

	if (way)
		entrance_admit(way, fd, peer_port);
	else
		fd_close(fd);
}

/* Asked for again at each request, because an idle tunnel must be small. */
void service_get_peer(const struct connection *connection, struct addr *ret)
{
	if (connection->proxy->service && leg_is_open(&connection->client))
		get_peer(connection->client.fd, ret);
}

static int open_ways(struct service *service)
{
	static const int none[PROXY_FDS] = { -1, -1, -1, -1, -1 };
	int r = 0;

	for (uint64_t exec = 1; r == 0 && exec <= service->config->exec_count; exec++)
		r = entrance_open(service->proxy, exec, none, &service->ways[exec - 1]);
	return r;
}

int service_open(struct proxy *proxy, const struct proxy_service *config, struct service **ret)
{
	struct service *service = mem_new(sizeof(*service));
	int r;

	service->proxy = proxy;
	service->config = config;
	service->ways = mem_new_array(config->exec_count, sizeof(struct way *));
	*ret = service;
	r = open_ways(service);
	if (r == 0 && config->exec_count > 1)
		service->ways[0]->own_max = proxy->connections_all / OTHERS_SHARE;
	for (size_t i = 0; r == 0 && i < config->listener_count; i++)
		r = listener_open(&service->listeners[i], proxy->loop, config->listeners[i],
				  on_client, service);
	return r;
}

static void stop_listening(struct service *service)
{
	for (size_t i = 0; i < ARRAY_SIZE(service->listeners); i++)
		listener_close(&service->listeners[i]);
}

void service_free(struct service *service)
{
	if (!service)
		return;
	stop_listening(service);
	free(service->ways);
	free(service);
}

void service_forget(struct service *service, uint64_t exec)
{
	if (service && exec <= service->config->exec_count)
		service->ways[exec - 1] = NULL;
}

static const struct proxy_login *find_login(const struct proxy_service *config, const char *name,
					    size_t len)
{
	for (size_t i = 0; i < config->login_count; i++) {
		const struct proxy_login *login = &config->logins[i];

		if (strlen(login->name) == len && memcmp(login->name, name, len) == 0)
			return login;
	}
	return NULL;
}

/* The connection becomes one of @way, within its limits. NULL: the client may not connect any
 * more. */
static enum policy_reason move(struct connection *connection, struct way *way)
{
	if (!way)
		return POLICY_GATE_CLOSING;
	if (way != connection->way && !way_has_room(way))
		return POLICY_OVERLOADED;
	connection_move(connection, way);
	return POLICY_NONE;
}

/* A name is no secret, so the time may tell that it is unknown. */
enum policy_reason service_login(struct connection *connection, const char *name, size_t name_len,
				 const void *secret, size_t secret_len)
{
	const struct service *service = connection->proxy->service;
	const struct proxy_login *login = find_login(service->config, name, name_len);
	char digest[DIGEST_TEXT_MAX];

	if (!login || digest_text(secret, secret_len, "", 0, digest) < 0 ||
	    !digest_equal(digest, login->digest))
		return POLICY_LOGIN_NEEDED;
	return move(connection, way_of(service, login->exec));
}

/* RFC 7617 §2: the scheme, blanks, and NAME:SECRET in base64. */
static enum policy_reason login_basic(struct connection *connection, struct http1_span value)
{
	char words[LOGIN_MAX];
	size_t at = sizeof(BASIC) - 1, len = 0;

	if (value.len <= at || strncasecmp(value.at, BASIC, at) != 0 || value.at[at] != ' ')
		return POLICY_LOGIN_NEEDED;
	while (at < value.len && value.at[at] == ' ')
		at++;
	if (base64_decode(value.at + at, value.len - at, words, sizeof(words), &len) < 0)
		return POLICY_LOGIN_NEEDED;
	const char *colon = memchr(words, ':', len);
	enum policy_reason reason = POLICY_LOGIN_NEEDED;

	if (colon)
		reason = service_login(connection, words, (size_t)(colon - words), colon + 1,
				       len - (size_t)(colon + 1 - words));
	explicit_bzero(words, sizeof(words));
	return reason;
}

enum policy_reason service_admit_unnamed(const struct connection *connection)
{
	const struct service *service = connection->proxy->service;

	if (!service || service->config->is_open || !is_of_other(connection))
		return POLICY_NONE;
	return service->config->login_count > 0 ? POLICY_LOGIN_NEEDED : POLICY_CLIENT_UNKNOWN;
}

/* A name and a secret count for one request: the next one may come from another client of a proxy
 * that shares this connection. */
static enum policy_reason leave_login(struct connection *connection)
{
	const struct service *service = connection->proxy->service;

	return move(connection,
		    way_of(service, exec_of_client(service->config, connection->client.fd)));
}

/* Of two fields, a proxy in front may have added one: which of them it means is not known. */
static bool has_one_login(const struct http1_head *head)
{
	size_t count = 0;

	for (size_t i = 0; i < head->field_count; i++)
		count +=
			text_equal_nocase(head->fields[i].name.at, head->fields[i].name.len, FIELD);
	return count == 1;
}

enum policy_reason service_admit(struct connection *connection, const struct http1_head *head)
{
	const struct http1_field *field;

	if (!service_has_logins(connection->proxy))
		return service_admit_unnamed(connection);
	field = http1_head_find(head, FIELD);
	if (field)
		return has_one_login(head) ? login_basic(connection, field->value)
					   : POLICY_LOGIN_NEEDED;
	enum policy_reason reason = leave_login(connection);

	return reason != POLICY_NONE ? reason : service_admit_unnamed(connection);
}

bool service_has_logins(const struct proxy *proxy)
{
	return proxy->service && proxy->service->config->login_count > 0;
}

/* Closes the connections of a way that wait for a request. */
static void close_idle(const struct way *way)
{
	struct connection *connection = LIST_FIRST(&way->connections);

	while (connection) {
		struct connection *next = LIST_NEXT(connection, link);

		if (connection->state == CONNECTION_HEAD && connection->in.len == 0 &&
		    !connection->is_fixed)
			connection_close(connection, POLICY_GATE_CLOSING);
		connection = next;
	}
}

void service_drain(struct service *service)
{
	service->proxy->is_draining = true;
	stop_listening(service);
	for (size_t i = 0; i < service->config->exec_count; i++)
		if (service->ways[i])
			close_idle(service->ways[i]);
	way_connection_ended(service->proxy);
}
