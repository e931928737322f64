/* http1_target: request targets and the Host field (RFC 9112 §3.2). */
#pragma once

struct http1_head;

/* Parses head->target, given head->method. 0, or -EBADMSG / -E2BIG with *@ret_cause. */
int http1_target_parse(struct http1_head *head, const char **ret_cause);
/* Counts and parses the Host fields of a request. 0, or -EBADMSG with *@ret_cause. */
int http1_target_parse_host(struct http1_head *head, const char **ret_cause);
