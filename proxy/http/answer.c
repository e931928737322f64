#include "proxy/http/answer.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "proxy/admit.h"
#include "proxy/relay/closing.h"
#include "proxy/http/exchange.h"
#include "proxy/relay/meter.h"
#include "proxy/http/rewrite.h"
#include "proxy/connection.h"
#include "proxy/relay/tunnel.h"

#define INTERIM_MAX 16 /* 1xx responses before the final one */

/* The response body is malformed. As long as the final head has not been sent, the client gets a
 * response of ours. */
static void refuse_body(struct connection *connection, bool is_head_here)
{
	if (!is_head_here) {
		connection_abort(connection, POLICY_UPSTREAM_MALFORMED);
		return;
	}
	connection->exchange->has_head = false;
	admit_refuse(connection, POLICY_UPSTREAM_MALFORMED,
		     "the response body has malformed chunks");
}

/* The response is complete: reports, then keeps or closes each side. */
static void finish(struct connection *connection)
{
	struct exchange *exchange = connection->exchange;
	bool keeps_client = exchange->keeps_client && exchange->up.is_done;
	bool keeps_upstream = exchange->keeps_upstream && exchange->up.is_done &&
			      !exchange->is_upload_cut && !exchange->held.len &&
			      !leg_is_blocked(&connection->up->leg);
	int64_t now = loop_now_ms(connection->proxy->loop);

	if (connection->is_fixed && !keeps_upstream)
		keeps_client = false;
	if (!connection->is_fixed || !keeps_client)
		request_report(connection->request, connection->proxy->client, POLICY_DONE, false,
			       NULL, now);
	if (keeps_upstream) {
		connection->up->idle_since_ms = now;
		connection->up->is_reused = true;
	} else {
		connection_drop_upstream(connection);
	}
	if (keeps_client) {
		connection_next(connection);
		return;
	}
	connection_park_upstream(connection);
	closing_finish(connection);
}

static void send_body(struct connection *connection, struct buffer *head, char *bytes, size_t len)
{
	struct exchange *exchange = connection->exchange;
	struct iovec parts[1 + BODY_PARTS];
	size_t used = 0;
	int count = 0, first = 0;

	if (head->len)
		parts[first++] = (struct iovec){ buffer_at(head), head->len };
	if (exchange->has_head &&
	    body_feed(&exchange->down, bytes, len, &used, parts + first, &count) < 0) {
		refuse_body(connection, head->len > 0);
		return;
	}
	if (first + count && leg_write(&connection->client, parts, first + count) < 0) {
		connection_close(connection, POLICY_CLIENT_CLOSED);
		return;
	}
	if (exchange->has_head && exchange->down.is_done) {
		if (used < len)
			exchange->keeps_upstream = false; /* bytes behind the response */
		finish(connection);
		return;
	}
	if (leg_is_blocked(&connection->client)) {
		leg_want_read(&connection->up->leg, false);
		leg_slow_down(&connection->up->leg);
	}
}

/* How the response body is framed for this client (RFC 9112 §6): by length if the server did so,
 * else chunked, else until close. */
static int take_final(struct connection *connection, const struct http1_head *head,
		      struct buffer *out)
{
	struct exchange *exchange = connection->exchange;
	bool is_http10 = connection->style.is_http10;
	struct rewrite_framing framing = { .out = head->body, .length = head->length };

	if (head->body == HTTP1_CHUNKED || head->body == HTTP1_UNTIL_CLOSE)
		framing.out = is_http10 ? HTTP1_UNTIL_CLOSE : HTTP1_CHUNKED;
	exchange->keeps_upstream = head->keep_alive && head->body != HTTP1_UNTIL_CLOSE;
	/* A response before the end of the request: keeping the connection would mean reading the
	 * rest of the request. */
	exchange->keeps_client = connection->style.keeps_alive && exchange->up.is_done &&
				 framing.out != HTTP1_UNTIL_CLOSE &&
				 (exchange->keeps_upstream || !connection->is_fixed);
	framing.connection = exchange->keeps_client ? REWRITE_KEEP : REWRITE_CLOSE;
	body_init(&exchange->down, head->body, head->length, framing.out == HTTP1_CHUNKED);
	exchange->has_head = rewrite_response(head, &framing, out) == 0;
	return exchange->has_head ? 0 : -E2BIG;
}

