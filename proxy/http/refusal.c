#include "proxy/http/refusal.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "policies/policies_gate.h"

#define HTTP_MAX     LIMITS_PAGE_BYTES
#define VISIBLE_MAX  (4 * POLICY_TEXT_MAX + 1)
#define QUALITY_UNIT 1000 /* RFC 9110 §12.4.2: three decimals */

/* "denied": the gate refused; "failed": it could not connect, or cannot carry the request. */
static const char *status_of(const struct refusal *refusal)
{
	const struct policy_verdict *verdict = refusal->verdict;
	int status = policy_reason_status(refusal->reason);

	/* A page that reports a verdict, allow or deny. */
	if (verdict && verdict->reason == refusal->reason && verdict->action != POLICY_DENY)
		return verdict->action == POLICY_ALLOW ? "allowed" : "asked";
	return status == 403 || status == 407 || status == 429 || status == 503 ? "denied"
										: "failed";
}

/* Escapes bytes that are not printable ASCII. */
static int put_json(struct buffer *out, size_t max, const char *text)
{
	int r = buffer_append(out, "\"", 1, max);

	for (const char *at = text; !r && *at; at++) {
		unsigned char byte = (unsigned char)*at;

		if (byte == '"' || byte == '\\')
			r = buffer_printf(out, max, "\\%c", byte);
		else if (byte < 0x20 || byte == 0x7f)
			r = buffer_printf(out, max, "\\u%04x", byte);
		else if (byte >= 0x80)
			r = buffer_printf(out, max, "\\\\x%02x", byte);
		else
			r = buffer_append(out, &byte, 1, max);
	}
	return r ? r : buffer_append(out, "\"", 1, max);
}

/* Writes "LABEL: TEXT" if there is a text. */
static int put_line(struct buffer *out, const char *label, const char *text)
{
	char visible[VISIBLE_MAX];

	if (!text || !text[0])
		return 0;
	(void)text_visible(visible, sizeof(visible), text, strlen(text));
	return buffer_printf(out, REFUSAL_TEXT_MAX, "%s: %s\n", label, visible);
}

static const char *next_of(const struct refusal *refusal)
{
	return refusal->is_unasked ? policy_reason_next_unasked(refusal->reason)
				   : policy_reason_next(refusal->reason);
}

int refusal_text(const struct refusal *refusal, struct buffer *out)
{
	char dst[POLICY_DESTINATION_TEXT_MAX] = "the request";
	const struct policy_verdict *verdict = refusal->verdict;
	int r;

	if (refusal->dst && refusal->dst->host[0])
		(void)policy_destination_text(refusal->dst, dst);
	r = buffer_printf(out, REFUSAL_TEXT_MAX, "sallyport: %s: %s (%s)\n%s\n", status_of(refusal),
			  dst, policy_reason_code(refusal->reason),
			  policy_reason_sentence(refusal->reason));
	if (verdict) {
		r = r ? r : put_line(out, "rule", verdict->rule);
		if (policy_because_adds(verdict->rule, verdict->because))
			r = r ? r : put_line(out, "because", verdict->because);
		r = r ? r : put_line(out, "by", verdict->by);
	}
	r = r ? r : put_line(out, "cause", refusal->cause);
	return r ? r : put_line(out, "next", next_of(refusal));
}

static int put_member(struct buffer *out, const char *name, const char *value)
{
	int r = buffer_printf(out, REFUSAL_TEXT_MAX, ",\"%s\":", name);

	return r ? r : put_json(out, REFUSAL_TEXT_MAX, value ? value : "");
}

int refusal_json(const struct refusal *refusal, struct buffer *out)
{
	static const struct policy_destination nowhere;
	static const struct policy_verdict none;
	const struct policy_destination *dst = refusal->dst ? refusal->dst : &nowhere;
	const struct policy_verdict *verdict = refusal->verdict ? refusal->verdict : &none;
	int r = buffer_printf(out, REFUSAL_TEXT_MAX, "{\"status\":\"%s\"", status_of(refusal));

	r = r ? r : put_member(out, "reason", policy_reason_code(refusal->reason));
	r = r ? r : put_member(out, "host", dst->host);
	r = r ? r : buffer_printf(out, REFUSAL_TEXT_MAX, ",\"port\":%u", (unsigned int)dst->port);
	r = r ? r
	      : put_member(out, "protocol",
			   dst->host[0] ? policy_protocol_name(dst->protocol) : "");
	r = r ? r : put_member(out, "rule", verdict->rule);
	r = r ? r : put_member(out, "because", verdict->because);
	r = r ? r : put_member(out, "by", verdict->by);
	r = r ? r : put_member(out, "message", policy_reason_sentence(refusal->reason));
	r = r ? r : put_member(out, "next", next_of(refusal));
	r = r ? r : put_member(out, "cause", refusal->cause);
	return r ? r : buffer_append(out, "}\n", 2, REFUSAL_TEXT_MAX);
}

