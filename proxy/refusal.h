/* refusal: why something did not happen, told the same way on every path: reason code, rule with
 * file:line, sentence, next step. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policies/policies.h"
#include "proxy/buffer.h"
#include "proxy/limits.h"
#include "proxy/parse/http1.h"

/* Plain value; all texts borrowed. */
struct refusal {
	enum policy_reason reason;
	const struct policy_destination *dst; /* host "": not known */
	const struct policy_verdict *verdict; /* for rule, because, by; NULL: none */
	const char *cause;                    /* NULL or "": none */
};

#define REFUSAL_TEXT_MAX 16384

/* Lines for people. -E2BIG cannot happen with texts of the sizes of struct policy_verdict. */
int refusal_text(const struct refusal *refusal, struct buffer *out);
int refusal_json(const struct refusal *refusal, struct buffer *out);

/* What an HTTP answer of our own has to know of the request it answers. */
struct refusal_style {
	bool wants_json;
	bool is_head; /* no body */
	bool keeps_alive;
	bool is_http10;
};
/* Does Accept name JSON, and no text that it likes better? */
bool refusal_wants_json(const struct http1_head *head);
/* A whole answer: status by reason, x-sallyport-reason, cache-control: no-store, a body by @style.
 */
int refusal_http(const struct refusal *refusal, const struct refusal_style *style,
		 struct buffer *out);
/* An answer of our own that is no refusal: @body as it is. */
int refusal_http_page(int status, const struct refusal_style *style, const char *extra_fields,
		      const struct buffer *body, struct buffer *out);
