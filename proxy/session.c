#include "proxy/session.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/gateway.h"
#include "proxy/admit.h"
#include "proxy/answer.h"
#include "proxy/closing.h"
#include "proxy/dial.h"
#include "proxy/exchange.h"
#include "proxy/fronts/front_impl.h"
#include "proxy/guard.h"
#include "proxy/tunnel.h"

#define TO(name) BIT(SESSION_##name)

/* from → the states it may go to. Every state but CLOSED may close. */
static const unsigned int may_enter[] = {
	[SESSION_HEAD] =
		TO(HEAD) | TO(DECIDING) | TO(EXCHANGE) | TO(DRAIN) | TO(LINGER) | TO(CLOSED),
	[SESSION_DECIDING] =
		TO(HEAD) | TO(DIALLING) | TO(EXCHANGE) | TO(DRAIN) | TO(LINGER) | TO(CLOSED),
	[SESSION_DIALLING] = TO(HEAD) | TO(HELLO) | TO(EXCHANGE) | TO(TUNNEL) | TO(DRAIN) |
			     TO(LINGER) | TO(CLOSED),
	[SESSION_HELLO] = TO(TUNNEL) | TO(LINGER) | TO(CLOSED),
	[SESSION_EXCHANGE] =
		TO(HEAD) | TO(DIALLING) | TO(TUNNEL) | TO(DRAIN) | TO(LINGER) | TO(CLOSED),
	[SESSION_TUNNEL] = TO(LINGER) | TO(CLOSED),
	[SESSION_DRAIN] = TO(HEAD) | TO(LINGER) | TO(CLOSED),
	[SESSION_LINGER] = TO(CLOSED),
	[SESSION_CLOSED] = 0,
};

static const char *const state_names[] = {
#define X(name) [SESSION_##name] = #name,
	SESSION_STATES(X)
#undef X
};

void session_enter(struct session *session, enum session_state next)
{
	assert(may_enter[session->state] & BIT(next));
	log_debug("session=%llu %s -> %s", (unsigned long long)session->id,
		  state_names[session->state], state_names[next]);
	session->state = next;
}

void session_free(struct session *session)
{
	assert(session->state == SESSION_CLOSED);
	loop_timer_stop(&session->timer);
	LIST_REMOVE(session, link);
	free(session);
}

static void on_closed(void *arg)
{
	session_free(arg);
}

void session_end_request(struct session *session)
{
	exchange_free(take(session->exchange));
	request_free(take(session->request));
}

static void session_end(struct session *session, enum policy_reason reason)
{
	struct proxy *proxy = session->proxy;
	/* Nothing was carried yet: to the record it is a denial. */
	bool is_refused = session->state == SESSION_DECIDING || session->state == SESSION_DIALLING;

	session_enter(session, SESSION_CLOSED);
	gateway_withdraw(take(session->ticket));
	dial_withdraw(take(session->dial));
	if (session->request)
		request_report(session->request, proxy->client, reason, is_refused, NULL,
			       loop_now_ms(proxy->loop));
	session_end_request(session);
	session_drop_upstream(session);
	free(take(session->guard));
	leg_close(&session->client);
	buffer_clear(&session->in);
	LIST_REMOVE(session, link);
	session->way->session_count--;
	session->way = NULL;
	LIST_INSERT_HEAD(&proxy->closed, session, link);
	loop_defer(proxy->loop, &session->timer, on_closed, session);
}

void session_close(struct session *session, enum policy_reason reason)
{
	if (session->state == SESSION_CLOSED)
		return;
	/* Between two requests the upstream leg is somebody else's next one. */
	if (session->state == SESSION_HEAD && !session->is_fixed)
		session_park_upstream(session);
	session_end(session, reason);
}

void session_abort(struct session *session, enum policy_reason reason)
{
	if (session->state == SESSION_CLOSED)
		return;
	leg_abort(&session->client);
	if (session->up)
		leg_abort(&session->up->leg);
	session_end(session, reason);
}

