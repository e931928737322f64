/* The HTTP/1.1 front: absolute-form requests and CONNECT; and, in a tunnel promised as http,
 * origin-form requests to the one approved authority. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "proxy/admit.h"
#include "proxy/closing.h"
#include "proxy/exchange.h"
#include "proxy/fronts/front_impl.h"
#include "proxy/own.h"
#include "proxy/rewrite.h"
#include "proxy/seen.h"
#include "proxy/session.h"
#include "proxy/tunnel.h"

static bool is_method(const struct http1_head *head, const char *method)
{
	return head->method.len == strlen(method) &&
	       !memcmp(head->method.at, method, head->method.len);
}

/* Our own words to the client, and what comes after them. */
static void say(struct session *session, const struct buffer *words)
{
	struct exchange *exchange = session->exchange;
	bool has_body = exchange && !exchange->up.is_done;

	/* Elsewhere it is the one kept for the next request. */
	if (session->state == SESSION_EXCHANGE || session->is_fixed)
		session_drop_upstream(session);
	if (leg_write_bytes(&session->client, buffer_at(words), words->len) < 0)
		session_close(session, POLICY_CLIENT_CLOSED);
	else if (!session->style.keeps_alive)
		closing_linger(session);
	else if (has_body)
		closing_drain(session);
	else
		session_next(session);
}

/* After our own answer the connection stays where it can: the client says so, the next request's
 * start is certain, and it is no CONNECT, behind whose head anything may come. */
static void choose_keep_alive(struct session *session)
{
	const struct exchange *exchange = session->exchange;

	if (!exchange || session->is_fixed || session->state == SESSION_EXCHANGE ||
	    (exchange->expects_continue && !exchange->up.is_done) ||
	    (exchange->up.in == HTTP1_LENGTH && exchange->up.left > LIMITS_DRAIN_BYTES))
		session->style.keeps_alive = false;
}

static void on_refused(struct session *session, const struct refusal *refusal)
{
	struct buffer words = { 0 };

	choose_keep_alive(session);
	(void)refusal_http(refusal, &session->style, &words); /* fits: every text has a limit */
	say(session, &words);
	buffer_clear(&words);
}

static void on_connected(struct session *session)
{
	static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";

	if (session->request->facts.way == POLICY_WAY_HTTP) {
		exchange_begin(session);
		return;
	}
	if (leg_write_bytes(&session->client, established, sizeof(established) - 1) < 0)
		session_close(session, POLICY_CLIENT_LEFT);
	else
		tunnel_begin(session);
}

/* A request that is answered with a refusal while it is being read. */
static void refuse(struct session *session, enum policy_reason reason, const char *cause)
{
	admit_refuse(session, reason, cause);
}

static void say_page(struct session *session, const struct own_page *page)
{
	struct refusal_style style = session->style;
	struct buffer words = { 0 };

	style.wants_json = page->is_json; /* our words for people are plain */
	(void)refusal_http_page(page->status, &style, "", &page->body, &words);
	say(session, &words);
	buffer_clear(&words);
}

/* It is asked about as if it were to be dialled, and answered when that is decided. */
static void propose(struct session *session, struct own_page *page)
{
	struct policy_facts facts = { .dst = page->dst,
				      .carries = page->dst.protocol,
				      .way = POLICY_WAY_HTTP,
				      .exec = session->way->exec };

	admit_begin(session, &facts);
	request_keep_plea(session->request, page->reason);
	if (own_quota_take(&session->way->quota, loop_now_ms(session->proxy->loop)))
		admit_submit(session, NULL);
	else
		refuse(session, POLICY_RATE_LIMITED, "a command may propose ten times a minute");
}

static void serve_own(struct session *session, const struct http1_head *head)
{
	struct own_page page;

	own_page_make(session->way, head, &session->style, &page);
	choose_keep_alive(session);
	if (page.is_proposal)
		propose(session, &page);
	else
		say_page(session, &page);
	buffer_clear(&page.body);
}

