#include "proxy/exchange.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "proxy/admit.h"
#include "proxy/answer.h"
#include "proxy/closing.h"
#include "proxy/meter.h"
#include "proxy/rewrite.h"
#include "proxy/session.h"

static bool is_method(const struct http1_head *head, const char *method)
{
	return head->method.len == strlen(method) &&
	       !memcmp(head->method.at, method, head->method.len);
}

int exchange_new(const struct http1_head *head, const struct policy_destination *dst,
		 struct exchange **ret)
{
	struct exchange *exchange = mem_new(sizeof(*exchange));

	body_init(&exchange->up, head->body, head->length, head->body == HTTP1_CHUNKED);
	exchange->is_head_request = is_method(head, "HEAD");
	exchange->is_idempotent =
		exchange->up.is_done &&
		(exchange->is_head_request || is_method(head, "GET") || is_method(head, "OPTIONS"));
	exchange->expects_continue = head->expects_continue;
	exchange->wants_websocket = rewrite_is_websocket(head);
	if (rewrite_request(head, dst, &exchange->head) < 0) {
		exchange_free(exchange);
		return -E2BIG;
	}
	*ret = exchange;
	return 0;
}

void exchange_free(struct exchange *exchange)
{
	if (!exchange)
		return;
	buffer_clear(&exchange->head);
	buffer_clear(&exchange->held);
	buffer_clear(&exchange->answer);
	free(exchange);
}

/* Cuts @parts to what there is room for, and holds the rest. Returns how many bytes are to go. */
static uint64_t fit(struct session *session, struct iovec *parts, int count)
{
	uint64_t room = meter_room(session->request, GATEWAY_UP), sent = 0;

	for (int i = 0; i < count; i++) {
		size_t len = parts[i].iov_len;

		if (len > room - sent) {
			parts[i].iov_len = (size_t)(room - sent);
			/* Fits: a head and one read, and nothing is read while it waits. */
			(void)buffer_append(&session->exchange->held,
					    (char *)parts[i].iov_base + parts[i].iov_len,
					    len - parts[i].iov_len, LIMITS_OUTPUT_BYTES);
		}
		sent += parts[i].iov_len;
	}
	return sent;
}

/* Towards the server. When it takes no more, its answer may still be on the way: the reading side
 * finds out. */
static void send_up(struct session *session, struct iovec *parts, int count)
{
	struct leg *up = &session->up->leg;
	uint64_t sent = fit(session, parts, count);

	session->request->bytes_up += sent;
	if (sent && leg_write(up, parts, count) < 0)
		session->exchange->is_upload_cut = true;
	if (leg_is_blocked(up))
		leg_slow_down(&session->client);
	meter_moved(session);
	if (session->exchange->held.len)
		meter_need(session, GATEWAY_UP);
}

static bool wants_upload(const struct session *session)
{
	const struct exchange *exchange = session->exchange;

	return !exchange->up.is_done && !exchange->is_upload_cut && !exchange->held.len &&
	       !leg_is_blocked(&session->up->leg);
}

void exchange_begin(struct session *session)
{
	struct exchange *exchange = session->exchange;
	struct iovec parts[1 + BODY_PARTS];
	size_t used = 0;
	int count = 0;

	parts[0] = (struct iovec){ buffer_at(&exchange->head), exchange->head.len };
	buffer_clear(&exchange->held); /* sent again, it is sent whole */
	session_enter(session, SESSION_EXCHANGE);
	session_set_deadline(session, LIMITS_EXCHANGE_MS);
	if (session->in.len && body_feed(&exchange->up, buffer_at(&session->in), session->in.len,
					 &used, parts + 1, &count) < 0) {
		admit_refuse(session, POLICY_MALFORMED, "the request's body is not well chunked");
		return;
	}
	send_up(session, parts, 1 + count);
	buffer_consume(&session->in, used);
	if (!exchange->is_idempotent)
		buffer_clear(&exchange->head);
	if (!exchange->up.is_done && session->client.is_eof) {
		session_abort(session, POLICY_CLIENT_CLOSED);
		return;
	}
	leg_want_read(&session->up->leg, true);
	leg_want_read(&session->client, wants_upload(session));
}

void exchange_on_upload_cut(struct session *session)
{
	session->exchange->is_upload_cut = true;
	buffer_clear(&session->exchange->held);
	leg_drop_output(&session->up->leg);
	leg_want_read(&session->client, false);
}

