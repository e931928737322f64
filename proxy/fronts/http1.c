/* The HTTP/1.1 front: absolute-form requests and CONNECT; and, in a tunnel that was allowed as
 * http, origin-form requests to the approved authority only. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "proxy/admit.h"
#include "proxy/relay/closing.h"
#include "proxy/http/exchange.h"
#include "proxy/fronts/front_impl.h"
#include "policies/policies_gate.h"
#include "proxy/http/gate_pages.h"
#include "proxy/http/rewrite.h"
#include "proxy/http/policy_parts.h"
#include "proxy/connection.h"
#include "proxy/relay/tunnel.h"
#include "proxy/http/upload.h"
#include "proxy/service.h"

static bool is_method(const struct http1_head *head, const char *method)
{
	return head->method.len == strlen(method) &&
	       !memcmp(head->method.at, method, head->method.len);
}

/* Sends a response of our own to the client, then continues or closes. */
static void say(struct connection *connection, const struct buffer *words)
{
	struct exchange *exchange = connection->exchange;
	bool has_body = exchange && !exchange->up.is_done;

	/* In other states it is an idle connection for the next request. */
	if (connection->state == CONNECTION_EXCHANGE || connection->is_fixed)
		connection_drop_upstream(connection);
	if (leg_write_bytes(&connection->client, buffer_at(words), words->len) < 0)
		connection_close(connection, POLICY_CLIENT_CLOSED);
	else if (!connection->style.keeps_alive)
		closing_linger(connection);
	else if (has_body)
		closing_drain(connection);
	else
		connection_next(connection);
}

/* After a response of our own the connection stays open if the client asked for it, the start of
 * the next request is certain, and the request is not a CONNECT, which any bytes may follow. */
static void choose_keep_alive(struct connection *connection)
{
	const struct exchange *exchange = connection->exchange;

	if (!exchange || connection->is_fixed || connection->state == CONNECTION_EXCHANGE ||
	    (exchange->expects_continue && !exchange->up.is_done) ||
	    (exchange->up.in == HTTP1_LENGTH && exchange->up.left > LIMITS_DRAIN_BYTES))
		connection->style.keeps_alive = false;
}

static void on_refused(struct connection *connection, const struct refusal *refusal)
{
	struct buffer words = { 0 };

	choose_keep_alive(connection);
	(void)refusal_http(refusal, &connection->style, &words); /* fits: every text has a limit */
	say(connection, &words);
	buffer_clear(&words);
}

static void on_connected(struct connection *connection)
{
	static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";

	if (connection_is_http(connection)) {
		upload_begin(connection);
		return;
	}
	if (leg_write_bytes(&connection->client, established, sizeof(established) - 1) < 0)
		connection_close(connection, POLICY_CLIENT_LEFT);
	else
		tunnel_begin(connection);
}

/* Refuses a request while it is being read. */
static void refuse(struct connection *connection, enum policy_reason reason, const char *cause)
{
	admit_refuse(connection, reason, cause);
}

static void say_page(struct connection *connection, const struct gate_pages_page *page)
{
	struct refusal_style style = connection->style;
	struct buffer words = { 0 };

	style.wants_json = page->is_json; /* our pages are plain text */
	(void)refusal_http_page(page->status, &style, "", &page->body, &words);
	say(connection, &words);
	buffer_clear(&words);
}

/* Decided as if it were to be dialled; the client gets a response when that is done. */
static void propose(struct connection *connection, struct gate_pages_page *page)
{
	struct policy_facts facts = { .dst = page->dst,
				      .carries = page->dst.protocol,
				      .way = POLICY_WAY_HTTP,
				      .exec = connection->way->exec };

	admit_begin(connection, &facts);
	request_keep_plea(connection->request, page->reason);
	if (quota_take(&connection->way->quota, loop_now_ms(connection->proxy->loop)))
		admit_submit(connection, NULL);
	else
		refuse(connection, POLICY_RATE_LIMITED,
		       "a command may make ten proposals a minute");
}

static void serve_own(struct connection *connection, const struct http1_head *head)
{
	struct gate_pages_page page;

	gate_pages_page_make(connection->way, head, &connection->style, &page);
	choose_keep_alive(connection);
	if (page.is_proposal)
		propose(connection, &page);
	else
		say_page(connection, &page);
	buffer_clear(&page.body);
}

static void on_allowed_proposal(struct connection *connection, const struct policy_verdict *verdict)
{
	struct buffer words = { 0 };

	choose_keep_alive(connection);
	(void)gate_pages_allowed(&connection->request->facts.dst, verdict, &connection->style,
				 &words);
	request_report(connection->request, connection->proxy->client, POLICY_DONE, false,
		       "proposed by the command", loop_now_ms(connection->proxy->loop));
	request_free(take(connection->request));
	say(connection, &words);
	buffer_clear(&words);
}

/* Do these bytes name @dst? Without a port, @default_port counts. */
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

/* The URL of an absolute-form request decides, and its Host field must have the same bytes (RFC
 * 9112 §3.2.2). A Host field that is empty, or that ends with a dot where the URL does not, is the
 * same host to us and another one to some servers: refused. HTTP/1.0 needs no Host field. */
