#include "base/http1/http1.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "base/http1/http1_body.h"
#include "base/http1/http1_chars.h"
#include "base/http1/http1_refuse.h"
#include "base/http1/http1_target.h"

#define METHOD_MAX_BYTES 32

/* Describes the error of the byte at @at, or NULL. Looks at one byte more at most, for the LF
 * behind a CR. */
static const char *wrong_byte(const char *buffer, size_t at)
{
	switch (buffer[at]) {
	case '\r':
		return buffer[at + 1] == '\n' ? NULL : "a CR is not followed by LF";
	case '\n':
		return at > 0 && buffer[at - 1] == '\r' ? NULL : "an LF is not preceded by CR";
	case '\0':
		return "the head contains a NUL byte";
	default:
		return "the head contains a control byte";
	}
}

/* Finds the blank line. Each byte is validated once, from left to right and before any line is
 * parsed, so that the result does not depend on how the bytes were split, and bytes that are not
 * HTTP are refused long before a blank line. *@scanned is always the position of a byte that is not
 * validated yet. */
static int find_end(const char *buffer, size_t len, size_t *scanned, size_t *ret_end,
		    const char **ret_cause)
{
	size_t limit = len < HTTP1_HEAD_MAX ? len : HTTP1_HEAD_MAX;
	size_t at = *scanned;

	for (; at < limit; at++) {
		if (http1_chars_is(buffer[at], HTTP1_CHAR_FIELD))
			continue;
		if (buffer[at] == '\r' && at + 1 == limit)
			break;

		const char *cause = wrong_byte(buffer, at);

		if (cause != NULL)
			return http1_refuse(ret_cause, cause);
		if (buffer[at] == '\n' && at >= 3 && buffer[at - 2] == '\n') {
			*scanned = 0;
			*ret_end = at + 1;
			return 0;
		}
	}
	if (len >= HTTP1_HEAD_MAX)
		return http1_refuse_size(ret_cause, "the head is longer than 32768 bytes");
	*scanned = at;
	return -EAGAIN;
}

/* Cuts the first line, without its CRLF, off @rest. find_end() has checked that there is one. */
static struct http1_span next_line(struct http1_span *rest)
{
	const char *lf = memchr(rest->at, '\n', rest->len);
	struct http1_span line = { rest->at, (size_t)(lf - rest->at) - 1 };

	rest->at += line.len + 2;
	rest->len -= line.len + 2;
	return line;
}

/* Cuts the word before the first space off @rest; there must be a space. */
static int next_word(struct http1_span *rest, struct http1_span *ret_word)
{
	const char *space = memchr(rest->at, ' ', rest->len);

	if (space == NULL)
		return -EBADMSG;
	*ret_word = (struct http1_span){ rest->at, (size_t)(space - rest->at) };
	rest->at += ret_word->len + 1;
	rest->len -= ret_word->len + 1;
	return 0;
}

static int parse_version(struct http1_span text, int *ret_minor, const char **ret_cause)
{
	if (text.len == 8 && memcmp(text.at, "HTTP/1.", 7) == 0 &&
	    (text.at[7] == '0' || text.at[7] == '1')) {
		*ret_minor = text.at[7] - '0';
		return 0;
	}
	if (text.len >= 6 && memcmp(text.at, "HTTP/2", 6) == 0)
		return http1_refuse(ret_cause, "HTTP/2 without negotiation is not supported");
	return http1_refuse(ret_cause, "the version is neither HTTP/1.1 nor HTTP/1.0");
}

/* RFC 9110 §9.1 leaves the list of methods open, and WebDAV, caches and package servers have their
 * own. An unknown method is passed on, although some servers refuse it: only CONNECT and HEAD
 * change how a message is delimited, and rules with `method` match the word as it is. */
static int parse_method(struct http1_span method, const char **ret_cause)
{
	if (method.len == 0 || method.at[0] < 'A' || method.at[0] > 'Z' ||
	    !http1_chars_all(method, HTTP1_CHAR_METHOD))
		return http1_refuse(ret_cause, "the method is not in upper-case letters");
	if (method.len > METHOD_MAX_BYTES)
		return http1_refuse(ret_cause, "the method is longer than 32 bytes");
	if (text_equal_nocase(method.at, method.len, "PRI"))
		return http1_refuse(ret_cause, "HTTP/2 without negotiation is not supported");
	/* TRACE makes a server send the request back, credentials included: RFC 9110 §9.3.8. */
	if (text_equal_nocase(method.at, method.len, "TRACE") ||
	    text_equal_nocase(method.at, method.len, "TRACK"))
		return http1_refuse(ret_cause, "TRACE is not supported");
	return 0;
}

