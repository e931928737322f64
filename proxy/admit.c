#include "proxy/admit.h"

#include <assert.h>
#include <stdio.h>

#include "base/fd.h"
#include "base/mem.h"
#include "gateway/gateway.h"
#include "policies/policies_upstream.h"
#include "proxy/upstream/dial.h"
#include "proxy/http/exchange.h"
#include "proxy/fronts/front_impl.h"
#include "proxy/relay/meter.h"
#include "proxy/config.h"
#include "proxy/connection.h"
#include "proxy/service.h"

static int64_t now_ms(const struct connection *connection)
{
	return loop_now_ms(connection->proxy->loop);
}

void admit_begin(struct connection *connection, const struct policy_facts *facts)
{
	assert(!connection->request);
	connection->request = request_new(facts, now_ms(connection));
	connection->request->facts.peer_port = connection->peer_port;
	connection->request->facts.reached = connection->reached;
	service_get_peer(connection, &connection->request->facts.peer);
}

/* Adds the refusal to the exec's own list and, unless the gateway made the decision itself, reports
 * it. */
static void record(struct connection *connection, const struct refusal *refusal, bool reports)
{
	struct proxy *proxy = connection->proxy;

	if (connection->request->facts.way != POLICY_WAY_PUBLISHED)
		denials_add(&connection->way->denials, refusal, loop_wall_us(proxy->loop));
	if (reports)
		request_report(connection->request, proxy->client, refusal->reason, true,
			       refusal->cause, now_ms(connection));
}

static void refuse(struct connection *connection, enum policy_reason reason, const char *cause,
		   bool reports, bool tells)
{
	struct policy_verdict verdict;
	struct refusal refusal = { .reason = reason,
				   .verdict = &verdict,
				   .cause = cause,
				   .is_unasked = connection->proxy->config->asks_nobody };
	struct request *request;

	if (!connection->request)
		admit_begin(connection, &(struct policy_facts){ .exec = connection->way->exec,
								.way = connection->front->way });
	/* @refusal points into the request, and the handler may start the next one: free it at the
	 * end. */
	request = connection->request;
	request_get_verdict(request, &verdict);
	refusal.dst = &request->facts.dst;
	record(connection, &refusal, reports);
	connection->request = NULL;
	meter_free(take(connection->meter));
	if (tells)
		connection->front->on_refused(connection, &refusal);
	request_free(request);
}

void admit_refuse(struct connection *connection, enum policy_reason reason, const char *cause)
{
	refuse(connection, reason, cause, true, true);
}

void admit_record(struct connection *connection, enum policy_reason reason, const char *cause)
{
	refuse(connection, reason, cause, true, false);
}

/* The upstream proxy through which the request is sent, or NULL. Borrowed. */
static const struct policy_upstream *upstream_of(const struct connection *connection)
{
	const struct request *request = connection->request;

	if (request->reason == POLICY_INSIDE)
		return NULL;
	return dialer_upstream(connection->proxy->dialer, &request->facts.dst);
}

/* Is the connection more than HTTP requests, so that an upstream proxy must make a tunnel? */
static bool is_tunnel(const struct connection *connection)
{
	return !connection_is_http(connection) || connection->exchange->wants_websocket;
}

/* That takes the request in absolute form; NULL: none. */
static const struct policy_upstream *absolute_of(const struct connection *connection)
{
	const struct policy_upstream *upstream = upstream_of(connection);

	return upstream && upstream->kind == POLICY_UPSTREAM_HTTP && !is_tunnel(connection)
		       ? upstream
		       : NULL;
}

static struct pool_key key_of(const struct connection *connection)
{
	const struct request *request = connection->request;

	return (struct pool_key){ .exec = request->facts.exec,
				  .dst = request->facts.dst,
				  .promise = request->promise,
				  .is_inside = request->reason == POLICY_INSIDE,
				  .is_tunnel = upstream_of(connection) && is_tunnel(connection) };
}

static void on_dialled(struct dial_result *result, void *arg)
{
	struct connection *connection = arg;
	struct request *request = connection->request;
	struct pool_key key;

	connection->dial = NULL;
	request->resolved = result->addr;
	request->dns_ms = result->dns_ms;
	request->dial_ms = result->dial_ms;
	if (result->fd < 0 || result->verdict.action != POLICY_ALLOW) {
		fd_close(result->fd);
		request_keep_verdict(request, &result->verdict);
		admit_refuse(connection, result->verdict.reason, result->cause);
		return;
	}
	key = key_of(connection);
	connection_open_upstream(connection, result->fd, &result->addr,
				 connection_is_http(connection) ? &key : NULL);
	connection->up->proxy = absolute_of(connection);
	connection->front->on_connected(connection);
}

