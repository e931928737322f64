#include "proxy/admit.h"

#include <assert.h>
#include <stdio.h>

#include "base/fd.h"
#include "base/mem.h"
#include "gateway/gateway.h"
#include "proxy/dial.h"
#include "proxy/exchange.h"
#include "proxy/fronts/front_impl.h"
#include "proxy/meter.h"
#include "proxy/session.h"

static int64_t now_ms(const struct session *session)
{
	return loop_now_ms(session->proxy->loop);
}

void admit_begin(struct session *session, const struct policy_facts *facts)
{
	assert(!session->request);
	session->request = request_new(facts, now_ms(session));
	session->request->facts.peer_port = session->peer_port;
}

/* Into the exec's own list; and, where the gateway has not decided it itself, into a report. */
static void record(struct session *session, const struct refusal *refusal, bool reports)
{
	struct proxy *proxy = session->proxy;

	denials_add(&session->way->denials, refusal, loop_wall_us(proxy->loop));
	if (reports)
		request_report(session->request, proxy->client, refusal->reason, true,
			       refusal->cause, now_ms(session));
}

static void refuse(struct session *session, enum policy_reason reason, const char *cause,
		   bool reports, bool tells)
{
	struct policy_verdict verdict;
	struct refusal refusal = { .reason = reason, .verdict = &verdict, .cause = cause };
	struct request *request;

	if (!session->request)
		admit_begin(session, &(struct policy_facts){ .exec = session->way->exec,
							     .way = session->front->way });
	/* Kept beyond the request, which a front ends when it goes on to the next. */
	request = session->request;
	request_get_verdict(request, &verdict);
	refusal.dst = &request->facts.dst;
	record(session, &refusal, reports);
	session->request = NULL;
	if (tells)
		session->front->on_refused(session, &refusal);
	request_free(request);
}

void admit_refuse(struct session *session, enum policy_reason reason, const char *cause)
{
	refuse(session, reason, cause, true, true);
}

void admit_record(struct session *session, enum policy_reason reason, const char *cause)
{
	refuse(session, reason, cause, true, false);
}

static struct pool_key key_of(const struct request *request)
{
	return (struct pool_key){ .exec = request->facts.exec,
				  .dst = request->facts.dst,
				  .promise = request->promise,
				  .is_inside = request->reason == POLICY_INSIDE };
}

static bool is_http(const struct session *session)
{
	return session->request->facts.way == POLICY_WAY_HTTP;
}

static void on_dialled(struct dial_result *result, void *arg)
{
	struct session *session = arg;
	struct request *request = session->request;
	struct pool_key key;

	session->dial = NULL;
	request->resolved = result->addr;
	if (result->fd < 0 || result->verdict.action != POLICY_ALLOW) {
		fd_close(result->fd);
		request_keep_verdict(request, &result->verdict);
		admit_refuse(session, result->verdict.reason, result->cause);
		return;
	}
	key = key_of(request);
	session_open_upstream(session, result->fd, &result->addr, is_http(session) ? &key : NULL);
	session->front->on_connected(session);
}

void admit_dial(struct session *session)
{
	struct policy_verdict verdict;

	request_get_verdict(session->request, &verdict);
	session_park_upstream(session); /* of an exchange before this CONNECT */
	session_enter(session, SESSION_DIALLING);
	session_set_deadline(session, LIMITS_WATCH_MS);
	session->dial = dial_start(session->proxy->dialer, session->way->exec,
				   &session->request->facts.dst, &verdict, on_dialled, session);
}

/* The leg kept from the last exchange is the right one for this: same destination, same promise, an
 * address that may still be used. Its end would be noticed by itself; what cannot be sent again
 * looks once more. */
static bool keeps_upstream(const struct session *session, const struct pool_key *key,
			   const struct policy_verdict *verdict)
{
	const struct upstream *up = session->up;

	return up && up->key && pool_key_equal(up->key, key) &&
	       now_ms(session) - up->idle_since_ms < LIMITS_POOL_IDLE_MS &&
	       pool_may_reuse(session->proxy->pool, key, verdict, &up->addr) &&
	       (session->exchange->is_idempotent || pool_is_idle(up->leg.fd));
}

/* An upstream leg that stands already, for a request of the HTTP front. */
static bool reuse_upstream(struct session *session, const struct policy_verdict *verdict)
{
	struct pool_key key = key_of(session->request);
	struct addr addr;
	int fd;

	if (!keeps_upstream(session, &key, verdict)) {
		session_park_upstream(session);
		fd = pool_take(session->proxy->pool, &key, verdict, &addr);
		if (fd < 0)
			return false;
		session_open_upstream(session, fd, &addr, &key);
		session->up->is_reused = true;
	}
	session->request->resolved = session->up->addr;
	return true;
}

/* Can the bytes of this way in be held to what was promised? The HTTP front sends requests in
 * clear, so it cannot be TLS. */
