#include "proxy/tls/tls_bridge.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/crypto/tls.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "policies/policies.h"
#include "proxy/limits.h"

#define TURN_RECORDS 8  /* of each direction; then other connections get their turn */
#define LOOKS_MAX    5  /* at a server that does not take what a closed leg has left */
#define CUT_LOOKS    60 /* until a leg has noticed that it was cut */

/* Bytes that one side did not take yet: at most a record. */
struct rest {
	char *bytes;
	size_t len, at;
};

struct tls_bridge {
	LIST_ENTRY(tls_bridge) link;
	struct tls_bridges *all;
	tls_bridge_fn done; /* NULL: it was called */
	void *arg;
	struct tls *tls;
	int server, inner; /* the second: our end of the pair; -1: not yet */
	uint64_t cookie;   /* of the leg's end */
	struct event on_server, on_inner;
	short server_wants, inner_wants; /* what is watched */
	struct rest up, down;
	bool up_ended;       /* the leg sends no more */
	bool is_half_closed; /* and was open then */
	bool down_ended;     /* nor does the server */
	bool is_closed;      /* the leg is closed */
	bool is_cut;         /* the server's end was not said */
	bool was_told;       /* the end, to the leg */
	bool has_said;       /* the end, to the server */
	unsigned int looks;
	struct loop_timer look;
};

struct tls_bridges {
	struct loop *loop;
	struct tls_trust *trust;
	LIST_HEAD(tls_bridge_list, tls_bridge) list;
	char bytes[TLS_RECORD_BYTES]; /* of one read; free again when a callback returns */
};

struct tls_bridges *tls_bridge_new_all(struct loop *loop, const char *authorities, struct err *why)
{
	struct tls_trust *trust;

	if (tls_trust_new(authorities, strlen(authorities), &trust, why) < 0)
		return NULL;
	struct tls_bridges *bridges = mem_new(sizeof(*bridges));

	bridges->loop = loop;
	bridges->trust = trust;
	LIST_INIT(&bridges->list);
	return bridges;
}

static void watch(struct event *event, short *is, short wants)
{
	if (*is == wants)
		return;
	if (*is)
		event_del(event);
	*is = wants;
	if (!wants)
		return;
	event_assign(event, event_get_base(event), event_get_fd(event), wants | EV_PERSIST,
		     event_get_callback(event), event_get_callback_arg(event));
	event_add(event, NULL);
}

static void bridge_free(struct tls_bridge *bridge)
{
	loop_timer_stop(&bridge->look);
	watch(&bridge->on_server, &bridge->server_wants, 0);
	if (bridge->inner >= 0)
		watch(&bridge->on_inner, &bridge->inner_wants, 0);
	tls_free(bridge->tls);
	fd_close(bridge->server);
	fd_close(bridge->inner);
	free(bridge->up.bytes);
	free(bridge->down.bytes);
	LIST_REMOVE(bridge, link);
	free(bridge);
}

void tls_bridge_withdraw(struct tls_bridge *bridge)
{
	if (bridge)
		bridge_free(bridge);
}

void tls_bridge_free_all(struct tls_bridges *bridges)
{
	if (!bridges)
		return;
	while (!LIST_EMPTY(&bridges->list))
		bridge_free(LIST_FIRST(&bridges->list));
	tls_trust_free(bridges->trust);
	free(bridges);
}

static void rest_keep(struct rest *rest, const char *bytes, size_t len)
{
	rest->bytes = mem_new(len);
	memcpy(rest->bytes, bytes, len);
	rest->len = len;
	rest->at = 0;
}

static void rest_drop(struct rest *rest)
{
	free(take(rest->bytes));
	*rest = (struct rest){ 0 };
}

static void rest_sent(struct rest *rest, size_t len)
{
	rest->at += len;
	if (rest->at == rest->len)
		rest_drop(rest);
}

/* @sent of the @len @bytes were taken: new ones, or those that it holds. */
static void rest_take(struct rest *rest, const char *bytes, size_t len, size_t sent, bool is_new)
{
	if (!is_new)
		rest_sent(rest, sent);
	else if (sent < len)
		rest_keep(rest, bytes + sent, len - sent);
}

static void cut(struct tls_bridge *bridge)
{
	bridge->is_cut = !bridge->down_ended;
	bridge->down_ended = bridge->up_ended = bridge->has_said = true;
	rest_drop(&bridge->up);
}