/* While the front makes something of what is in @in. */
static void advance(struct session *session)
{
	int r = 0;

	if (session->is_advancing)
		return;
	session->is_advancing = true;
	while (r == 0 && session->state == SESSION_HEAD && session->in.len &&
	       !leg_is_blocked(&session->client))
		r = session->front->on_input(session);
	session->is_advancing = false;
	if (session->state != SESSION_HEAD)
		return;
	if (session->client.is_eof && !leg_is_blocked(&session->client))
		session_close(session, POLICY_CLIENT_CLOSED);
	else
		leg_want_read(&session->client, !leg_is_blocked(&session->client));
}

/* The read event is for what is wanted; unwanted, it tells that the client left or has more than we
 * take now. */
static void head_on_client(struct session *session)
{
	ssize_t got;

	if (!session->client.wants_read) {
		leg_stop_reading(&session->client);
		return;
	}
	got = session_fill(session);
	if (got == -EAGAIN)
		return;
	if (got < 0) {
		session_close(session, POLICY_RESET);
		return;
	}
	if (got && !session->is_head_begun) {
		session->is_head_begun = true;
		session_set_deadline(session, LIMITS_HEAD_MS);
	}
	advance(session);
}

static void head_on_deadline(struct session *session)
{
	if (session->in.len && !leg_is_blocked(&session->client))
		admit_refuse(session, POLICY_CLIENT_TIMEOUT, "the head did not arrive in time");
	else
		session_close(session, POLICY_IDLE);
}

/* Nothing is under way on it: an end, or bytes nobody asked for. */
static void idle_on_upstream(struct session *session)
{
	if (session->is_fixed && session->state == SESSION_HEAD)
		session_close(session, POLICY_SERVER_CLOSED);
	else
		session_drop_upstream(session);
}

static void nothing(struct session *session)
{
}

struct session_handlers {
	void (*on_client)(struct session *session);
	void (*on_client_drained)(struct session *session);
	void (*on_upstream)(struct session *session);
	void (*on_upstream_drained)(struct session *session);
	void (*on_deadline)(struct session *session);
};

static const struct session_handlers handlers[] = {
	[SESSION_HEAD] = { head_on_client, advance, idle_on_upstream, nothing, head_on_deadline },
	[SESSION_DECIDING] = { admit_on_client, nothing, idle_on_upstream, nothing,
			       admit_on_deadline },
	[SESSION_DIALLING] = { admit_on_client, nothing, idle_on_upstream, nothing,
			       admit_on_deadline },
	[SESSION_HELLO] = { guard_on_hello, nothing, nothing, nothing, guard_on_hello_deadline },
	[SESSION_EXCHANGE] = { exchange_on_client, exchange_on_client_drained, answer_on_upstream,
			       exchange_on_upstream_drained, exchange_on_deadline },
	[SESSION_TUNNEL] = { tunnel_on_client, tunnel_on_client_drained, tunnel_on_upstream,
			     tunnel_on_upstream_drained, closing_on_deadline },
	[SESSION_DRAIN] = { closing_on_client, nothing, nothing, nothing, closing_on_deadline },
	[SESSION_LINGER] = { closing_on_client, closing_on_client_drained, nothing, nothing,
			     closing_on_deadline },
	[SESSION_CLOSED] = { nothing, nothing, nothing, nothing, nothing },
};

/* The peer took some of what waits: it is alive, however slow. */
static void touch(struct session *session)
{
	if (session->state == SESSION_TUNNEL)
		session_set_deadline(session, LIMITS_TUNNEL_MS);
	else if (session->state == SESSION_EXCHANGE)
		session_set_deadline(session, LIMITS_EXCHANGE_MS);
}

static void client_writable(struct session *session)
{
	int r = leg_flush(&session->client);

	touch(session);
	if (r == 0)
		handlers[session->state].on_client_drained(session);
	else if (r != -EAGAIN)
		session_abort(session, POLICY_RESET);
}

static void upstream_writable(struct session *session)
{
	int r = leg_flush(&session->up->leg);

	touch(session);
	if (r == 0)
		handlers[session->state].on_upstream_drained(session);
	else if (r != -EAGAIN && session->state == SESSION_EXCHANGE)
		exchange_on_upload_cut(session);
	else if (r != -EAGAIN)
		session_abort(session, POLICY_RESET);
}

