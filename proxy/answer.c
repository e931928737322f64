#include "proxy/answer.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "proxy/admit.h"
#include "proxy/exchange.h"
#include "proxy/meter.h"
#include "proxy/rewrite.h"
#include "proxy/session.h"
#include "proxy/tunnel.h"

#define INTERIM_MAX 16 /* 1xx answers before the final one */

static void send_body(struct session *session, struct buffer *head, char *bytes, size_t len)
{
	struct exchange *exchange = session->exchange;
	struct iovec parts[1 + BODY_PARTS];
	size_t used = 0;
	int count = 0, first = 0;

	if (head->len)
		parts[first++] = (struct iovec){ buffer_at(head), head->len };
	if (exchange->has_head &&
	    body_feed(&exchange->down, bytes, len, &used, parts + first, &count) < 0) {
		session_abort(session, POLICY_UPSTREAM_MALFORMED);
		return;
	}
	if (first + count && leg_write(&session->client, parts, first + count) < 0) {
		session_close(session, POLICY_CLIENT_CLOSED);
		return;
	}
	if (exchange->has_head && exchange->down.is_done) {
		if (used < len)
			exchange->keeps_upstream = false; /* bytes that answer nothing */
		exchange_finish(session);
		return;
	}
	if (leg_is_blocked(&session->client)) {
		leg_want_read(&session->up->leg, false);
		leg_slow_down(&session->up->leg);
	}
}

/* How the answer's body will go to this client (RFC 9112 §6): counted as it came, else chunked,
 * else until we close. */
static int take_final(struct session *session, const struct http1_head *head, struct buffer *out)
{
	struct exchange *exchange = session->exchange;
	bool is_http10 = session->style.is_http10;
	struct rewrite_framing framing = { .out = head->body, .length = head->length };

	if (head->body == HTTP1_CHUNKED || head->body == HTTP1_UNTIL_CLOSE)
		framing.out = is_http10 ? HTTP1_UNTIL_CLOSE : HTTP1_CHUNKED;
	exchange->keeps_upstream = head->keep_alive && head->body != HTTP1_UNTIL_CLOSE;
	/* An answer before the end of the request: what the client still sends would have to be
	 * read to its end first. */
	exchange->keeps_client = session->style.keeps_alive && exchange->up.is_done &&
				 framing.out != HTTP1_UNTIL_CLOSE &&
				 (exchange->keeps_upstream || !session->is_fixed);
	framing.connection = exchange->keeps_client ? REWRITE_KEEP : REWRITE_CLOSE;
	body_init(&exchange->down, head->body, head->length, framing.out == HTTP1_CHUNKED);
	exchange->has_head = rewrite_response(head, &framing, out) == 0;
	return exchange->has_head ? 0 : -E2BIG;
}

/* 101: the rest is a tunnel under the same verdict. */
static void take_upgrade(struct session *session, struct buffer *out, const char *rest, size_t len)
{
	struct iovec parts[2] = { { buffer_at(out), out->len }, { (void *)rest, len } };

	if (leg_write(&session->client, parts, 2) < 0) {
		session_close(session, POLICY_CLIENT_CLOSED);
		return;
	}
	exchange_free(take(session->exchange));
	tunnel_carry(session);
}

static int take_interim(struct session *session, const struct http1_head *head, struct buffer *out)
{
	struct rewrite_framing framing = { .out = HTTP1_NO_BODY };
	struct exchange *exchange = session->exchange;

	if (++exchange->interim_count > INTERIM_MAX)
		return -EBADMSG;
	if (head->status == 101 && !(exchange->wants_websocket && exchange->up.is_done))
		return -EBADMSG; /* to what nobody asked for, or in the middle of the request */
	if (head->status == 101)
		framing.connection = REWRITE_UPGRADE;
	else if (session->style.is_http10)
		return 0; /* RFC 9110 §15.2: not for such a client */
	return rewrite_response(head, &framing, out);
}

/* Heads at the start of @bytes: interim ones, and the final one. 0: the final one is done; 101: so
 * it is; -EAGAIN: more is needed; or -errno with words. */
static int take_heads(struct session *session, const char *bytes, size_t len, size_t *ret_used,
		      struct buffer *out, const char **ret_cause)
{
	static const char get[] = "GET", head_method[] = "HEAD";
	struct exchange *exchange = session->exchange;
	struct http1_span method = exchange->is_head_request ? (struct http1_span){ head_method, 4 }
							     : (struct http1_span){ get, 3 };

