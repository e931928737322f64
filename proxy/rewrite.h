/* rewrite: the heads we send in place of those we got. Pure.
 *
 * A request keeps its method, path and end-to-end fields; Host is written from the destination that
 * was approved, the framing from how we will send the body. Never sent on: hop-by-hop fields (RFC
 * 9110 §7.6.1), Proxy-*, user information, what claims to come from a proxy (Forwarded,
 * X-Forwarded-*, Via) or from us (X-Sallyport-*). We add no Via: it would tell every server that,
 * and how, the command is confined, and a loop through ourselves is refused by our own ports. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "policies/policies.h"
#include "proxy/buffer.h"
#include "proxy/parse/http1.h"

/* An upgrade we carry: `Upgrade: websocket`, asked for by Connection. Any other (h2c, TLS) is
 * declined by not sending it on, as RFC 9110 §7.8 lets a server do; the request goes on as
 * HTTP/1.1. */
bool rewrite_is_websocket(const struct http1_head *head);

/* Why a request is not sent on, though it can be read: a stricter server reads it otherwise, or not
 * at all. NULL: it may be. Static text. */
const char *rewrite_refuses(const struct http1_head *head);

/* The request's target as it is sent: never empty. A field that is not sent on. */
struct http1_span rewrite_target(const struct http1_head *head);
bool rewrite_drops(const struct http1_head *head, const struct http1_field *field);

/* Appends the head to @out; -E2BIG: it outgrew its limit. */
int rewrite_request(const struct http1_head *head, const struct policy_destination *dst,
		    struct buffer *out);

enum rewrite_connection {
	REWRITE_KEEP, /* nothing said: HTTP/1.1 stays open */
	REWRITE_CLOSE,
	REWRITE_UPGRADE, /* 101 */
};
struct rewrite_framing {
	enum http1_body out; /* UNTIL_CLOSE: nothing is said; NO_BODY: the server's Content-Length
				is kept (HEAD, 304) */
	uint64_t length;
	enum rewrite_connection connection;
};
int rewrite_response(const struct http1_head *head, const struct rewrite_framing *framing,
		     struct buffer *out);