static bool can_keep(const struct session *session, enum policy_protocol promise)
{
	return promise == POLICY_HTTP || promise == POLICY_TCP ||
	       (promise == POLICY_HTTPS && !is_http(session));
}

/* Which protocol a tunnel is decided as, the gateway says: a narrower promise is the key's. */
static void note_protocol(struct policy_facts *facts, enum policy_protocol promise)
{
	if (promise == POLICY_HTTP || promise == POLICY_HTTPS)
		facts->dst.protocol = facts->carries = promise;
}

static void on_verdict(const struct policy_verdict *verdict, void *arg)
{
	struct session *session = arg;

	if (verdict->action == POLICY_ALLOW)
		session->request->ticket = session->ticket;
	session->ticket = NULL;
	request_keep_verdict(session->request, verdict);
	note_protocol(&session->request->facts, verdict->promise);
	if (verdict->action != POLICY_ALLOW) {
		refuse(session, verdict->reason, NULL, false, true);
		return;
	}
	if (session->request->plea) {
		session->front->on_allowed_proposal(session, verdict);
		return;
	}
	meter_begin(session, verdict);
	if (!can_keep(session, verdict->promise)) {
		admit_refuse(session,
			     verdict->promise == POLICY_HTTPS ? POLICY_NOT_TLS
							      : POLICY_NOT_ENFORCED,
			     "what was allowed is not what this request can be held to");
		return;
	}
	if (is_http(session) && reuse_upstream(session, verdict))
		session->front->on_connected(session);
	else
		admit_dial(session);
}

void admit_submit(struct session *session, const struct policy_request *seen)
{
	struct policy_facts facts = session->request->facts;

	facts.request = seen; /* not kept: it lies in the head that was read */
	session_enter(session, SESSION_DECIDING);
	session->is_half_closed = false;
	session_set_deadline(session, LIMITS_WATCH_MS);
	leg_want_read(&session->client, false);
	session->ticket = gateway_submit(session->proxy->client, &facts, on_verdict, session);
}

/* The record first, while the request still has the verdict it was allowed by: what it moved was
 * under that. */
static void cut(struct session *session, const struct policy_verdict *verdict, const char *cause)
{
	struct request *request = session->request;
	bool is_dialling = session->state == SESSION_DIALLING;
	bool can_say =
		is_dialling || (session->state == SESSION_EXCHANGE && !session->exchange->has_head);
	struct refusal refusal = { .reason = verdict->reason, .verdict = verdict };

	dial_withdraw(take(session->dial));
	request_report(request, session->proxy->client, verdict->reason, is_dialling, cause,
		       now_ms(session));
	request_keep_verdict(request, verdict);
	if (can_say) {
		admit_refuse(session, verdict->reason, NULL);
		return;
	}
	refusal.dst = &request->facts.dst;
	record(session, &refusal, false);
	session_abort(session, verdict->reason);
}

void admit_on_cut(const struct policy_verdict *verdict, void *arg)
{
	cut(arg, verdict, NULL);
}

/* The gateway looks at names; by which address a name is reached, it does not know. */
void admit_review(struct session *session, const struct policy *policy)
{
	const struct request *request = session->request;
	struct policy_verdict verdict;

	if (!request || !request->ticket || !session->up || request->reason == POLICY_INSIDE)
		return;
	request_get_verdict(request, &verdict);
	policy_decide_address(policy, &request->facts.dst, &verdict, &session->up->addr, &verdict);
	if (verdict.action == POLICY_ALLOW || verdict.reason != POLICY_RULE_DENY)
		return;
	verdict.reason = POLICY_DENIED_SINCE;
	cut(session, &verdict, verdict.rule);
}

/* A held client is not read from: what it sends waits in the kernel. It is looked at when its
 * socket stirs and once a second.
 *
 * An end of its bytes is all that is seen of a client that gave up, and also of one that
 * half-closes after a whole HTTP request, which is legal. So: reset, or the end of a client that
 * wanted a tunnel: it left. The end of an HTTP client: it left when the question is still open a
 * second later, for a person must not be kept busy for nobody; when the verdict is there, it gets
 * its answer. */
static void look(struct session *session)
{
	enum leg_peer peer = leg_peer(&session->client);
	bool was_half_closed = session->is_half_closed;

	session_set_deadline(session, LIMITS_WATCH_MS);
	session->is_half_closed = peer == LEG_PEER_HALF_CLOSED;
	if (peer == LEG_PEER_HERE)
		return;
	if (peer == LEG_PEER_GONE || !is_http(session) ||
	    (was_half_closed && session->state == SESSION_DECIDING))
		session_close(session, POLICY_CLIENT_LEFT);
}

void admit_on_client(struct session *session)
{
	leg_stop_reading(&session->client);
	look(session);
}

void admit_on_deadline(struct session *session)
{
	look(session);
}