static void on_client(evutil_socket_t fd, short what, void *arg)
{
	struct session *session = arg;

	if (what & EV_WRITE)
		client_writable(session);
	if (what & EV_READ && leg_is_open(&session->client))
		handlers[session->state].on_client(session);
}

static void on_upstream(evutil_socket_t fd, short what, void *arg)
{
	struct session *session = arg;
	const struct upstream *up = session->up;

	if (what & EV_WRITE)
		upstream_writable(session);
	if (what & EV_READ && session->up == up && session->state != SESSION_CLOSED)
		handlers[session->state].on_upstream(session);
}

static void on_timer(void *arg)
{
	struct session *session = arg;
	int64_t left = session->due_ms - loop_now_ms(session->proxy->loop);

	if (left > 0)
		loop_timer_start(session->proxy->loop, &session->timer, left, on_timer, session);
	else
		handlers[session->state].on_deadline(session);
}

/* Moving a deadline is an assignment: the timer is set again only when it would come too late. */
void session_set_deadline(struct session *session, int64_t ms)
{
	struct loop *loop = session->proxy->loop;

	session->due_ms = loop_now_ms(loop) + ms;
	if (!session->timer.is_armed || session->timer.due_ms > session->due_ms)
		loop_timer_start(loop, &session->timer, ms, on_timer, session);
}

void session_open(struct way *way, const struct front *front, int fd, uint16_t peer_port)
{
	struct session *session = mem_new(sizeof(*session));
	struct proxy *proxy = way->proxy;

	session->proxy = proxy;
	session->way = way;
	session->front = front;
	session->peer_port = peer_port;
	session->id = ++proxy->session_count;
	LIST_INSERT_HEAD(&way->sessions, session, link);
	way->session_count++;
	leg_init(&session->client, &proxy->shared);
	leg_open(&session->client, fd, on_client, session);
	leg_want_read(&session->client, true);
	session_set_deadline(session, LIMITS_HEAD_MS);
}

ssize_t session_fill(struct session *session)
{
	size_t room = LIMITS_INPUT_BYTES - session->in.len;
	size_t size = leg_read_size(&session->client);
	char *bytes = session->proxy->shared.bytes;
	ssize_t got;

	if (!room) {
		leg_want_read(&session->client, false);
		leg_stop_reading(&session->client);
		return -EAGAIN;
	}
	got = leg_read(&session->client, bytes, size < room ? size : room);
	if (got > 0)
		(void)buffer_append(&session->in, bytes, (size_t)got, LIMITS_INPUT_BYTES);
	return got;
}

void session_next(struct session *session)
{
	if (!session->is_fixed)
		request_free(take(session->request));
	exchange_free(take(session->exchange));
	session->scanned = 0;
	session->is_head_begun = session->in.len > 0;
	session_enter(session, SESSION_HEAD);
	session_set_deadline(session,
			     session->is_head_begun ? LIMITS_HEAD_MS : LIMITS_KEEP_ALIVE_MS);
	advance(session);
}

void session_open_upstream(struct session *session, int fd, const struct addr *addr,
			   const struct pool_key *key)
{
	struct upstream *up = mem_new(sizeof(*up));

	assert(!session->up);
	up->addr = *addr;
	if (key) {
		up->key = mem_new(sizeof(*up->key));
		*up->key = *key;
	}
	leg_init(&up->leg, &session->proxy->shared);
	leg_open(&up->leg, fd, on_upstream, session);
	session->up = up;
}

void session_drop_upstream(struct session *session)
{
	struct upstream *up = take(session->up);

	if (!up)
		return;
	leg_close(&up->leg);
	free(up->key);
	free(up);
}

void session_park_upstream(struct session *session)
{
	struct upstream *up = session->up;

	if (up && up->key && up->is_reused && leg_is_open(&up->leg) && !up->leg.is_eof &&
	    !leg_is_blocked(&up->leg))
		pool_put(session->proxy->pool, up->key, &up->addr, leg_take_fd(&up->leg));
	session_drop_upstream(session);
}