	while (!exchange->has_head) {
		struct http1_head head;
		int r = http1_parse_response(bytes + *ret_used, len - *ret_used, &exchange->scanned,
					     method, &head, ret_cause);

		if (r < 0)
			return r;
		exchange->scanned = 0;
		*ret_used += head.bytes;
		r = head.status < 200 ? take_interim(session, &head, out)
				      : take_final(session, &head, out);
		if (r < 0)
			return r;
		if (head.status == 101)
			return 101;
	}
	return 0;
}

/* A server that speaks first, and another protocol, would be waited for until the deadline. */
static bool may_be_answer(const char *bytes, size_t len)
{
	static const char begin[] = { 'H', 'T', 'T', 'P', '/' };

	return !memcmp(bytes, begin, len < sizeof(begin) ? len : sizeof(begin));
}

static void take_bytes(struct session *session, char *bytes, size_t len)
{
	struct exchange *exchange = session->exchange;
	struct buffer head = { 0 };
	const char *cause = NULL;
	size_t used = 0;
	int r = take_heads(session, bytes, len, &used, &head, &cause);

	if (r == -EAGAIN && !may_be_answer(bytes + used, len - used)) {
		admit_refuse(session, POLICY_UPSTREAM_MALFORMED,
			     "it does not begin like an answer");
	} else if (r == -EAGAIN) {
		struct buffer rest = { 0 };

		/* The parser says -E2BIG before this does. */
		(void)buffer_append(&rest, bytes + used, len - used, LIMITS_OUTPUT_BYTES);
		buffer_clear(&exchange->answer);
		exchange->answer = rest;
		send_body(session, &head, NULL, 0);
	} else if (r == 101) {
		take_upgrade(session, &head, bytes + used, len - used);
	} else if (r < 0) {
		admit_refuse(
			session, POLICY_UPSTREAM_MALFORMED,
			cause ? cause
			      : "the answer's head is too large, or of a kind nobody asked for");
	} else {
		send_body(session, &head, bytes + used, len - used);
	}
	buffer_clear(&head);
}

/* The server closed, or reset. */
static void upstream_ended(struct session *session, bool is_clean)
{
	struct exchange *exchange = session->exchange;
	struct iovec parts[BODY_PARTS];
	int count = 0;

	if (!exchange->has_answer && exchange->is_idempotent && session->up->is_reused &&
	    session->up->key && !exchange->has_retried) {
		/* It closed an idle connection just as we took it for this: once more, on a new one
		 * (RFC 9110 §9.2.2). */
		exchange->has_retried = true;
		session_drop_upstream(session);
		admit_dial(session);
		return;
	}
	if (!exchange->has_head) {
		admit_refuse(session, POLICY_UPSTREAM_CLOSED,
			     is_clean ? NULL : "the connection was reset");
		return;
	}
	if (!is_clean || body_end(&exchange->down, parts, &count) < 0) {
		session_abort(session, POLICY_UPSTREAM_CLOSED);
		return;
	}
	if (count && leg_write(&session->client, parts, count) < 0)
		session_close(session, POLICY_CLIENT_CLOSED);
	else
		exchange_finish(session);
}

void answer_on_upstream(struct session *session)
{
	struct leg *up = &session->up->leg;
	struct exchange *exchange = session->exchange;
	char *bytes = session->proxy->shared.bytes;
	struct buffer whole;
	ssize_t got;

	if (!up->wants_read) {
		leg_stop_reading(up);
		return;
	}
	got = leg_read_room(up, bytes, leg_read_size(up),
			    meter_room(session->request, GATEWAY_DOWN));
	if (got == -EAGAIN)
		return;
	if (got == -EDQUOT) {
		leg_want_read(up, false);
		leg_stop_reading(up);
		meter_need(session, GATEWAY_DOWN);
		return;
	}
	if (got <= 0) {
		upstream_ended(session, got == 0);
		return;
	}
	session_set_deadline(session, LIMITS_EXCHANGE_MS);
	exchange->has_answer = true;
	session->request->bytes_down += (uint64_t)got;
	meter_moved(session);
	if (exchange->has_head) {
		send_body(session, &(struct buffer){ 0 }, bytes, (size_t)got);
		return;
	}
	if (!exchange->answer.len) {
		take_bytes(session, bytes, (size_t)got);
		return;
	}
	/* The beginning of a head waits: put both together, and let go of it, for the exchange may
	 * end in there. */
	whole = exchange->answer;
	exchange->answer = (struct buffer){ 0 };
	(void)buffer_append(&whole, bytes, (size_t)got, LIMITS_OUTPUT_BYTES);
	take_bytes(session, buffer_at(&whole), whole.len);
	buffer_clear(&whole);
}