static void on_allowed_proposal(struct session *session, const struct policy_verdict *verdict)
{
	struct buffer words = { 0 };

	choose_keep_alive(session);
	(void)own_allowed(&session->request->facts.dst, verdict, &session->style, &words);
	request_report(session->request, session->proxy->client, POLICY_DONE, false,
		       "proposed by the command", loop_now_ms(session->proxy->loop));
	request_free(take(session->request));
	say(session, &words);
	buffer_clear(&words);
}

/* Does what the bytes say name @dst? No port is @default_port. */
static bool names(struct http1_span host, uint16_t port, uint16_t default_port,
		  const struct policy_destination *dst)
{
	struct policy_destination named;

	if (policy_destination_set(&named, host.at, host.len, port ? port : default_port, NULL) < 0)
		return false;
	return !strcmp(named.host, dst->host) && named.port == dst->port;
}

static bool host_field_names(const struct http1_head *head, const struct policy_destination *dst)
{
	return names(head->host_field_name, head->host_field_port, 80, dst);
}

/* The head is understood: it will be sent as the destination wants it, when it may be. */
static bool keep_exchange(struct session *session, const struct http1_head *head,
			  const struct policy_destination *dst)
{
	assert(!session->exchange);
	return exchange_new(head, dst, &session->exchange) == 0;
}

/* Asked as of a server of that name, which is what a program does that was given a socket's path.
 */
static bool take_own(struct session *session, const struct http1_head *head)
{
	struct policy_destination own;

	if (head->form != HTTP1_ORIGIN || !head->host_field.len ||
	    policy_destination_set(&own, OWN_HOST, sizeof(OWN_HOST) - 1, 80, NULL) < 0 ||
	    !host_field_names(head, &own))
		return false;
	if (keep_exchange(session, head, &own))
		serve_own(session, head);
	else
		refuse(session, POLICY_HEAD_TOO_LARGE, NULL);
	return true;
}

static void take_absolute(struct session *session, const struct http1_head *head)
{
	struct policy_facts facts = { .carries = POLICY_HTTP,
				      .way = POLICY_WAY_HTTP,
				      .exec = session->way->exec };
	struct err why = { 0 };
	struct seen seen;

	if (!text_equal_nocase(head->scheme.at, head->scheme.len, "http")) {
		refuse(session, POLICY_UNSUPPORTED,
		       "only http:// URLs are carried as requests; every other scheme goes by "
		       "CONNECT");
		return;
	}
	if (policy_destination_set(&facts.dst, head->host.at, head->host.len, head->port, &why) <
	    0) {
		refuse(session, POLICY_BAD_HOST, why.text);
		return;
	}
	facts.dst.protocol = POLICY_HTTP;
	if (!keep_exchange(session, head, &facts.dst)) {
		refuse(session, POLICY_HEAD_TOO_LARGE, NULL);
		return;
	}
	if (!strcmp(facts.dst.host, OWN_HOST)) {
		serve_own(session, head);
		return;
	}
	admit_begin(session, &facts);
	if (way_is_own(session->way, &facts.dst))
		refuse(session, POLICY_OWN_LISTENER, NULL);
	else if (head->host_field.len && !host_field_names(head, &facts.dst))
		refuse(session, POLICY_HOST_MISMATCH,
		       "the Host field names another host than the URL");
	else
		admit_submit(session, seen_fill(&seen, head, session->proxy->seen_parts));
}

static void take_connect(struct session *session, const struct http1_head *head)
{
	struct policy_facts facts = { .way = POLICY_WAY_CONNECT, .exec = session->way->exec };
	struct err why = { 0 };

	session->style.keeps_alive = false;
	if (policy_destination_set(&facts.dst, head->host.at, head->host.len, head->port, &why) <
	    0) {
		refuse(session, POLICY_BAD_HOST, why.text);
		return;
	}
	facts.carries = policy_protocol_of_port(facts.dst.port);
	admit_begin(session, &facts);
	if (head->body != HTTP1_NO_BODY && !(head->body == HTTP1_LENGTH && !head->length))
		refuse(session, POLICY_MALFORMED, "CONNECT has no body");
	else if (way_is_own(session->way, &facts.dst) || !strcmp(facts.dst.host, OWN_HOST))
		refuse(session, POLICY_OWN_LISTENER, NULL);
	else
		admit_submit(session, NULL);
}

