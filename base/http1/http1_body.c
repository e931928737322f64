#include "base/http1/http1_body.h"

#include <errno.h>
#include <stdbool.h>

#include "base/text.h"
#include "base/http1/http1_refuse.h"

/* What the fields say, before method and status are considered. */
struct framing {
	const struct http1_field *length_field, *coding_field;
	uint64_t length;
};

static bool is_named(const struct http1_field *field, const char *name)
{
	return text_equal_nocase(field->name.at, field->name.len, name);
}

static int find_fields(const struct http1_head *head, struct framing *ret, const char **ret_cause)
{
	for (size_t i = 0; i < head->field_count; i++) {
		const struct http1_field *field = &head->fields[i];

		if (is_named(field, "content-length")) {
			if (ret->length_field != NULL)
				return http1_refuse(ret_cause,
						    "there is more than one Content-Length field");
			ret->length_field = field;
		} else if (is_named(field, "transfer-encoding")) {
			if (ret->coding_field != NULL)
				return http1_refuse(
					ret_cause,
					"there is more than one Transfer-Encoding field");
			ret->coding_field = field;
		}
	}
	if (ret->length_field != NULL && ret->coding_field != NULL)
		return http1_refuse(ret_cause,
				    "there are both Content-Length and Transfer-Encoding fields");
	return 0;
}

static int read_framing(const struct http1_head *head, struct framing *ret, const char **ret_cause)
{
	const struct http1_field *field;
	int r = find_fields(head, ret, ret_cause);

	if (r < 0)
		return r;
	field = ret->coding_field;
	if (field != NULL && head->minor == 0)
		return http1_refuse(ret_cause, "HTTP/1.0 does not allow Transfer-Encoding");
	if (field != NULL && !text_equal_nocase(field->value.at, field->value.len, "chunked"))
		return http1_refuse(ret_cause, "the Transfer-Encoding is not just \"chunked\"");

	field = ret->length_field;
	if (field != NULL &&
	    text_to_u64(field->value.at, field->value.len, INT64_MAX, &ret->length) < 0)
		return http1_refuse(ret_cause, "the Content-Length is not a single number");
	return 0;
}

int http1_body_of_request(struct http1_head *head, const char **ret_cause)
{
	struct framing framing = { 0 };
	int r = read_framing(head, &framing, ret_cause);

	if (r < 0)
		return r;
	/* RFC 9110 §9.3.6: what follows a CONNECT belongs to the tunnel. */
	if (head->form == HTTP1_AUTHORITY) {
		if (framing.coding_field != NULL || framing.length > 0)
			return http1_refuse(ret_cause, "a CONNECT request has no body");
		head->body = HTTP1_NO_BODY;
		return 0;
	}
	if (framing.coding_field != NULL) {
		head->body = HTTP1_CHUNKED;
	} else if (framing.length_field != NULL) {
		head->body = HTTP1_LENGTH;
		head->length = framing.length;
	} else {
		head->body = HTTP1_NO_BODY;
	}
	return 0;
}

/* RFC 9112 §6.3, rules 1 and 2. */
static bool has_no_body(int status, struct http1_span method)
{
	if (status < 200 || status == 204 || status == 304)
		return true;
	if (text_equal_nocase(method.at, method.len, "HEAD"))
		return true;
	return status < 300 && text_equal_nocase(method.at, method.len, "CONNECT");
}

int http1_body_of_response(struct http1_head *head, struct http1_span method,
			   const char **ret_cause)
{
	struct framing framing = { 0 };
	int r = read_framing(head, &framing, ret_cause);

	if (r < 0)
		return r;
	/* RFC 9112 §6.1, RFC 9110 §8.6: must not be sent; a recipient that uses it and one that
	 * ignores it would disagree on what follows. */
	if ((head->status < 200 || head->status == 204) &&
	    (framing.coding_field != NULL || framing.length > 0))
		return http1_refuse(ret_cause, "a 1xx or 204 response announces a body");
	if (has_no_body(head->status, method)) {
		head->body = HTTP1_NO_BODY;
	} else if (framing.coding_field != NULL) {
		head->body = HTTP1_CHUNKED;
	} else if (framing.length_field != NULL) {
		head->body = HTTP1_LENGTH;
		head->length = framing.length;
	} else {
		head->body = HTTP1_UNTIL_CLOSE;
	}
	return 0;
}
