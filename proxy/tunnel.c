#include "proxy/tunnel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "proxy/admit.h"
#include "proxy/closing.h"
#include "proxy/fronts/front_impl.h"
#include "proxy/meter.h"
#include "proxy/parse/hello.h"
#include "proxy/session.h"

/* RFC 8446 §6: descriptions of the fatal alerts a refused hello gets. */
enum alert { ALERT_ACCESS_DENIED = 49, ALERT_UNRECOGNIZED_NAME = 112 };

void tunnel_begin(struct session *session)
{
	enum policy_protocol promise = session->request->promise;

	if (promise == POLICY_HTTPS) {
		session_enter(session, SESSION_HELLO);
		session_set_deadline(session, LIMITS_HELLO_MS);
		leg_want_read(&session->client, true);
		tunnel_on_hello(session);
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
	size_t len = session->in.len < room ? session->in.len : (size_t)room;

	if (len) {
		session->request->bytes_up += len;
		if (leg_write_bytes(up, buffer_at(&session->in), len) < 0)
			return -EPIPE;
		buffer_consume(&session->in, len);
		meter_moved(session);
	}
	if (session->in.len)
		meter_need(session, GATEWAY_UP);
	else if (session->client.is_eof)
		leg_shut(up);
	leg_want_read(&session->client, !session->in.len && !leg_is_blocked(up));
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

/* Is what the hello says what was approved? An address that was approved needs no name, and any
 * name shown instead is another host. ECH with the approved outer name passes: what it may hide
 * cannot be told from the GREASE every browser sends, and the server that terminates it is the
 * approved one by address. */
static enum policy_reason judge(const struct hello *hello, const struct policy_destination *dst)
{
	struct policy_destination shown;

	if (!hello->has_server_name || !hello->server_name[0])
		return dst->addr.family ? POLICY_DONE : POLICY_NO_SERVER_NAME;
	if (policy_destination_set(&shown, hello->server_name, strlen(hello->server_name),
				   dst->port, NULL) < 0)
		return POLICY_HOST_MISMATCH;
	return strcmp(shown.host, dst->host) ? POLICY_HOST_MISMATCH : POLICY_DONE;
}

/* Nothing went upstream. A TLS client understands an alert; the others get an end. */
static void refuse(struct session *session, enum policy_reason reason, const char *cause)
{
	bool is_name = reason == POLICY_HOST_MISMATCH || reason == POLICY_NO_SERVER_NAME;
	uint8_t alert[] = {
		21, 3, 3, 0, 2, 2, is_name ? ALERT_UNRECOGNIZED_NAME : ALERT_ACCESS_DENIED
	};

	admit_record(session, reason, cause);
	if (reason != POLICY_NOT_TLS && leg_write_bytes(&session->client, alert, sizeof(alert)) < 0)
		session_close(session, POLICY_RESET);
	else
		closing_linger(session);
}

static void refuse_name(struct session *session, const char *name)
{
	char visible[80], cause[128];

	(void)text_visible(visible, sizeof(visible), name, strlen(name));
	(void)snprintf(cause, sizeof(cause), "the TLS hello names %s", visible);
	refuse(session, POLICY_HOST_MISMATCH, cause);
}

/* Reads on, and looks at what is there: also what came with the request. */
static int read_hello(struct session *session, struct hello *ret)
{
	ssize_t got = session->client.wants_read ? session_fill(session) : -EAGAIN;
	int r = -EAGAIN;

	if (got < 0 && got != -EAGAIN)
		return (int)got;
	if (session->in.len)
		r = hello_parse((const uint8_t *)buffer_at(&session->in), session->in.len, ret);
	return r == -EAGAIN && session->client.is_eof ? -ENODATA : r;
}

void tunnel_on_hello(struct session *session)
{
	enum policy_reason reason;
	struct hello hello;
	int r = read_hello(session, &hello);

	if (r == -EPROTO)
		refuse(session, POLICY_NOT_TLS, "the first bytes are no TLS handshake record");
	else if (r == -EBADMSG)
		refuse(session, POLICY_MALFORMED, "the TLS hello is malformed or too large");
	else if (r < 0 && r != -EAGAIN)
		session_close(session, r == -ENODATA ? POLICY_CLIENT_CLOSED : POLICY_RESET);
	if (r != 0)
		return;
	reason = judge(&hello, &session->request->facts.dst);
	if (reason == POLICY_DONE)
		tunnel_carry(session);
	else if (reason == POLICY_HOST_MISMATCH)
		refuse_name(session, hello.server_name);
	else
		refuse(session, reason, NULL);
}

void tunnel_on_hello_deadline(struct session *session)
{
	if (session->in.len)
		refuse(session, POLICY_NOT_TLS, "no whole TLS hello came in time");
	else
		session_close(session, POLICY_CLIENT_TIMEOUT);
}

/* Both directions have ended and all is delivered. */
static bool is_over(const struct session *session)
{
	const struct leg *client = &session->client, *up = &session->up->leg;

	return client->is_eof && up->is_eof && !leg_is_blocked(client) && !leg_is_blocked(up) &&
	       !session->in.len;
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
		leg_want_read(source, source != &session->client || !session->in.len);
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
	} else if (!session->in.len) {
		leg_want_read(&session->client, !leg_is_blocked(up));
		tunnel_on_client(session);
	} else if (send_input(session) < 0) {
		session_abort(session, POLICY_RESET);
	}
}