/* Notes whether an upstream proxy resolves the name. */
static void note_upstream(const struct connection *connection)
{
	struct request *request = connection->request;

	request->is_resolved_upstream =
		request->facts.dst.addr.family == 0 && upstream_of(connection) != NULL;
}

void admit_dial(struct connection *connection)
{
	struct policy_verdict verdict;

	request_get_verdict(connection->request, &verdict);
	note_upstream(connection);
	connection_park_upstream(
		connection); /* an idle connection of the exchange before this CONNECT */
	connection_enter(connection, CONNECTION_DIALLING);
	connection_set_deadline(connection, LIMITS_WATCH_MS);
	connection->dial = dial_start(connection->proxy->dialer, connection->way->exec,
				      &connection->request->facts.dst, &verdict,
				      is_tunnel(connection), on_dialled, connection);
}

/* May the upstream leg of the last exchange serve this request: same destination, same promise, an
 * address that may still be used? An end of the connection is noticed by an event; a request that
 * cannot be sent twice checks once more. */
static bool keeps_upstream(const struct connection *connection, const struct pool_key *key,
			   const struct policy_verdict *verdict)
{
	const struct upstream *up = connection->up;

	return up && up->key && pool_key_equal(up->key, key) &&
	       now_ms(connection) - up->idle_since_ms < LIMITS_POOL_IDLE_MS &&
	       pool_may_reuse(connection->proxy->pool, key, verdict, &up->addr) &&
	       (connection->exchange->is_idempotent || pool_is_idle(up->leg.fd));
}

/* Uses an existing upstream leg for a request of the HTTP handler. */
static bool reuse_upstream(struct connection *connection, const struct policy_verdict *verdict)
{
	struct pool_key key = key_of(connection);
	struct addr addr;
	int fd;

	if (!keeps_upstream(connection, &key, verdict)) {
		connection_park_upstream(connection);
		fd = pool_take(connection->proxy->pool, &key, verdict, &addr);
		if (fd < 0)
			return false;
		connection_open_upstream(connection, fd, &addr, &key);
		connection->up->is_reused = true;
		connection->up->proxy = absolute_of(connection);
	}
	connection->request->resolved = connection->up->addr;
	note_upstream(connection);
	return true;
}

/* Can the protocol of this way in keep the promise? HTTP requests arrive in clear text, so they
 * cannot be TLS. A published port leads into the sandbox only, and carries any bytes. */
static bool can_keep(const struct connection *connection, const struct policy_verdict *verdict)
{
	enum policy_protocol promise = verdict->promise;

	if (connection->request->facts.way == POLICY_WAY_PUBLISHED)
		return promise == POLICY_TCP && verdict->reason == POLICY_INSIDE;
	if (connection->request->facts.carries == POLICY_UDP)
		return promise == POLICY_UDP;
	return promise == POLICY_HTTP || promise == POLICY_TCP ||
	       (promise == POLICY_HTTPS && !connection_is_http(connection));
}

/* The gateway says which protocol a tunnel was decided as; a narrower promise belongs to the
 * key. */
static void note_protocol(struct policy_facts *facts, enum policy_protocol promise)
{
	if (promise == POLICY_HTTP || promise == POLICY_HTTPS)
		facts->dst.protocol = facts->carries = promise;
}

static void on_verdict(const struct policy_verdict *verdict, void *arg)
{
	struct connection *connection = arg;

	if (verdict->action == POLICY_ALLOW)
		connection->request->ticket = connection->ticket;
	connection->ticket = NULL;
	request_keep_verdict(connection->request, verdict);
	note_protocol(&connection->request->facts, verdict->promise);
	if (verdict->action != POLICY_ALLOW) {
		refuse(connection, verdict->reason, NULL, false, true);
		return;
	}
	if (connection->request->plea) {
		connection->front->on_allowed_proposal(connection, verdict);
		return;
	}
	connection->meter = meter_new(connection->request, connection->proxy->loop, verdict,
				      admit_on_cut, connection);
	if (!can_keep(connection, verdict)) {
		admit_refuse(connection,
			     verdict->promise == POLICY_HTTPS ? POLICY_NOT_TLS
							      : POLICY_NOT_ENFORCED,
			     "the verdict allows a protocol that this request does not use");
		return;
	}
	if (connection_is_http(connection) && reuse_upstream(connection, verdict))
		connection->front->on_connected(connection);
	else
		admit_dial(connection);
}