/* The weight of one element of Accept, in thousandths; 0 for what cannot be parsed. */
static int quality_of(const char *at, size_t len)
{
	int weight = 0, unit = QUALITY_UNIT;

	for (size_t i = 0; i + 2 < len; i++) {
		if ((at[i] != 'q' && at[i] != 'Q') || at[i + 1] != '=' ||
		    (i && at[i - 1] != ';' && at[i - 1] != ' ' && at[i - 1] != '\t'))
			continue;
		for (i += 2; i < len && unit; i++) {
			if (at[i] == '.')
				continue;
			if (at[i] < '0' || at[i] > '9')
				break;
			weight += (at[i] - '0') * unit;
			unit /= 10;
		}
		return weight;
	}
	return QUALITY_UNIT;
}

static void accept_element(const char *at, size_t len, int *json, int *text)
{
	size_t type;

	while (len && (*at == ' ' || *at == '\t')) {
		at++;
		len--;
	}
	for (type = 0; type < len && !strchr("; \t", at[type]); type++)
		;

	int weight = quality_of(at + type, len - type);

	if (text_equal_nocase(at, type, "application/json") && weight > *json)
		*json = weight;
	if (type > 5 && text_equal_nocase(at, 5, "text/") && weight > *text)
		*text = weight;
}

bool refusal_wants_json(const struct http1_head *head)
{
	int json = 0, text = 0;

	for (size_t i = 0; i < head->field_count; i++) {
		struct http1_span value = head->fields[i].value;
		size_t start = 0;

		if (!text_equal_nocase(head->fields[i].name.at, head->fields[i].name.len, "accept"))
			continue;
		for (size_t at = 0; at <= value.len; at++) {
			if (at < value.len && value.at[at] != ',')
				continue;
			accept_element(value.at + start, at - start, &json, &text);
			start = at + 1;
		}
	}
	return json > 0 && json >= text;
}

static const char *status_words(int status)
{
	static const struct {
		int status;
		const char *words;
	} table[] = {
		{ 200, "OK" },
		{ 400, "Bad Request" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 407, "Proxy Authentication Required" },
		{ 408, "Request Timeout" },
		{ 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" },
		{ 501, "Not Implemented" },
		{ 502, "Bad Gateway" },
		{ 503, "Service Unavailable" },
		{ 504, "Gateway Timeout" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (table[i].status == status)
			return table[i].words;
	}
	return "Refused";
}

int refusal_http_page(int status, const struct refusal_style *style, const char *extra_fields,
		      const struct buffer *body, struct buffer *out)
{
	const char *connection = style->keeps_alive ? "" : "connection: close\r\n";
	int r = buffer_printf(out, HTTP_MAX,
			      "HTTP/1.1 %d %s\r\n%scontent-type: %s\r\ncontent-length: %u\r\n"
			      "cache-control: no-store\r\n%s\r\n",
			      status, status_words(status), extra_fields,
			      style->wants_json ? "application/json" : "text/plain; charset=utf-8",
			      body->len, connection);

	return r || style->is_head ? r : buffer_append(out, buffer_at(body), body->len, HTTP_MAX);
}

/* How long to wait before the next request, at most (RFC 9110 §10.2.3). */
static void put_retry_after(const struct policy_limits *limits, char *fields, size_t size)
{
	size_t len = strlen(fields);

	if (limits->rate_count)
		(void)snprintf(fields + len, size - len, "retry-after: %u\r\n",
			       (limits->rate_s - 1) / limits->rate_count + 1);
}

/* RFC 7617 §2 */
static void put_challenge(char *fields, size_t size)
{
	size_t len = strlen(fields);

	(void)snprintf(fields + len, size - len,
		       "proxy-authenticate: Basic realm=\"sallyport\", charset=\"UTF-8\"\r\n");
}

int refusal_http(const struct refusal *refusal, const struct refusal_style *style,
		 struct buffer *out)
{
	struct buffer body = { 0 };
	char fields[160];
	int status = policy_reason_status(refusal->reason);
	int r = style->wants_json ? refusal_json(refusal, &body) : refusal_text(refusal, &body);

	(void)snprintf(fields, sizeof(fields), "x-sallyport-reason: %s\r\n",
		       policy_reason_code(refusal->reason));
	if (refusal->reason == POLICY_RATE_LIMITED && refusal->verdict)
		put_retry_after(&refusal->verdict->limits, fields, sizeof(fields));
	if (refusal->reason == POLICY_LOGIN_NEEDED)
		put_challenge(fields, sizeof(fields));
	if (status < 400)
		status = 403; /* a refusal never has a success status, whatever its reason */
	r = r ? r : refusal_http_page(status, style, fields, &body, out);
	buffer_clear(&body);
	return r;
}
