#include "proxy/tunnel.h"

#include <errno.h>

#include "proxy/fronts/front_impl.h"
#include "proxy/guard.h"
#include "proxy/meter.h"
#include "proxy/session.h"

void tunnel_begin(struct session *session)
{
	enum policy_protocol promise = session->request->promise;

	if (promise == POLICY_HTTPS) {
		guard_begin(session);
	} else if (promise == POLICY_HTTP) {
		session->is_fixed = true;
		session->front = table_front(FRONT_HTTP1);
		leg_want_read(&session->up->leg, true);
		session_next(session);
	} else if (promise == POLICY_TCP) {
		tunnel_carry(session);
	} else {
		/* admit.c lets no other promise through: this is the second lock on that door. */
		session_abort(session, POLICY_NOT_ENFORCED);
	}
}

/* What was read before the tunnel stood, as far as there is room. 0 or -errno. */
static int send_input(struct session *session)
{
	struct leg *up = &session->up->leg;
	uint64_t room = meter_room(session->request, GATEWAY_UP);
	size_t cleared = guard_cleared(session);
	size_t len = cleared < room ? cleared : (size_t)room;

	if (len) {
		session->request->bytes_up += len;
		if (leg_write_bytes(up, buffer_at(&session->in), len) < 0)
			return -EPIPE;
		buffer_consume(&session->in, len);
		guard_sent(session, len);
		meter_moved(session);
	}
	if (len < cleared)
		meter_need(session, GATEWAY_UP);
	else if (session->client.is_eof)
		leg_shut(up);
	leg_want_read(&session->client, len == cleared && !leg_is_blocked(up));
	return 0;
}

void tunnel_carry(struct session *session)
{
	session_enter(session, SESSION_TUNNEL);
	session_set_deadline(session, LIMITS_TUNNEL_MS);
	if (send_input(session) < 0)
		session_abort(session, POLICY_RESET);
	else
		leg_want_read(&session->up->leg, !leg_is_blocked(&session->client));
}

/* Both directions have ended and all is delivered. */
static bool is_over(const struct session *session)
{
	const struct leg *client = &session->client, *up = &session->up->leg;

	return client->is_eof && up->is_eof && !leg_is_blocked(client) && !leg_is_blocked(up) &&
	       !session->in.len;
}

void tunnel_send(struct session *session)
{
	if (send_input(session) < 0)
		session_abort(session, POLICY_RESET);
	else if (is_over(session))
		session_close(session, POLICY_DONE);
}

/* One read, one write: the buffer is as large as is worth it, and the others get their turn. */
static void pump(struct session *session, struct leg *from, struct leg *to, enum gateway_way way)
{
	struct request *request = session->request;
	char *bytes = session->proxy->shared.bytes;
	ssize_t got;

	if (!from->wants_read) {
		leg_stop_reading(from);
		return;
	}
	got = leg_read_room(from, bytes, leg_read_size(from), meter_room(request, way));
	if (got == -EAGAIN)
		return;
	if (got == -EDQUOT) {
		leg_want_read(from, false);
		leg_stop_reading(from);
		meter_need(session, way);
		return;
	}
	if (got < 0) {
		session_abort(session, POLICY_RESET);
		return;
	}
	session_set_deadline(session, LIMITS_TUNNEL_MS);
	if (got == 0) {
		leg_shut(to);
		if (is_over(session))
			session_close(session, POLICY_DONE);
		return;
	}
	*(way == GATEWAY_UP ? &request->bytes_up : &request->bytes_down) += (uint64_t)got;
	meter_moved(session);
	if (session->guard && way == GATEWAY_DOWN)
		guard_on_server(session, bytes, (size_t)got);
	if (leg_write_bytes(to, bytes, (size_t)got) < 0) {
		session_abort(session, POLICY_RESET);
		return;
	}
	if (leg_is_blocked(to)) {
		leg_want_read(from, false);
		leg_slow_down(from);
	}
}

void tunnel_on_client(struct session *session)
{
	if (session->guard)
		guard_on_client(session);
	else
		pump(session, &session->client, &session->up->leg, GATEWAY_UP);
}

void tunnel_on_upstream(struct session *session)
{
	pump(session, &session->up->leg, &session->client, GATEWAY_DOWN);
}

static void drained(struct session *session, struct leg *source)
{
	session_set_deadline(session, LIMITS_TUNNEL_MS);
	if (is_over(session))
		session_close(session, POLICY_DONE);
	else
		leg_want_read(source, source != &session->client || !guard_cleared(session));
}

void tunnel_on_client_drained(struct session *session)
{
	drained(session, &session->up->leg);
}

void tunnel_on_upstream_drained(struct session *session)
{
	drained(session, &session->client);
}

/* At once, while it has room: what it does not use may be called back for another. */
void tunnel_on_lease(struct session *session, enum gateway_way way)
{
	struct leg *up = &session->up->leg;

	if (way == GATEWAY_DOWN) {
		leg_want_read(up, !leg_is_blocked(&session->client));
		tunnel_on_upstream(session);
	} else if (!guard_cleared(session)) {
		leg_want_read(&session->client, !leg_is_blocked(up));
		tunnel_on_client(session);
	} else if (send_input(session) < 0) {
		session_abort(session, POLICY_RESET);
	}
}
