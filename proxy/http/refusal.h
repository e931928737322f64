/* refusal: why a request was refused or failed, with the same content in every protocol: reason
 * code, rule with file:line, sentence, next step. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policies/policies.h"
#include "proxy/relay/buffer.h"
#include "proxy/limits.h"
#include "base/http1/http1.h"

/* Plain value; borrows all texts. */
struct refusal {
	enum policy_reason reason;
	const struct policy_destination *dst; /* host "": unknown */
	const struct policy_verdict *verdict; /* for rule, because, by; NULL: none */
	const char *cause;                    /* NULL or "": none */
	bool is_unasked;                      /* nobody is asked (--ci) */
};

#define REFUSAL_TEXT_MAX 16384

/* Plain text lines. -E2BIG cannot happen with texts that fit struct policy_verdict. */
int refusal_text(const struct refusal *refusal, struct buffer *out);
int refusal_json(const struct refusal *refusal, struct buffer *out);

/* What a response of our own needs to know about the request. */
struct refusal_style {
	bool wants_json;
	bool is_head; /* no body */
	bool keeps_alive;
	bool is_http10;
};
/* Does Accept name JSON, and no text type with a higher weight? */
bool refusal_wants_json(const struct http1_head *head);
/* A complete response: status by reason, x-sallyport-reason, cache-control: no-store, a body by
 * @style. */
int refusal_http(const struct refusal *refusal, const struct refusal_style *style,
		 struct buffer *out);
/* A response of our own that is not a refusal: @body unchanged. */
int refusal_http_page(int status, const struct refusal_style *style, const char *extra_fields,
		      const struct buffer *body, struct buffer *out);
