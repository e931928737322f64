/* gate_pages: the pages of http://sallyport.internal, where a command reads its network denials and
 * what policy says about a destination, and may propose one. Pure: builds pages, sends nothing. */
#pragma once

#include <stdbool.h>

#include "policies/policies.h"
#include "proxy/relay/buffer.h"
#include "base/http1/http1.h"
#include "proxy/http/refusal.h"

struct way;

#define GATE_PAGES_REASON_MAX 301 /* bytes of a proposal's reason, and NUL */

/* The result of a request for a page. */
struct gate_pages_page {
	int status;
	bool is_json;
	struct buffer body; /* the caller clears it */
	/* The page is not written yet: the gateway decides @dst first. */
	bool is_proposal;
	struct policy_destination dst;
	char reason[GATE_PAGES_REASON_MAX]; /* as the command wrote it */
};
void gate_pages_page_make(const struct way *way, const struct http1_head *head,
			  const struct refusal_style *style, struct gate_pages_page *ret);
/* The page for a proposal that was allowed. */
int gate_pages_allowed(const struct policy_destination *dst, const struct policy_verdict *verdict,
		       const struct refusal_style *style, struct buffer *out);
