#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/http1/http1.h"
#include "tests/fuzz/fuzz.h"

/* NULL: a request; else the response to one with this method. */
static const char *const methods[] = { NULL, "GET", "HEAD", "CONNECT" };

struct input {
	const char *at;
	size_t len;
	const char *method;
};

static int parse(const struct input *input, size_t len, size_t *scanned, struct http1_head *head)
{
	const char *cause = NULL;
	int r;

	if (input->method == NULL)
		r = http1_parse_request(input->at, len, scanned, head, &cause);
	else
		r = http1_parse_response(
			input->at, len, scanned,
			(struct http1_span){ input->method, strlen(input->method) }, head, &cause);
	fuzz_must(r == 0 || r == -EAGAIN || r == -EBADMSG || r == -E2BIG);
	fuzz_must((cause != NULL) == (r == -EBADMSG || r == -E2BIG));
	return r;
}

static void must_be_inside(const struct http1_head *head, const char *buffer,
			   struct http1_span span)
{
	fuzz_must(span.len == 0 ||
		  (span.at >= buffer && span.at + span.len <= buffer + head->bytes));
}

static void must_have_none(struct http1_span span, const char *bytes)
{
	for (size_t i = 0; i < span.len; i++)
		fuzz_must(span.at[i] != '\0' && strchr(bytes, span.at[i]) == NULL);
}

/* No reader of the head may find a line end where we found none. */
static void must_be_framed(const struct http1_head *head, const char *buffer)
{
	fuzz_must(head->bytes >= 4 && memcmp(buffer + head->bytes - 4, "\r\n\r\n", 4) == 0);
	for (size_t i = 0; i < head->bytes; i++) {
		fuzz_must(buffer[i] != '\0');
		fuzz_must(buffer[i] != '\n' || buffer[i - 1] == '\r');
		fuzz_must(buffer[i] != '\r' || buffer[i + 1] == '\n');
	}
}

/* The obvious way: what a server that decodes and walks finds never is above the root. */
static void must_be_path(struct http1_span path)
{
	long folders = 0;
	bool is_named = false;

	for (size_t i = 0; i < path.len && path.at[i] != '?'; i++) {
		size_t end = i;

		if (path.at[i] == '%')
			fuzz_must(path.len - i > 2 && strncmp(path.at + i, "%00", 3) != 0 &&
				  isxdigit((unsigned char)path.at[i + 1]) &&
				  isxdigit((unsigned char)path.at[i + 2]));
		if (path.at[i] != '/')
			continue;
		for (end = i + 1; end < path.len && !strchr("/?", path.at[end]); end++)
			is_named |= path.at[end] != '.';
		if (end - i == 3 && memcmp(path.at + i, "/..", 3) == 0)
			folders--;
		else
			folders += is_named || end - i > 3;
		is_named = false;
		fuzz_must(folders >= 0);
	}
}

static void check_request(const struct http1_head *head, const char *buffer)
{
	bool has_authority = head->form == HTTP1_ABSOLUTE || head->form == HTTP1_AUTHORITY;

	must_be_inside(head, buffer, head->method);
	must_be_inside(head, buffer, head->target);
	must_be_inside(head, buffer, head->scheme);
	must_be_inside(head, buffer, head->host);
	must_be_inside(head, buffer, head->userinfo);
	must_be_inside(head, buffer, head->host_field);
	must_be_inside(head, buffer, head->host_field_name);
	if (head->path.len != 1)
		must_be_inside(head, buffer, head->path);
	must_have_none(head->target, " \t\r\n#");
	if (head->path.len > 0)
		must_be_path(head->path);
	must_have_none(head->host, " \t\r\n#@/\\?%[]\"");
	must_have_none(head->host_field, " \t\r\n#@/\\?%\"");
	must_have_none(head->userinfo, " \t\r\n#@/\\?[]");
	fuzz_must(has_authority == (head->host.len > 0) && has_authority == (head->port > 0));
	fuzz_must((head->form == HTTP1_AUTHORITY) ==
		  (head->method.len == 7 && memcmp(head->method.at, "CONNECT", 7) == 0));
	fuzz_must(head->path.len == 0 || head->path.at[0] == '/' || head->path.at[0] == '*');
	fuzz_must(head->body != HTTP1_UNTIL_CLOSE);
}

static void check_head(const struct http1_head *head, const struct input *input)
{
	size_t lengths = 0, codings = 0;

	must_be_framed(head, input->at);
	fuzz_must(head->field_count <= HTTP1_FIELDS_MAX);
	fuzz_must(head->minor == 0 || head->minor == 1);
	for (size_t i = 0; i < head->field_count; i++) {
		const struct http1_field *field = &head->fields[i];

		must_be_inside(head, input->at, field->name);
		must_be_inside(head, input->at, field->value);
		must_have_none(field->name, " \t\r\n:");
		must_have_none(field->value, "\r\n");
		fuzz_must(field->name.len > 0);
		lengths += field->name.len == 14 &&
			   strncasecmp(field->name.at, "content-length", 14) == 0;
		codings += field->name.len == 17 &&
			   strncasecmp(field->name.at, "transfer-encoding", 17) == 0;
		http1_connection_ends_field(head, field);
	}
	fuzz_must(lengths + codings <= 1);
	fuzz_must(head->body != HTTP1_LENGTH || lengths == 1);
	fuzz_must(head->body != HTTP1_CHUNKED || (codings == 1 && head->minor == 1));
	if (input->method == NULL)
		check_request(head, input->at);
	else
		fuzz_must(head->status >= 100 && head->status <= 599);
}

/* Grown in uneven steps, as segments arrive, the first answer is the answer. */
static void check_segments(const struct input *input, int want, const struct http1_head *want_head)
{
	static struct http1_head head;
	size_t scanned = 0, step = 1 + input->len % 7;
	int r = -EAGAIN;

	for (size_t len = 0; r == -EAGAIN && len < input->len; len += step) {
		r = parse(input, len, &scanned, &head);
		step = len > 256 ? 61 : 1 + (step * 5 + 3) % 7;
	}
	if (r == -EAGAIN)
		r = parse(input, input->len, &scanned, &head);
	fuzz_must(r == want);
	if (r < 0)
		return;
	fuzz_must(head.bytes == want_head->bytes && head.field_count == want_head->field_count);
	fuzz_must(head.body == want_head->body && head.length == want_head->length);
	fuzz_must(head.host.at == want_head->host.at && head.host.len == want_head->host.len);
	fuzz_must(head.port == want_head->port && head.keep_alive == want_head->keep_alive);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		static struct http1_head head;
		struct input input = { (const char *)bytes, len, methods[i] };
		size_t scanned = 0;
		int r = parse(&input, len, &scanned, &head);

		if (r == 0)
			check_head(&head, &input);
		check_segments(&input, r, &head);
	}
	return 0;
}
