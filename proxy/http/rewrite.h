/* rewrite: the heads that we send in place of the received ones. Pure.
 *
 * A request keeps its method, path and end-to-end fields. Host is written from the approved
 * destination, and the framing from how we will send the body. Removed are hop-by-hop fields (RFC
 * 9110 §7.6.1), Proxy-*, user information, and fields that claim to come from a proxy (Forwarded,
 * X-Forwarded-*, Via) or from us (X-Sallyport-*). We add no Via: it would tell every server that
 * the command is confined, and by what; and our own ports refuse a loop through ourselves. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "policies/policies.h"
#include "proxy/relay/buffer.h"
#include "base/http1/http1.h"

/* The one upgrade we carry: `Upgrade: websocket`, named by Connection. Any other (h2c, TLS) is
 * removed, as RFC 9110 §7.8 allows a server to do; the request continues as HTTP/1.1. */
bool rewrite_is_websocket(const struct http1_head *head);

/* Why a request is not sent on although it was parsed: a stricter server would read it in another
 * way, or refuse it. NULL: it may be sent. Static text. */
const char *rewrite_refuses(const struct http1_head *head);

/* The request target as we send it: never empty. A field that we remove. */
struct http1_span rewrite_target(const struct http1_head *head);
bool rewrite_drops(const struct http1_head *head, const struct http1_field *field);

/* Appends @head, of rewrite_request(), to @out, with the target in absolute form, for an upstream
 * proxy, and with @field, which ends its line or is "". -E2BIG: it is too large. */
int rewrite_absolute(const struct buffer *head, const struct policy_destination *dst,
		     const char *field, struct buffer *out);
/* Appends the head to @out; -E2BIG: it is too large. */
int rewrite_request(const struct http1_head *head, const struct policy_destination *dst,
		    struct buffer *out);

enum rewrite_connection {
	REWRITE_KEEP, /* no field needed: HTTP/1.1 stays open */
	REWRITE_CLOSE,
	REWRITE_UPGRADE, /* 101 */
};
struct rewrite_framing {
	enum http1_body out; /* UNTIL_CLOSE: no field is written; NO_BODY: the server's
				Content-Length is kept (HEAD, 304) */
	uint64_t length;
	enum rewrite_connection connection;
};
int rewrite_response(const struct http1_head *head, const struct rewrite_framing *framing,
		     struct buffer *out);
