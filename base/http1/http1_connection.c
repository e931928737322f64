#include "base/http1/http1_connection.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/http1/http1_head.h"
#include "base/http1/http1_chars.h"

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool is_equal_nocase(struct http1_span left, struct http1_span right)
{
	if (left.len != right.len)
		return false;
	for (size_t i = 0; i < left.len; i++) {
		if (lower(left.at[i]) != lower(right.at[i]))
			return false;
	}
	return true;
}

/* Cuts the first element off the comma-separated @rest. */
static struct http1_span next_element(struct http1_span *rest)
{
	const char *comma = memchr(rest->at, ',', rest->len);
	struct http1_span element = *rest;

	if (comma != NULL) {
		element.len = (size_t)(comma - rest->at);
		rest->len -= element.len + 1;
		rest->at = comma + 1;
	} else {
		rest->len = 0;
	}
	return http1_chars_trim(element);
}

/* Does a Connection field name @option? */
static bool has_option(const struct http1_head *head, struct http1_span option)
{
	for (size_t i = 0; i < head->field_count; i++) {
		const struct http1_field *field = &head->fields[i];

		if (!text_equal_nocase(field->name.at, field->name.len, "connection"))
			continue;
		for (struct http1_span rest = field->value; rest.len > 0;) {
			if (is_equal_nocase(next_element(&rest), option))
				return true;
		}
	}
	return false;
}

static bool has_option_text(const struct http1_head *head, const char *option)
{
	return has_option(head, (struct http1_span){ option, strlen(option) });
}

/* RFC 9112 §9.3. We are a proxy, so an HTTP/1.0 request never persists: a proxy between us and its
 * sender may have passed the option on without knowing it. */
static bool may_persist(const struct http1_head *head, bool is_request)
{
	if (has_option_text(head, "close") || head->body == HTTP1_UNTIL_CLOSE)
		return false;
	if (head->minor >= 1)
		return true;
	return !is_request && has_option_text(head, "keep-alive");
}

void http1_connection_read(struct http1_head *head, bool is_request)
{
	const struct http1_field *expect = http1_head_find(head, "expect");

	head->keep_alive = may_persist(head, is_request);
	/* RFC 9110 §7.8, §10.1.1: both are ignored in HTTP/1.0. */
	if (head->minor == 0)
		return;
	head->has_upgrade =
		http1_head_find(head, "upgrade") != NULL && has_option_text(head, "upgrade");
	head->expects_continue =
		is_request && expect != NULL &&
		text_equal_nocase(expect->value.at, expect->value.len, "100-continue");
}

bool http1_connection_ends_field(const struct http1_head *head, const struct http1_field *field)
{
	static const char *const fixed[] = { "connection", "keep-alive",        "te",
					     "trailer",    "transfer-encoding", "upgrade" };
	static const char *const end_to_end[] = { "content-length", "host" };
	struct http1_span name = field->name;

	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
		if (text_equal_nocase(name.at, name.len, fixed[i]))
			return true;
	}
	if (name.len >= 6 && text_equal_nocase(name.at, 6, "proxy-"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(end_to_end); i++) {
		if (text_equal_nocase(name.at, name.len, end_to_end[i]))
			return false;
	}
	return has_option(head, name);
}
