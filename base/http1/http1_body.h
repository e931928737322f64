/* http1_body: how a message's body is delimited (RFC 9112 §6). A message that says it in two ways
 * is refused, even when both agree. */
#pragma once

#include "base/http1/http1_head.h"

/* Both fill head->body and head->length. 0, or -EBADMSG with *@ret_cause. */
int http1_body_of_request(struct http1_head *head, const char **ret_cause);
int http1_body_of_response(struct http1_head *head, struct http1_span method,
			   const char **ret_cause);