void admit_submit(struct connection *connection, const struct policy_request *seen)
{
	struct policy_facts facts = connection->request->facts;

	facts.request = seen; /* cleared: it points into the head that was read */
	connection_enter(connection, CONNECTION_DECIDING);
	connection->is_half_closed = false;
	connection_set_deadline(connection, LIMITS_WATCH_MS);
	leg_want_read(&connection->client, false);
	connection->ticket =
		gateway_submit(connection->proxy->client, &facts, on_verdict, connection);
}

/* The record comes first, while the request still has the verdict that allowed it: the bytes were
 * moved under that verdict. */
static void cut(struct connection *connection, const struct policy_verdict *verdict,
		const char *cause)
{
	struct request *request = connection->request;
	bool is_dialling = connection->state == CONNECTION_DIALLING;
	bool can_say = is_dialling || (connection->state == CONNECTION_EXCHANGE &&
				       !connection->exchange->has_head);
	struct refusal refusal = { .reason = verdict->reason, .verdict = verdict };

	dial_withdraw(take(connection->dial));
	request_report(request, connection->proxy->client, verdict->reason, is_dialling, cause,
		       now_ms(connection));
	request_keep_verdict(request, verdict);
	if (can_say) {
		admit_refuse(connection, verdict->reason, NULL);
		return;
	}
	refusal.dst = &request->facts.dst;
	record(connection, &refusal, false);
	connection_abort(connection, verdict->reason);
}

void admit_on_cut(const struct policy_verdict *verdict, void *arg)
{
	cut(arg, verdict, NULL);
}

/* The gateway decides names; it does not know which address a name was reached at. */
void admit_review(struct connection *connection, const struct policy *policy)
{
	const struct request *request = connection->request;
	struct policy_verdict verdict;

	if (!request || !request->ticket || !connection->up || request->reason == POLICY_INSIDE ||
	    connection->up->addr.family == 0)
		return;
	request_get_verdict(request, &verdict);
	policy_decide_address(policy, &request->facts.dst, &verdict, &connection->up->addr,
			      &verdict);
	if (verdict.action == POLICY_ALLOW || verdict.reason != POLICY_RULE_DENY)
		return;
	verdict.reason = POLICY_DENIED_SINCE;
	cut(connection, &verdict, verdict.rule);
}

/* It sends nothing before the proxy has said that the tunnel is there. */
static bool has_handshake(const struct connection *connection)
{
	enum policy_way way = connection->request->facts.way;

	return !connection_is_http(connection) && way != POLICY_WAY_CAPTURED &&
	       way != POLICY_WAY_PUBLISHED;
}

/* A client that waits for a decision is not read from: what it sends waits in the kernel. It is
 * checked when its socket has an event and once a second.
 *
 * An end of its bytes looks the same for a client that gave up and for one that half-closes after a
 * complete HTTP request, which is legal. So a reset, or the end of a client that wanted a tunnel,
 * means that it left. The end of an HTTP client means that it left if the question is still open a
 * second later, so that a person is not kept busy with it; once there is a verdict, it gets its
 * response. The same holds for a captured client, which does not know that it waits. */
static void look(struct connection *connection)
{
	enum leg_peer peer = leg_peer(&connection->client);
	bool was_half_closed = connection->is_half_closed;

	connection_set_deadline(connection, LIMITS_WATCH_MS);
	connection->is_half_closed = peer == LEG_PEER_HALF_CLOSED;
	if (peer == LEG_PEER_HERE)
		return;
	if (peer == LEG_PEER_GONE || has_handshake(connection) ||
	    (was_half_closed && connection->state == CONNECTION_DECIDING))
		connection_close(connection, POLICY_CLIENT_LEFT);
}

void admit_on_client(struct connection *connection)
{
	leg_stop_reading(&connection->client);
	look(connection);
}

void admit_on_deadline(struct connection *connection)
{
	look(connection);
}