/* RFC 9112 §3; exactly one space between the parts, as required there. */
static int parse_request_line(struct http1_span line, struct http1_head *head,
			      const char **ret_cause)
{
	int r;

	if (next_word(&line, &head->method) < 0 || next_word(&line, &head->target) < 0)
		return http1_refuse(ret_cause, "the request line is not that of HTTP/1.1");
	r = parse_method(head->method, ret_cause);
	if (r < 0)
		return r;
	r = parse_version(line, &head->minor, ret_cause);
	if (r < 0)
		return r;
	return http1_target_parse(head, ret_cause);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* RFC 9112 §4. Some servers leave out the space before an empty reason: that is unambiguous, and
 * accepted. */
static int parse_status_line(struct http1_span line, struct http1_head *head,
			     const char **ret_cause)
{
	struct http1_span version;
	int r;

	if (next_word(&line, &version) < 0)
		return http1_refuse(ret_cause, "the status line is not that of HTTP/1.1");
	r = parse_version(version, &head->minor, ret_cause);
	if (r < 0)
		return r;
	if (line.len < 3 || line.at[0] < '1' || line.at[0] > '5' || !is_digit(line.at[1]) ||
	    !is_digit(line.at[2]) || (line.len > 3 && line.at[3] != ' '))
		return http1_refuse(ret_cause, "the status is not a number from 100 to 599");
	head->status = (line.at[0] - '0') * 100 + (line.at[1] - '0') * 10 + (line.at[2] - '0');
	head->reason = line.len > 3 ? (struct http1_span){ line.at + 4, line.len - 4 }
				    : (struct http1_span){ line.at + 3, 0 };
	return 0;
}

/* These fields delimit and route messages. RFC 9110 §5.5 allows a tab around any value, but some
 * servers treat it as part of the value. */
static bool is_strict_about_tabs(struct http1_span name)
{
	return text_equal_nocase(name.at, name.len, "content-length") ||
	       text_equal_nocase(name.at, name.len, "transfer-encoding") ||
	       text_equal_nocase(name.at, name.len, "host");
}

/* RFC 9112 §5. find_end() has validated the bytes of the value. */
static int parse_field(struct http1_span line, struct http1_field *ret, const char **ret_cause)
{
	const char *colon = memchr(line.at, ':', line.len);

	if (http1_chars_is_blank(line.at[0]))
		return http1_refuse(ret_cause, "a field line starts with a space (folding)");
	if (colon == NULL)
		return http1_refuse(ret_cause, "a field line has no colon");

	struct http1_span name = { line.at, (size_t)(colon - line.at) };
	struct http1_span value = { colon + 1, line.len - name.len - 1 };

	if (name.len == 0)
		return http1_refuse(ret_cause, "a field has an empty name");
	if (http1_chars_is_blank(name.at[name.len - 1]))
		return http1_refuse(ret_cause,
				    "there is a space between a field's name and its colon");
	if (!http1_chars_all(name, HTTP1_CHAR_TOKEN))
		return http1_refuse(ret_cause, "a field name contains an invalid byte");
	if (is_strict_about_tabs(name) && value.len > 0 && memchr(value.at, '\t', value.len))
		return http1_refuse(ret_cause, "there is a tab next to the value of "
					       "Content-Length, Transfer-Encoding or Host");
	*ret = (struct http1_field){ name, http1_chars_trim(value) };
	return 0;
}

/* @rest: all field lines and the blank line. */
static int parse_fields(struct http1_span rest, struct http1_head *head, const char **ret_cause)
{
	for (;;) {
		struct http1_span line = next_line(&rest);
		int r;

		if (line.len == 0)
			return 0;
		if (head->field_count == HTTP1_FIELDS_MAX)
			return http1_refuse_size(ret_cause, "there are more than 100 fields");
		r = parse_field(line, &head->fields[head->field_count], ret_cause);
		if (r < 0)
			return r;
		head->field_count++;
	}
}

int http1_parse_request(const char *buffer, size_t len, size_t *scanned, struct http1_head *ret,
			const char **ret_cause)
{
	struct http1_head head = { 0 };
	int r;

	assert(*scanned <= len);
	r = find_end(buffer, len, scanned, &head.bytes, ret_cause);
	if (r < 0)
		return r;

	struct http1_span rest = { buffer, head.bytes };

	/* RFC 9112 §2.2 lets a server skip an empty line here; servers differ in how many. We skip
	 * none. */
	r = parse_request_line(next_line(&rest), &head, ret_cause);
	if (r < 0)
		return r;
	r = parse_fields(rest, &head, ret_cause);
	if (r < 0)
		return r;
	r = http1_target_parse_host(&head, ret_cause);
	if (r < 0)
		return r;
	r = http1_body_of_request(&head, ret_cause);
	if (r < 0)
		return r;
	http1_connection_read(&head, true);
	*ret = head;
	return 0;
}

int http1_parse_response(const char *buffer, size_t len, size_t *scanned, struct http1_span method,
			 struct http1_head *ret, const char **ret_cause)
{
	struct http1_head head = { 0 };
	int r;

	assert(*scanned <= len);
	r = find_end(buffer, len, scanned, &head.bytes, ret_cause);
	if (r < 0)
		return r;

	struct http1_span rest = { buffer, head.bytes };

	r = parse_status_line(next_line(&rest), &head, ret_cause);
	if (r < 0)
		return r;
	r = parse_fields(rest, &head, ret_cause);
	if (r < 0)
		return r;
	r = http1_body_of_response(&head, method, ret_cause);
	if (r < 0)
		return r;
	http1_connection_read(&head, false);
	*ret = head;
	return 0;
}
