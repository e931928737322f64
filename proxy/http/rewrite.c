#include "proxy/http/rewrite.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <string.h>

#include "base/text.h"
#include "policies/policies_request.h"

/* The fields of a received head fit in HTTP1_HEAD_MAX; we add a host and a few lines. */
#define OUT_MAX (2 * HTTP1_HEAD_MAX)

#define X_SALLYPORT     "x-sallyport-"
#define X_FORWARDED     "x-forwarded-"
#define PREFIX_BYTES    (sizeof(X_SALLYPORT) - 1)
#define LOOKALIKE_BYTES 256

#define WEBSOCKET_KEY_CHARS 24
#define BASE64_CHARS        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

_Static_assert(sizeof(X_SALLYPORT) == sizeof(X_FORWARDED), "both prefixes have one length");

static bool is_named(const struct http1_field *field, const char *name)
{
	return text_equal_nocase(field->name.at, field->name.len, name);
}

static bool has_prefix(const struct http1_field *field, const char *prefix)
{
	return field->name.len > PREFIX_BYTES &&
	       text_equal_nocase(field->name.at, PREFIX_BYTES, prefix);
}

bool rewrite_is_websocket(const struct http1_head *head)
{
	const struct http1_field *field = http1_head_find(head, "upgrade");

	return head->has_upgrade && head->minor == 1 && field &&
	       text_equal_nocase(field->value.at, field->value.len, "websocket");
}

static int put_text(struct buffer *out, const char *text)
{
	return buffer_append(out, text, strlen(text), OUT_MAX);
}

static int put_span(struct buffer *out, struct http1_span span)
{
	return buffer_append(out, span.at, span.len, OUT_MAX);
}

static int put_field(struct buffer *out, const struct http1_field *field)
{
	int r = put_span(out, field->name);

	r = r ? r : put_text(out, ": ");
	r = r ? r : put_span(out, field->value);
	return r ? r : put_text(out, "\r\n");
}

static int put_framing(struct buffer *out, enum http1_body body, uint64_t length)
{
	if (body == HTTP1_LENGTH)
		return buffer_printf(out, OUT_MAX, "Content-Length: %" PRIu64 "\r\n", length);
	if (body == HTTP1_CHUNKED)
		return put_text(out, "Transfer-Encoding: chunked\r\n");
	return 0;
}

/* We write these fields ourselves, or remove them. */
bool rewrite_drops(const struct http1_head *head, const struct http1_field *field)
{
	if (is_named(field, "host") || is_named(field, "content-length"))
		return true;
	if (http1_connection_ends_field(head, field) || has_prefix(field, X_SALLYPORT))
		return true;
	if (is_named(field, "via") || is_named(field, "forwarded") ||
	    has_prefix(field, X_FORWARDED))
		return true;
	if (is_named(field, "http2-settings")) /* belongs to an upgrade that we declined */
		return true;
	return head->minor == 0 && is_named(field, "expect"); /* RFC 9110 §10.1.1 */
}

/* CGI, WSGI and PHP give an application the fields as variables, and may turn every byte that is
 * not a letter or digit into `_`. So applications may take a field for one that we write, judge or
 * remove, if it has the same name apart from such bytes: refused. Other fields with such bytes are
 * passed on; nginx would drop all of them, and some clients send tokens in them. */
static bool is_lookalike(const struct http1_head *head, const struct http1_field *field)
{
	char name[LOOKALIKE_BYTES];
	struct http1_field meant = *field;
	bool is_other = false;

	for (size_t i = 0; i < field->name.len; i++) {
		char c = field->name.at[i];
		bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				(c >= '0' && c <= '9') || c == '-';

		name[i] = is_plain ? c : '-';
		is_other |= !is_plain;
	}
	meant.name.at = name;
	return is_other &&
	       (rewrite_drops(head, &meant) || policy_request_is_override(name, field->name.len));
}

/* RFC 6455 §4.1: exactly one key, which is 16 bytes in base64. */
static bool has_websocket_key(const struct http1_head *head)
{
	int keys = 0;

	for (size_t i = 0; i < head->field_count; i++) {
		char key[WEBSOCKET_KEY_CHARS + 1] = { 0 };
		const struct http1_field *field = &head->fields[i];

		if (!is_named(field, "sec-websocket-key"))
			continue;
		if (field->value.len != WEBSOCKET_KEY_CHARS)
			return false;
		memcpy(key, field->value.at, WEBSOCKET_KEY_CHARS);
		if (strspn(key, BASE64_CHARS) != WEBSOCKET_KEY_CHARS - 2 ||
		    strcmp(key + WEBSOCKET_KEY_CHARS - 2, "==") != 0)
			return false;
		keys++;
	}
	return keys == 1;
}

/* RFC 6455 §4.1: a GET without a body, and with a key. Node and others read what follows the head
 * as bytes of the new protocol, where we would send a body. */
static bool is_bad_websocket(const struct http1_head *head)
{
	return rewrite_is_websocket(head) &&
	       (head->method.len != 3 || memcmp(head->method.at, "GET", 3) != 0 ||
		head->body != HTTP1_NO_BODY || !has_websocket_key(head));
}