/* 101: the rest is a tunnel under the same verdict. */
static void take_upgrade(struct connection *connection, struct buffer *out, const char *rest,
			 size_t len)
{
	struct iovec parts[2] = { { buffer_at(out), out->len }, { (void *)rest, len } };

	if (leg_write(&connection->client, parts, 2) < 0) {
		connection_close(connection, POLICY_CLIENT_CLOSED);
		return;
	}
	exchange_free(take(connection->exchange));
	tunnel_carry(connection);
}

static int take_interim(struct connection *connection, const struct http1_head *head,
			struct buffer *out)
{
	struct rewrite_framing framing = { .out = HTTP1_NO_BODY };
	struct exchange *exchange = connection->exchange;

	if (++exchange->interim_count > INTERIM_MAX)
		return -EBADMSG;
	if (head->status == 101 && !(exchange->wants_websocket && exchange->up.is_done))
		return -EBADMSG; /* an unrequested upgrade, or one in the middle of the request */
	if (head->status == 101)
		framing.connection = REWRITE_UPGRADE;
	else if (connection->style.is_http10)
		return 0; /* RFC 9110 §15.2: HTTP/1.0 clients get no 1xx */
	return rewrite_response(head, &framing, out);
}

/* 407 is for us: the command has no login for an upstream proxy, and must not be asked for one. */
static void refuse_login(struct connection *connection)
{
	const struct policy_upstream *upstream = connection->up->proxy;
	char text[POLICY_UPSTREAM_TEXT_MAX];
	auto_free char *cause =
		mem_printf("%s answered 407; %s", policy_upstream_text(upstream, text),
			   upstream->has_login ? "the login is wrong" : "it needs a login");

	admit_refuse(connection, POLICY_PROXY_REFUSED, cause);
}

/* Parses heads at the start of @bytes: interim ones, then the final one. 0: the final one is done;
 * 101: an upgrade; -EAGAIN: incomplete; -EACCES: an upstream proxy wants a login; or another
 * -errno with @cause. */
static int take_heads(struct connection *connection, const char *bytes, size_t len,
		      size_t *ret_used, struct buffer *out, const char **ret_cause)
{
	static const char get[] = "GET", head_method[] = "HEAD";
	struct exchange *exchange = connection->exchange;
	struct http1_span method = exchange->is_head_request ? (struct http1_span){ head_method, 4 }
							     : (struct http1_span){ get, 3 };

	while (!exchange->has_head) {
		struct http1_head head;
		int r = http1_parse_response(bytes + *ret_used, len - *ret_used, &exchange->scanned,
					     method, &head, ret_cause);

		if (r < 0)
			return r;
		if (connection->up->proxy && head.status == 407)
			return -EACCES;
		exchange->scanned = 0;
		*ret_used += head.bytes;
		r = head.status < 200 ? take_interim(connection, &head, out)
				      : take_final(connection, &head, out);
		if (r < 0)
			return r;
		if (head.status == 101)
			return 101;
	}
	return 0;
}

/* Without this check, a server that speaks first, in another protocol, would keep us waiting until
 * the deadline. */
static bool may_be_answer(const char *bytes, size_t len)
{
	static const char begin[] = { 'H', 'T', 'T', 'P', '/' };

	return !memcmp(bytes, begin, len < sizeof(begin) ? len : sizeof(begin));
}