/* Reads of what could be more than the body are kept small: the rest is read ahead, and that is
 * bounded. */
static size_t upload_size(const struct session *session)
{
	size_t size = leg_read_size(&session->client);
	const struct body *body = &session->exchange->up;

	if (body->in == HTTP1_LENGTH)
		return size < body->left ? size : (size_t)body->left;
	return size < LIMITS_INPUT_BYTES ? size : LIMITS_INPUT_BYTES;
}

void exchange_on_client(struct session *session)
{
	struct exchange *exchange = session->exchange;
	char *bytes = session->proxy->shared.bytes;
	struct iovec parts[BODY_PARTS];
	size_t used = 0;
	int count = 0;
	ssize_t got;

	if (!session->client.wants_read || !wants_upload(session)) {
		/* The next request, or the end of the requests: both wait until this one is
		 * answered. */
		leg_want_read(&session->client, false);
		leg_stop_reading(&session->client);
		if (leg_peer(&session->client) == LEG_PEER_GONE)
			session_close(session, POLICY_CLIENT_CLOSED);
		return;
	}
	got = leg_read(&session->client, bytes, upload_size(session));
	if (got == -EAGAIN)
		return;
	if (got <= 0) {
		session_abort(session, got ? POLICY_RESET : POLICY_CLIENT_CLOSED);
		return;
	}
	session_set_deadline(session, LIMITS_EXCHANGE_MS);
	if (body_feed(&exchange->up, bytes, (size_t)got, &used, parts, &count) < 0) {
		if (exchange->has_head)
			session_abort(session, POLICY_MALFORMED);
		else
			admit_refuse(session, POLICY_MALFORMED,
				     "the request's body is not well chunked");
		return;
	}
	send_up(session, parts, count);
	(void)buffer_append(&session->in, bytes + used, (size_t)got - used, LIMITS_INPUT_BYTES);
	leg_want_read(&session->client, wants_upload(session));
}

void exchange_on_upstream_drained(struct session *session)
{
	leg_want_read(&session->client, wants_upload(session));
}

/* At once, while it has room: what it does not use may be called back for another. */
void exchange_on_lease(struct session *session, enum gateway_way way)
{
	struct buffer held = session->exchange->held;
	struct iovec part = { buffer_at(&held), held.len };

	if (way == GATEWAY_DOWN) {
		leg_want_read(&session->up->leg, !leg_is_blocked(&session->client));
		answer_on_upstream(session);
		return;
	}
	session->exchange->held = (struct buffer){ 0 };
	send_up(session, &part, 1);
	buffer_clear(&held);
	leg_want_read(&session->client, wants_upload(session));
}

void exchange_on_client_drained(struct session *session)
{
	session_set_deadline(session, LIMITS_EXCHANGE_MS);
	leg_want_read(&session->up->leg, true);
}

/* The answer is whole. */
void exchange_finish(struct session *session)
{
	struct exchange *exchange = session->exchange;
	bool keeps_client = exchange->keeps_client && exchange->up.is_done;
	bool keeps_upstream = exchange->keeps_upstream && exchange->up.is_done &&
			      !exchange->is_upload_cut && !exchange->held.len &&
			      !leg_is_blocked(&session->up->leg);
	int64_t now = loop_now_ms(session->proxy->loop);

	if (session->is_fixed && !keeps_upstream)
		keeps_client = false;
	if (!session->is_fixed || !keeps_client)
		request_report(session->request, session->proxy->client, POLICY_DONE, false, NULL,
			       now);
	if (keeps_upstream) {
		session->up->idle_since_ms = now;
		session->up->is_reused = true;
	} else {
		session_drop_upstream(session);
	}
	if (keeps_client) {
		session_next(session);
		return;
	}
	session_park_upstream(session);
	closing_finish(session);
}

/* Until the final head has gone to the client, it gets an answer of ours. */
void exchange_on_deadline(struct session *session)
{
	const struct exchange *exchange = session->exchange;

	if (exchange->has_head)
		session_abort(session, POLICY_IDLE);
	else if (wants_upload(session) && !exchange->expects_continue)
		admit_refuse(session, POLICY_CLIENT_TIMEOUT, "the request's body stopped");
	else
		admit_refuse(session, POLICY_UPSTREAM_TIMEOUT, NULL);
}
