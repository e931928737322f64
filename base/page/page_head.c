#include "base/page/page_head.h"

#include <errno.h>
#include <string.h>

#include "base/http1/http1.h"
#include "base/mem.h"
#include "base/text.h"

bool page_head_is(const struct http1_span *span, const char *text)
{
	return span->at && span->len == strlen(text) && memcmp(span->at, text, span->len) == 0;
}

static int head_take_field(const struct http1_field *field, struct page_head *head)
{
	struct http1_span name = field->name;
	const struct {
		const char *name;
		struct http1_span *ret;
	} known[] = {
		{ "host", &head->host },
		{ "origin", &head->origin },
		{ "sec-fetch-site", &head->fetch_site },
		{ "content-type", &head->content_type },
		{ "cookie", &head->cookie },
		{ "sallyport-key", &head->key },
	};

	/* No browser sends either with a page's own requests, and both change the meaning of the
	 * body. */
	if (text_equal_nocase(name.at, name.len, "transfer-encoding") ||
	    text_equal_nocase(name.at, name.len, "expect"))
		return -EBADMSG;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (!text_equal_nocase(name.at, name.len, known[i].name))
			continue;
		if (known[i].ret->at)
			return -EBADMSG; /* twice */
		*known[i].ret = field->value;
	}
	return 0;
}

/* What the page refuses of the heads that the parser accepts. */
static int head_take(const struct http1_head *http1, struct page_head *head)
{
	if (http1->form != HTTP1_ORIGIN) /* this is not a proxy */
		return -EBADMSG;
	if (http1->minor == 0)
		return -EPROTONOSUPPORT;
	if (http1->field_count > PAGE_HEAD_FIELDS)
		return -E2BIG;
	for (size_t i = 0; i < http1->field_count; i++) {
		int r = head_take_field(&http1->fields[i], head);

		if (r < 0)
			return r;
	}
	if (http1->length > PAGE_BODY_MAX_BYTES)
		return -EMSGSIZE;
	head->method = page_head_is(&http1->method, "GET")    ? PAGE_GET
		       : page_head_is(&http1->method, "POST") ? PAGE_POST
							      : PAGE_OTHER_METHOD;
	head->path = http1->path;
	head->body_len = (size_t)http1->length;
	head->len = http1->bytes;
	return 0;
}

int page_head_parse(const char *bytes, size_t len, struct page_head *ret)
{
	size_t most = len < PAGE_HEAD_MAX_BYTES ? len : PAGE_HEAD_MAX_BYTES, scanned = 0;
	struct page_head head = { 0 };
	struct http1_head http1;
	const char *cause;
	int r = http1_parse_request(bytes, most, &scanned, &http1, &cause);

	if (r == -EAGAIN && len >= PAGE_HEAD_MAX_BYTES)
		return -E2BIG;
	if (r == 0)
		r = head_take(&http1, &head);
	if (r == 0)
		*ret = head;
	return r;
}

struct http1_span page_head_cookie(const struct page_head *head, const char *name)
{
	const char *at = head->cookie.at, *end = at ? at + head->cookie.len : NULL;
	size_t name_len = strlen(name);
	struct http1_span found = { 0 };

	while (at && at < end) {
		const char *stop = memchr(at, ';', (size_t)(end - at));

		if (!stop)
			stop = end;
		while (at < stop && *at == ' ')
			at++;
		if ((size_t)(stop - at) > name_len && memcmp(at, name, name_len) == 0 &&
		    at[name_len] == '=') {
			if (found.at) /* two cookies of this name: refuse both */
				return (struct http1_span){ 0 };
			found = (struct http1_span){ at + name_len + 1,
						     (size_t)(stop - at) - name_len - 1 };
		}
		at = stop < end ? stop + 1 : end;
	}
	return found;
}