/* In a tunnel promised as http: one destination, approved already. */
static void take_fixed(struct session *session, const struct http1_head *head)
{
	const struct policy_destination *dst = &session->request->facts.dst;

	if (head->form == HTTP1_AUTHORITY)
		refuse(session, POLICY_NOT_HTTP, "a CONNECT inside the tunnel");
	else if (!head->host_field.len && head->form != HTTP1_ABSOLUTE)
		refuse(session, POLICY_HOST_MISMATCH, "no Host field names the approved host");
	else if (head->host_field.len && !host_field_names(head, dst))
		refuse(session, POLICY_HOST_MISMATCH, "the Host field names another host");
	else if (head->form == HTTP1_ABSOLUTE &&
		 (!text_equal_nocase(head->scheme.at, head->scheme.len, "http") ||
		  !names(head->host, head->port, 80, dst)))
		refuse(session, POLICY_HOST_MISMATCH, "the request's URL names another host");
	else if (!keep_exchange(session, head, dst))
		refuse(session, POLICY_HEAD_TOO_LARGE, NULL);
	else
		exchange_begin(session);
}

static void take_head(struct session *session, const struct http1_head *head)
{
	const char *refused = rewrite_refuses(head);

	session->style = (struct refusal_style){
		.wants_json = refusal_wants_json(head),
		.is_head = is_method(head, "HEAD"),
		.keeps_alive = head->keep_alive,
		.is_http10 = head->minor == 0,
	};
	if (refused) {
		session->style.keeps_alive = false;
		refuse(session, POLICY_MALFORMED, refused);
	} else if (session->is_fixed)
		take_fixed(session, head);
	else if (head->form == HTTP1_ABSOLUTE)
		take_absolute(session, head);
	else if (head->form == HTTP1_AUTHORITY)
		take_connect(session, head);
	else if (!take_own(session, head))
		refuse(session, POLICY_MALFORMED,
		       "this is a proxy: it takes whole URLs (http_proxy) and CONNECT; what it "
		       "denied is "
		       "at http://" OWN_HOST "/denials");
}

/* What cannot be read has no style, and nothing behind it can be trusted to be a head. */
static int refuse_unread(struct session *session, int r, const char *cause)
{
	enum policy_reason reason = r == -E2BIG ? POLICY_HEAD_TOO_LARGE : POLICY_MALFORMED;

	if (session->is_fixed && r != -E2BIG)
		reason = POLICY_NOT_HTTP;
	session->style = (struct refusal_style){ 0 };
	refuse(session, reason, cause);
	return 0;
}

static int on_input(struct session *session)
{
	struct http1_head head;
	const char *cause = NULL;
	struct buffer bytes;
	int r = http1_parse_request(buffer_at(&session->in), session->in.len, &session->scanned,
				    &head, &cause);

	if (r == -EAGAIN)
		return r;
	if (r < 0)
		return refuse_unread(session, r, cause);
	session->scanned = 0;
	/* The head's spans point into these bytes; what follows them is the session's again at
	 * once, because a refusal may go straight on to the next request. */
	bytes = session->in;
	session->in = (struct buffer){ 0 };
	(void)buffer_append(&session->in, buffer_at(&bytes) + head.bytes, bytes.len - head.bytes,
			    LIMITS_INPUT_BYTES);
	take_head(session, &head);
	buffer_clear(&bytes);
	return 0;
}

static void on_overload(int fd)
{
	static const struct refusal_style style;
	struct refusal refusal = { .reason = POLICY_OVERLOADED,
				   .cause = "this command has too many connections open" };
	struct buffer words = { 0 };

	(void)refusal_http(&refusal, &style, &words);
	(void)send(fd, buffer_at(&words), words.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	buffer_clear(&words);
}

const struct front *http1_front(void)
{
	static const struct front front = {
		.name = "http1",
		.way = POLICY_WAY_HTTP,
		.on_input = on_input,
		.on_refused = on_refused,
		.on_connected = on_connected,
		.on_allowed_proposal = on_allowed_proposal,
		.on_overload = on_overload,
	};

	return &front;
}