const char *rewrite_refuses(const struct http1_head *head)
{
	for (size_t i = 0; i < head->field_count; i++) {
		const struct http1_field *field = &head->fields[i];

		if (field->name.len > LOOKALIKE_BYTES)
			return "a field name is longer than 256 bytes";
		if (is_lookalike(head, field))
			return "a field name looks like a reserved one: some applications read one "
			       "of its bytes as a hyphen";
		/* RFC 9110 §10.1.1 defines one expectation. */
		if (is_named(field, "expect") &&
		    !text_equal_nocase(field->value.at, field->value.len, "100-continue"))
			return "the Expect field is not 100-continue";
	}
	if (is_bad_websocket(head))
		return "a WebSocket upgrade must be a GET without a body and with a key";
	return NULL;
}

struct http1_span rewrite_target(const struct http1_head *head)
{
	static const struct http1_span root = { "/", 1 }, whole = { "*", 1 };
	struct http1_span path = head->form == HTTP1_ABSOLUTE ? head->path : head->target;
	bool is_options = head->method.len == 7 && !memcmp(head->method.at, "OPTIONS", 7);

	return path.len ? path : is_options ? whole : root; /* RFC 9112 §3.2.4 */
}

static int put_request_line(const struct http1_head *head, struct buffer *out)
{
	int r = put_span(out, head->method);

	r = r ? r : put_text(out, " ");
	r = r ? r : put_span(out, rewrite_target(head));
	return r ? r : put_text(out, " HTTP/1.1\r\nHost: ");
}

static int put_authority(const struct policy_destination *dst, struct buffer *out)
{
	bool is_v6 = dst->addr.family == AF_INET6;

	if (dst->port == 80)
		return buffer_printf(out, OUT_MAX, is_v6 ? "[%s]" : "%s", dst->host);
	return buffer_printf(out, OUT_MAX, is_v6 ? "[%s]:%u" : "%s:%u", dst->host,
			     (unsigned int)dst->port);
}

int rewrite_request(const struct http1_head *head, const struct policy_destination *dst,
		    struct buffer *out)
{
	int r = put_request_line(head, out);

	r = r ? r : put_authority(dst, out);
	r = r ? r : put_text(out, "\r\n");
	for (size_t i = 0; !r && i < head->field_count; i++) {
		if (!rewrite_drops(head, &head->fields[i]))
			r = put_field(out, &head->fields[i]);
	}
	r = r ? r : put_framing(out, head->body, head->length);
	if (!r && rewrite_is_websocket(head))
		r = put_text(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
	return r ? r : put_text(out, "\r\n");
}

/* RFC 9112 §3.2.2; §3.2.4: "*" becomes an empty path. */
int rewrite_absolute(const struct buffer *head, const struct policy_destination *dst,
		     const char *field, struct buffer *out)
{
	const char *at = buffer_at(head), *end = at + head->len;
	const char *target = (const char *)memchr(at, ' ', head->len) + 1;
	const char *rest = *target == '*' ? target + 1 : target;
	const char *fields = (const char *)memchr(rest, '\n', (size_t)(end - rest)) + 1;
	int r = buffer_append(out, at, (size_t)(target - at), OUT_MAX);

	r = r ? r : put_text(out, "http://");
	r = r ? r : put_authority(dst, out);
	r = r ? r : buffer_append(out, rest, (size_t)(fields - rest), OUT_MAX);
	r = r ? r : put_text(out, field);
	return r ? r : buffer_append(out, fields, (size_t)(end - fields), OUT_MAX);
}

static bool is_dropped_from_response(const struct http1_head *head, const struct http1_field *field)
{
	return is_named(field, "content-length") || has_prefix(field, X_SALLYPORT) ||
	       http1_connection_ends_field(head, field);
}

static int put_connection(enum rewrite_connection connection, struct buffer *out)
{
	static const char *const lines[] = {
		[REWRITE_KEEP] = "",
		[REWRITE_CLOSE] = "Connection: close\r\n",
		[REWRITE_UPGRADE] = "Connection: Upgrade\r\nUpgrade: websocket\r\n",
	};

	return put_text(out, lines[connection]);
}

int rewrite_response(const struct http1_head *head, const struct rewrite_framing *framing,
		     struct buffer *out)
{
	/* A response to HEAD, and a 304, has the length of a body that is not sent (RFC 9110 §8.6);
	 * 1xx and 204 must not have one. */
	const struct http1_field *length = http1_head_find(head, "content-length");
	int r = buffer_printf(out, OUT_MAX, "HTTP/1.1 %03d ", head->status);

	r = r ? r : put_span(out, head->reason);
	r = r ? r : put_text(out, "\r\n");
	for (size_t i = 0; !r && i < head->field_count; i++) {
		if (!is_dropped_from_response(head, &head->fields[i]))
			r = put_field(out, &head->fields[i]);
	}
	if (!r && framing->out == HTTP1_NO_BODY && length && head->status >= 200 &&
	    head->status != 204)
		r = put_field(out, length);
	r = r ? r : put_framing(out, framing->out, framing->length);
	r = r ? r : put_connection(framing->connection, out);
	return r ? r : put_text(out, "\r\n");
}