static bool is_host_of_url(const struct http1_head *head, const struct policy_destination *dst)
{
	struct http1_span said = head->host_field_name, url = head->host;

	if (!http1_head_find(head, "host"))
		return true;
	return said.len == url.len && !strncasecmp(said.at, url.at, url.len) &&
	       host_field_names(head, dst);
}

/* The head is valid: it will be rewritten for the destination when the request is allowed. */
static bool keep_exchange(struct connection *connection, const struct http1_head *head,
			  const struct policy_destination *dst)
{
	assert(!connection->exchange);
	return exchange_new(head, dst, &connection->exchange) == 0;
}

static void begin_own(struct connection *connection, const struct http1_head *head,
		      const struct policy_destination *own)
{
	if (keep_exchange(connection, head, own))
		serve_own(connection, head);
	else
		refuse(connection, POLICY_HEAD_TOO_LARGE, NULL);
}

/* A request to the internal host's name, as programs send it that connect to a Unix socket. */
static bool take_own(struct connection *connection, const struct http1_head *head)
{
	struct policy_destination own;

	if (head->form != HTTP1_ORIGIN || !head->host_field.len ||
	    policy_destination_set(&own, POLICY_GATE_HOST, sizeof(POLICY_GATE_HOST) - 1, 80, NULL) <
		    0 ||
	    !host_field_names(head, &own))
		return false;
	begin_own(connection, head, &own);
	return true;
}

/* The URL is one of https or ftp. The destination is named, so that the run's report has it. */
static void refuse_scheme(struct connection *connection, const struct http1_head *head,
			  struct policy_facts *facts)
{
	bool is_ftp = text_equal_nocase(head->scheme.at, head->scheme.len, "ftp");

	facts->carries = facts->dst.protocol = is_ftp ? POLICY_TCP : POLICY_HTTPS;
	admit_begin(connection, facts);
	refuse(connection, is_ftp ? POLICY_NO_FTP : POLICY_UNSUPPORTED,
	       is_ftp ? NULL : "only http:// URLs can be requested; for https use CONNECT");
}

static void take_absolute(struct connection *connection, const struct http1_head *head)
{
	struct policy_facts facts = { .carries = POLICY_HTTP,
				      .way = POLICY_WAY_HTTP,
				      .exec = connection->way->exec };
	struct err why = { 0 };
	struct policy_parts seen;

	if (policy_destination_set(&facts.dst, head->host.at, head->host.len, head->port, &why) <
	    0) {
		refuse(connection, POLICY_BAD_HOST, why.text);
		return;
	}
	if (!text_equal_nocase(head->scheme.at, head->scheme.len, "http")) {
		refuse_scheme(connection, head, &facts);
		return;
	}
	facts.dst.protocol = POLICY_HTTP;
	if (!keep_exchange(connection, head, &facts.dst)) {
		refuse(connection, POLICY_HEAD_TOO_LARGE, NULL);
		return;
	}
	if (!strcmp(facts.dst.host, POLICY_GATE_HOST)) {
		serve_own(connection, head);
		return;
	}
	admit_begin(connection, &facts);
	if (way_is_own(connection->way, &facts.dst))
		refuse(connection, POLICY_OWN_LISTENER, way_own_cause(connection->way));
	else if (!is_host_of_url(head, &facts.dst))
		refuse(connection, POLICY_HOST_MISMATCH,
		       "the Host field differs from the host of the URL");
	else
		admit_submit(connection,
			     policy_parts_fill(&seen, head, connection->proxy->seen_parts));
}

static void take_connect(struct connection *connection, const struct http1_head *head)
{
	struct policy_facts facts = { .way = POLICY_WAY_CONNECT, .exec = connection->way->exec };
	struct err why = { 0 };

	connection->style.keeps_alive = false;
	if (policy_destination_set(&facts.dst, head->host.at, head->host.len, head->port, &why) <
	    0) {
		refuse(connection, POLICY_BAD_HOST, why.text);
		return;
	}
	way_resolve(connection->way, &facts.dst);
	facts.carries = policy_protocol_of_port(facts.dst.port);
	admit_begin(connection, &facts);
	if (head->body != HTTP1_NO_BODY && !(head->body == HTTP1_LENGTH && !head->length))
		refuse(connection, POLICY_MALFORMED, "a CONNECT request must not have a body");
	else if (way_is_own(connection->way, &facts.dst) ||
		 !strcmp(facts.dst.host, POLICY_GATE_HOST))
		refuse(connection, POLICY_OWN_LISTENER, way_own_cause(connection->way));
	else
		admit_submit(connection, NULL);
}

/* The client may name no other host than @dst. Returns why it does; NULL: it does not. A Host field
 * of an origin-form request may end with a dot: it is the only name of the host, and is written
 * anew. */