/* The leg was closed while it was sent bytes. */
static void leg_left(struct tls_bridge *bridge)
{
	bridge->is_closed = bridge->down_ended = bridge->was_told = true;
	rest_drop(&bridge->down);
}

/* Sends @bytes to the leg, and keeps what it does not take. */
static void give(struct tls_bridge *bridge, const char *bytes, size_t len, bool is_new)
{
	ssize_t sent = send(bridge->inner, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (sent < 0 && errno != EAGAIN && errno != EINTR)
		leg_left(bridge);
	else
		rest_take(&bridge->down, bytes, len, sent < 0 ? 0 : (size_t)sent, is_new);
}

/* Sends @bytes to the server, and keeps what it does not take. */
static void pass(struct tls_bridge *bridge, const char *bytes, size_t len, bool is_new)
{
	ssize_t sent = tls_write(bridge->tls, bytes, len);

	if (sent < 0 && sent != -EAGAIN)
		cut(bridge);
	else
		rest_take(&bridge->up, bytes, len, sent < 0 ? 0 : (size_t)sent, is_new);
}

/* True: there may be more. */
static bool move_down(struct tls_bridge *bridge)
{
	struct rest *rest = &bridge->down;

	if (rest->len)
		give(bridge, rest->bytes + rest->at, rest->len - rest->at, false);
	if (rest->len || bridge->down_ended)
		return false;
	ssize_t got = tls_read(bridge->tls, bridge->all->bytes, TLS_RECORD_BYTES);

	if (got == 0)
		bridge->down_ended = true;
	else if (got > 0)
		give(bridge, bridge->all->bytes, (size_t)got, true);
	else if (got != -EAGAIN)
		cut(bridge);
	return got > 0;
}

static bool is_leg_closed(const struct tls_bridge *bridge)
{
	struct pollfd look = { .fd = bridge->inner };

	return poll(&look, 1, 0) > 0 && (look.revents & (POLLHUP | POLLERR)) != 0;
}

static bool move_up(struct tls_bridge *bridge)
{
	struct rest *rest = &bridge->up;

	if (rest->len)
		pass(bridge, rest->bytes + rest->at, rest->len - rest->at, false);
	if (rest->len || bridge->up_ended)
		return false;
	ssize_t got = recv(bridge->inner, bridge->all->bytes, TLS_RECORD_BYTES, MSG_DONTWAIT);

	if (got > 0) {
		pass(bridge, bridge->all->bytes, (size_t)got, true);
		return true;
	}
	if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
		bridge->up_ended = true;
		bridge->is_half_closed = !is_leg_closed(bridge);
	}
	return false;
}

static void on_look(void *arg);

/* Ends that have been reached are passed on, after the bytes before them. A leg that closes without
 * a half-close did not say that its bytes are complete, and so the server is not told. */
static void pass_ends(struct tls_bridge *bridge)
{
	if (bridge->up_ended && is_leg_closed(bridge))
		bridge->is_closed = true;
	if (bridge->up_ended && !bridge->up.len && !bridge->has_said && !bridge->is_closed)
		bridge->has_said = tls_end(bridge->tls) != -EAGAIN;
	if (bridge->down_ended && !bridge->down.len && !bridge->was_told) {
		bridge->was_told = true;
		(void)shutdown(bridge->inner, SHUT_WR); /* fails only if the leg is closed */
	}
}

/* After both sides have ended, the kernel does not tell whether the leg is closed too. */
static bool is_over(const struct tls_bridge *bridge)
{
	if (!bridge->is_closed)
		return false;
	if (bridge->is_cut && bridge->was_told)
		return bridge->looks >= CUT_LOOKS || !bridge->is_half_closed;
	return (bridge->up_ended && !bridge->up.len) || bridge->looks >= LOOKS_MAX;
}

