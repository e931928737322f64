/* own: the pages of http://sallyport.internal, where a command reads what its network did, what
 * policy says of a destination, and may propose one. Pure: a page is made, nothing is sent. */
#pragma once

#include <stdbool.h>

#include "policies/policies.h"
#include "proxy/buffer.h"
#include "proxy/parse/http1.h"
#include "proxy/refusal.h"

struct way;

#define OWN_HOST        "sallyport.internal"
#define OWN_REASON_MAX  301 /* bytes of a proposal's reason, and NUL */
#define OWN_PROPOSALS   10  /* at once; one more is due every */
#define OWN_PROPOSAL_MS 6000

/* Embedded in a way; zeroed: none was used. How often a command may ask by itself. */
struct own_quota {
	unsigned int used;
	int64_t since_ms; /* when @used was right */
};
/* One proposal more? */
bool own_quota_take(struct own_quota *quota, int64_t now_ms);

/* What a request for a page came to. */
struct own_page {
	int status;
	bool is_json;
	struct buffer body; /* the caller's to clear */
	/* Then nothing is said yet: the gateway decides about @dst first. */
	bool is_proposal;
	struct policy_destination dst;
	char reason[OWN_REASON_MAX]; /* the command's words, as they are */
};
void own_page_make(const struct way *way, const struct http1_head *head,
		   const struct refusal_style *style, struct own_page *ret);
/* The answer to a proposal that was allowed. */
int own_allowed(const struct policy_destination *dst, const struct policy_verdict *verdict,
		const struct refusal_style *style, struct buffer *out);
