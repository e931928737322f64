#include "gateway/approvers/web_head.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

static bool head_is_token(char byte) /* RFC 9110 §5.6.2 */
{
	return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
	       (byte >= 'A' && byte <= 'Z') || (byte && strchr("!#$%&'*+-.^_`|~", byte));
}

/* Up to the CRLF, which is consumed. -EAGAIN: there is none yet. A bare CR or LF, NUL, and every
 * other control byte but tab is nothing that a line holds. */
static int head_take_line(struct web_span *rest, struct web_span *ret)
{
	for (size_t i = 0; i < rest->len; i++) {
		unsigned char byte = (unsigned char)rest->at[i];

		if (byte == '\r') {
			if (i + 1 == rest->len)
				return -EAGAIN;
			if (rest->at[i + 1] != '\n')
				return -EBADMSG;
			*ret = (struct web_span){ rest->at, i };
			rest->at += i + 2;
			rest->len -= i + 2;
			return 0;
		}
		if ((byte < ' ' && byte != '\t') || byte == 0x7f)
			return -EBADMSG;
	}
	return -EAGAIN;
}

bool web_head_is(const struct web_span *span, const char *text)
{
	return span->at && span->len == strlen(text) && memcmp(span->at, text, span->len) == 0;
}

static int head_take_request(const struct web_span *line, struct web_head *head)
{
	const char *space = memchr(line->at, ' ', line->len);
	struct web_span method, version;

	if (!space || space == line->at)
		return -EBADMSG;
	method = (struct web_span){ line->at, (size_t)(space - line->at) };
	for (size_t i = 0; i < method.len; i++) {
		if (!head_is_token(method.at[i]))
			return -EBADMSG;
	}
	head->path.at = space + 1;
	space = memchr(head->path.at, ' ', line->len - method.len - 1);
	if (!space || head->path.at[0] != '/')
		return -EBADMSG; /* neither absolute-form nor "*": this is no proxy */
	head->path.len = (size_t)(space - head->path.at);
	for (size_t i = 0; i < head->path.len; i++) {
		if (head->path.at[i] <= ' ') /* a tab, or a byte above 0x7f */
			return -EBADMSG;
	}
	version = (struct web_span){ space + 1, line->len - (size_t)(space + 1 - line->at) };
	if (!web_head_is(&version, "HTTP/1.1"))
		return version.len == 8 && memcmp(version.at, "HTTP/", 5) == 0 ? -EPROTONOSUPPORT
									       : -EBADMSG;
	head->method = web_head_is(&method, "GET")    ? WEB_GET
		       : web_head_is(&method, "POST") ? WEB_POST
						      : WEB_OTHER_METHOD;
	return 0;
}

static int head_read_length(struct web_head *head)
{
	uint64_t length = 0;
	int r = head->content_length.at
			? text_to_u64(head->content_length.at, head->content_length.len,
				      WEB_BODY_MAX_BYTES, &length)
			: 0;

	if (r < 0)
		return r == -ERANGE ? -EMSGSIZE : -EBADMSG;
	head->body_len = (size_t)length;
	return 0;
}

/* "name: value", the value trimmed. */
static int head_split(const struct web_span *line, struct web_span *ret_name,
		      struct web_span *ret_value)
{
	const char *colon = memchr(line->at, ':', line->len), *end = line->at + line->len;

	if (!colon || colon == line->at)
		return -EBADMSG;
	*ret_name = (struct web_span){ line->at, (size_t)(colon - line->at) };
	for (size_t i = 0; i < ret_name->len; i++) {
		if (!head_is_token(ret_name->at[i])) /* folding and a space before the colon too */
			return -EBADMSG;
	}
	for (colon++; colon < end && (*colon == ' ' || *colon == '\t'); colon++)
		;
	for (; end > colon && (end[-1] == ' ' || end[-1] == '\t'); end--)
		;
	*ret_value = (struct web_span){ colon, (size_t)(end - colon) };
	return 0;
}

static int head_take_field(const struct web_span *line, struct web_head *head)
{
	struct web_span name, value;
	const struct {
		const char *name;
		struct web_span *ret;
	} known[] = {
		{ "host", &head->host },
		{ "origin", &head->origin },
		{ "sec-fetch-site", &head->fetch_site },
		{ "content-type", &head->content_type },
		{ "cookie", &head->cookie },
		{ "sallyport-key", &head->key },
		{ "content-length", &head->content_length },
	};

	if (head_split(line, &name, &value) < 0)
		return -EBADMSG;
	/* No browser sends a page's own requests with either, and both change what a body is. */
	if (text_equal_nocase(name.at, name.len, "transfer-encoding") ||
	    text_equal_nocase(name.at, name.len, "expect"))
		return -EBADMSG;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (!text_equal_nocase(name.at, name.len, known[i].name))
			continue;
		if (known[i].ret->at)
			return -EBADMSG; /* twice */
		*known[i].ret = value;
	}
	return 0;
}

static int head_take_fields(struct web_span *rest, struct web_head *head)
{
	for (size_t i = 0; i <= WEB_HEAD_FIELDS; i++) {
		struct web_span line;
		int r = head_take_line(rest, &line);

		if (r < 0 || line.len == 0)
			return r;
		r = head_take_field(&line, head);
		if (r < 0)
			return r;
	}
	return -E2BIG;
}

int web_head_parse(const char *bytes, size_t len, struct web_head *ret)
{
	struct web_span rest = { bytes, len < WEB_HEAD_MAX_BYTES ? len : WEB_HEAD_MAX_BYTES }, line;
	struct web_head head = { 0 };
	int r = head_take_line(&rest, &line);

	if (r == 0)
		r = head_take_request(&line, &head);
	if (r == 0)
		r = head_take_fields(&rest, &head);
	if (r == -EAGAIN && len >= WEB_HEAD_MAX_BYTES)
		return -E2BIG;
	if (r == 0)
		r = head_read_length(&head);
	if (r < 0)
		return r;
	if (!head.host.at) /* RFC 9112 §3.2 */
		return -EBADMSG;
	head.len = (size_t)(rest.at - bytes);
	*ret = head;
	return 0;
}

struct web_span web_head_cookie(const struct web_head *head, const char *name)
{
	const char *at = head->cookie.at, *end = at ? at + head->cookie.len : NULL;
	size_t name_len = strlen(name);
	struct web_span found = { 0 };

	while (at && at < end) {
		const char *stop = memchr(at, ';', (size_t)(end - at));

		if (!stop)
			stop = end;
		while (at < stop && *at == ' ')
			at++;
		if ((size_t)(stop - at) > name_len && memcmp(at, name, name_len) == 0 &&
		    at[name_len] == '=') {
			if (found.at) /* which of them is ours nobody can say */
				return (struct web_span){ 0 };
			found = (struct web_span){ at + name_len + 1,
						   (size_t)(stop - at) - name_len - 1 };
		}
		at = stop < end ? stop + 1 : end;
	}
	return found;
}