/* Watches what can go on. May free the bridge. */
static void settle(struct tls_bridge *bridge)
{
	bool is_blocked = bridge->up.len > 0 || (bridge->up_ended && !bridge->has_said);
	bool wants_server = !bridge->down.len && !bridge->down_ended;
	bool writes = is_blocked || (wants_server && tls_wants_write(bridge->tls));

	if (is_over(bridge)) {
		bridge_free(bridge);
		return;
	}
	watch(&bridge->on_server, &bridge->server_wants,
	      (short)((wants_server ? EV_READ : 0) | (writes ? EV_WRITE : 0)));
	watch(&bridge->on_inner, &bridge->inner_wants,
	      (short)((!bridge->up.len && !bridge->up_ended ? EV_READ : 0) |
		      (bridge->down.len ? EV_WRITE : 0)));
	/* Nothing tells that a leg is closed while its bytes are not read. */
	if (!bridge->look.is_armed && (bridge->up.len || bridge->up_ended))
		loop_timer_start(bridge->all->loop, &bridge->look, LIMITS_WATCH_MS, on_look,
				 bridge);
}

static void turn(struct tls_bridge *bridge)
{
	bool is_more = true;

	for (unsigned int i = 0; i < TURN_RECORDS && is_more; i++) {
		is_more = move_down(bridge);
		is_more = move_up(bridge) || is_more;
	}
	pass_ends(bridge);
	settle(bridge);
}

static void on_look(void *arg)
{
	struct tls_bridge *bridge = arg;

	if (is_leg_closed(bridge)) {
		bridge->looks++;
		bridge->is_closed = true;
	}
	turn(bridge);
}

static void on_inner(evutil_socket_t fd, short what, void *arg)
{
	turn(arg);
}

/* Calls @done; a failed bridge is freed first. */
static void deliver(struct tls_bridge *bridge, int fd, const char *cause)
{
	tls_bridge_fn done = bridge->done;
	void *arg = bridge->arg;
	char words[TLS_CAUSE_MAX];

	bridge->done = NULL;
	(void)snprintf(words, sizeof(words), "%s", cause);
	if (fd < 0)
		bridge_free(bridge);
	done(fd, words, arg);
}

static void open_pair(struct tls_bridge *bridge)
{
	socklen_t len = sizeof(bridge->cookie);
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
		deliver(bridge, -1, "cannot be used: there are too many open files");
		return;
	}
	bridge->inner = pair[0];
	event_assign(&bridge->on_inner, loop_base(bridge->all->loop), pair[0], 0, on_inner, bridge);
	if (getsockopt(pair[1], SOL_SOCKET, SO_COOKIE, &bridge->cookie, &len) < 0) {
		fd_close(pair[1]);
		deliver(bridge, -1, "cannot be used: the kernel gives no numbers to sockets");
		return;
	}
	settle(bridge);
	deliver(bridge, pair[1], "");
}

static void on_server(evutil_socket_t fd, short what, void *arg)
{
	struct tls_bridge *bridge = arg;
	char cause[TLS_CAUSE_MAX];

	if (!bridge->done) {
		turn(bridge);
		return;
	}
	int r = bridge->tls ? tls_shake(bridge->tls, cause) : -ENOMEM;

	if (r == -EAGAIN)
		watch(&bridge->on_server, &bridge->server_wants,
		      tls_wants_write(bridge->tls) ? EV_WRITE : EV_READ);
	else if (r < 0)
		deliver(bridge, -1, bridge->tls ? cause : "cannot be used: TLS cannot begin");
	else
		open_pair(bridge);
}

struct tls_bridge *tls_bridge_start(struct tls_bridges *bridges, int fd,
				    const struct policy_destination *server, tls_bridge_fn done,
				    void *arg)
{
	struct tls_bridge *bridge = mem_new(sizeof(*bridge));

	bridge->all = bridges;
	bridge->done = done;
	bridge->arg = arg;
	bridge->server = fd;
	bridge->inner = -1;
	bridge->tls = tls_new(bridges->trust, fd, server->host, server->addr.family != 0);
	if (bridge->tls && tls_offer_http1(bridge->tls) < 0)
		tls_free(take(bridge->tls));
	LIST_INSERT_HEAD(&bridges->list, bridge, link);
	event_assign(&bridge->on_server, loop_base(bridges->loop), fd, 0, on_server, bridge);
	/* It is connected, so that this comes at once, from the loop. */
	watch(&bridge->on_server, &bridge->server_wants, EV_WRITE);
	return bridge;
}

bool tls_bridge_was_cut(const struct tls_bridges *bridges, int fd)
{
	const struct tls_bridge *bridge;
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	if (getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len) < 0)
		return true;
	LIST_FOREACH (bridge, &bridges->list, link) {
		if (bridge->cookie == cookie)
			return bridge->is_cut;
	}
	return false;
}