static void take_bytes(struct connection *connection, char *bytes, size_t len)
{
	struct exchange *exchange = connection->exchange;
	struct buffer head = { 0 };
	const char *cause = NULL;
	size_t used = 0;
	int r = take_heads(connection, bytes, len, &used, &head, &cause);

	if (r == -EAGAIN && !may_be_answer(bytes + used, len - used)) {
		admit_refuse(connection, POLICY_UPSTREAM_MALFORMED,
			     "the response does not begin like HTTP");
	} else if (r == -EAGAIN) {
		struct buffer rest = { 0 };

		/* The parser returns -E2BIG before this fails. */
		(void)buffer_append(&rest, bytes + used, len - used, LIMITS_OUTPUT_BYTES);
		buffer_clear(&exchange->answer);
		exchange->answer = rest;
		send_body(connection, &head, NULL, 0);
	} else if (r == 101) {
		take_upgrade(connection, &head, bytes + used, len - used);
	} else if (r == -EACCES) {
		refuse_login(connection);
	} else if (r < 0) {
		admit_refuse(connection, POLICY_UPSTREAM_MALFORMED,
			     cause ? cause
				   : "the response head is too large, or an upgrade that was not "
				     "requested");
	} else {
		send_body(connection, &head, bytes + used, len - used);
	}
	buffer_clear(&head);
}

/* The server closed or reset the connection. */
static void upstream_ended(struct connection *connection, bool is_clean)
{
	struct exchange *exchange = connection->exchange;
	struct iovec parts[BODY_PARTS];
	int count = 0;

	if (!exchange->has_answer && exchange->is_idempotent && connection->up->is_reused &&
	    connection->up->key && !exchange->has_retried) {
		/* It closed an idle connection just as we reused it: retry once on a new one (RFC
		 * 9110 §9.2.2). */
		exchange->has_retried = true;
		connection_drop_upstream(connection);
		admit_dial(connection);
		return;
	}
	if (!exchange->has_head) {
		admit_refuse(connection, POLICY_UPSTREAM_CLOSED,
			     is_clean ? NULL : "the connection was reset");
		return;
	}
	if (!is_clean || body_end(&exchange->down, parts, &count) < 0) {
		connection_abort(connection, POLICY_UPSTREAM_CLOSED);
		return;
	}
	if (count && leg_write(&connection->client, parts, count) < 0)
		connection_close(connection, POLICY_CLIENT_CLOSED);
	else
		finish(connection);
}

void answer_on_upstream(struct connection *connection)
{
	struct leg *up = &connection->up->leg;
	struct exchange *exchange = connection->exchange;
	char *bytes = connection->proxy->shared.bytes;
	struct buffer whole;
	ssize_t got;

	if (!up->wants_read) {
		leg_stop_reading(up);
		return;
	}
	got = leg_read_room(up, bytes, leg_read_size(up),
			    meter_room(connection->meter, GATEWAY_DOWN));
	if (got == -EAGAIN)
		return;
	if (got == -EDQUOT) {
		leg_want_read(up, false);
		leg_stop_reading(up);
		meter_need(connection->meter, GATEWAY_DOWN);
		return;
	}
	if (got <= 0) {
		upstream_ended(connection, got == 0);
		return;
	}
	connection_set_deadline(connection, LIMITS_EXCHANGE_MS);
	exchange->has_answer = true;
	connection->request->bytes_down += (uint64_t)got;
	meter_moved(connection->meter);
	if (exchange->has_head) {
		send_body(connection, &(struct buffer){ 0 }, bytes, (size_t)got);
		return;
	}
	if (!exchange->answer.len) {
		take_bytes(connection, bytes, (size_t)got);
		return;
	}
	/* The beginning of a head is stored: join both parts, and take the buffer, because the
	 * exchange may end in this call. */
	whole = exchange->answer;
	exchange->answer = (struct buffer){ 0 };
	(void)buffer_append(&whole, bytes, (size_t)got, LIMITS_OUTPUT_BYTES);
	take_bytes(connection, buffer_at(&whole), whole.len);
	buffer_clear(&whole);
}

/* Moves bytes at once: unused room may be recalled for another connection. */
void answer_on_lease(struct connection *connection)
{
	leg_want_read(&connection->up->leg, !leg_is_blocked(&connection->client));
	answer_on_upstream(connection);
}