static const char *names_other(const struct http1_head *head, const struct policy_destination *dst)
{
	if (!head->host_field.len && head->form != HTTP1_ABSOLUTE)
		return "the Host field is missing; it must name the approved host";
	if (head->form == HTTP1_ABSOLUTE ? !is_host_of_url(head, dst)
					 : !host_field_names(head, dst))
		return "the Host field names another host";
	if (head->form == HTTP1_ABSOLUTE &&
	    (!text_equal_nocase(head->scheme.at, head->scheme.len, "http") ||
	     !names(head->host, head->port, 80, dst)))
		return "the request's URL names another host";
	return NULL;
}

/* In a tunnel that was allowed as http: one destination, which is approved already. */
static void take_fixed(struct connection *connection, const struct http1_head *head)
{
	const struct policy_destination *dst = &connection->request->facts.dst;
	const char *other = names_other(head, dst);

	if (head->form == HTTP1_AUTHORITY)
		refuse(connection, POLICY_NOT_HTTP, "the tunnel contains another CONNECT request");
	else if (other)
		refuse(connection, POLICY_HOST_MISMATCH, other);
	else if (!keep_exchange(connection, head, dst))
		refuse(connection, POLICY_HEAD_TOO_LARGE, NULL);
	else
		upload_begin(connection);
}

/* A request to a server, as the program believes: decided as one to the proxy. */
static void take_captured(struct connection *connection, const struct http1_head *head)
{
	const struct policy_facts facts = { .dst = *connection->captured,
					    .carries = POLICY_HTTP,
					    .way = POLICY_WAY_CAPTURED_HTTP,
					    .exec = connection->way->exec };
	const char *other = names_other(head, &facts.dst);
	struct policy_parts seen;

	if (head->form != HTTP1_AUTHORITY && !other && !strcmp(facts.dst.host, POLICY_GATE_HOST)) {
		begin_own(connection, head, &facts.dst);
		return;
	}
	admit_begin(connection, &facts);
	if (head->form == HTTP1_AUTHORITY)
		refuse(connection, POLICY_NOT_HTTP, "a CONNECT request to a server");
	else if (other)
		refuse(connection, POLICY_HOST_MISMATCH, other);
	else if (!keep_exchange(connection, head, &facts.dst))
		refuse(connection, POLICY_HEAD_TOO_LARGE, NULL);
	else
		admit_submit(connection,
			     policy_parts_fill(&seen, head, connection->proxy->seen_parts));
}

static void take_head(struct connection *connection, const struct http1_head *head)
{
	const char *refused = rewrite_refuses(head);
	enum policy_reason unknown = POLICY_NONE;

	connection->style = (struct refusal_style){
		.wants_json = refusal_wants_json(head),
		.is_head = is_method(head, "HEAD"),
		.keeps_alive = head->keep_alive,
		.is_http10 = head->minor == 0,
	};
	if (!connection->is_fixed)
		unknown = service_admit(connection, head);
	if (unknown != POLICY_NONE || refused) {
		connection->style.keeps_alive = false;
		refuse(connection, unknown != POLICY_NONE ? unknown : POLICY_MALFORMED,
		       unknown != POLICY_NONE ? NULL : refused);
	} else if (connection->is_fixed)
		take_fixed(connection, head);
	else if (connection->captured)
		take_captured(connection, head);
	else if (head->form == HTTP1_ABSOLUTE)
		take_absolute(connection, head);
	else if (head->form == HTTP1_AUTHORITY)
		take_connect(connection, head);
	else if (!take_own(connection, head))
		refuse(connection, POLICY_MALFORMED,
		       "this is a proxy that accepts absolute URLs (http_proxy) and CONNECT; it "
		       "lists its denials at http://" POLICY_GATE_HOST "/denials");
}

/* A head that cannot be parsed has no style, and the next head's start is not certain: close. */
static int refuse_unread(struct connection *connection, int r, const char *cause)
{
	enum policy_reason reason = r == -E2BIG ? POLICY_HEAD_TOO_LARGE : POLICY_MALFORMED;

	if (connection->is_fixed && r != -E2BIG)
		reason = POLICY_NOT_HTTP;
	connection->style = (struct refusal_style){ 0 };
	refuse(connection, reason, cause);
	return 0;
}

static int on_input(struct connection *connection)
{
	struct http1_head head;
	const char *cause = NULL;
	struct buffer bytes;
	int r = http1_parse_request(buffer_at(&connection->in), connection->in.len,
				    &connection->scanned, &head, &cause);

	if (r == -EAGAIN)
		return r;
	if (r < 0)
		return refuse_unread(connection, r, cause);
	connection->scanned = 0;
	/* The head's spans point into these bytes. What follows them goes back to the connection
	 * now, because a refusal may start the next request. */
	bytes = connection->in;
	connection->in = (struct buffer){ 0 };
	(void)buffer_append(&connection->in, buffer_at(&bytes) + head.bytes, bytes.len - head.bytes,
			    LIMITS_INPUT_BYTES);
	take_head(connection, &head);
	buffer_clear(&bytes);
	return 0;
}

static void on_overload(int fd)
{
	static const struct refusal_style style;
	struct refusal refusal = { .reason = POLICY_OVERLOADED,
				   .cause = "the command has too many connections" };
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
