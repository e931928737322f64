/* http1_body: how a message's body is delimited (RFC 9112 §6). Two ways of saying it are refused,
 * even when they agree. */
#pragma once

#include "proxy/parse/http1.h"

/* Both fill head->body and head->length. 0, or -EBADMSG with *@ret_cause. */
int http1_body_of_request(struct http1_head *head, const char **ret_cause);
int http1_body_of_response(struct http1_head *head, struct http1_span method,
			   const char **ret_cause);
