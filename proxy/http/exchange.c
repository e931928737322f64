#include "proxy/http/exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "proxy/http/rewrite.h"

static bool is_method(const struct http1_head *head, const char *method)
{
	return head->method.len == strlen(method) &&
	       !memcmp(head->method.at, method, head->method.len);
}

int exchange_new(const struct http1_head *head, const struct policy_destination *dst,
		 struct exchange **ret)
{
	struct exchange *exchange = mem_new(sizeof(*exchange));

	body_init(&exchange->up, head->body, head->length, head->body == HTTP1_CHUNKED);
	exchange->is_head_request = is_method(head, "HEAD");
	exchange->is_idempotent =
		exchange->up.is_done &&
		(exchange->is_head_request || is_method(head, "GET") || is_method(head, "OPTIONS"));
	exchange->expects_continue = head->expects_continue;
	exchange->wants_websocket = rewrite_is_websocket(head);
	if (rewrite_request(head, dst, &exchange->head) < 0) {
		exchange_free(exchange);
		return -E2BIG;
	}
	*ret = exchange;
	return 0;
}

int exchange_make_absolute(struct exchange *exchange, const struct policy_destination *dst,
			   const struct policy_upstream *upstream)
{
	struct buffer head = { 0 };

	if (exchange->is_absolute)
		return 0;
	auto_free char *field = policy_upstream_field(upstream);
	int r = rewrite_absolute(&exchange->head, dst, field, &head);

	if (r < 0) {
		buffer_clear(&head);
		return r;
	}
	buffer_clear(&exchange->head);
	exchange->head = head;
	exchange->is_absolute = true;
	return 0;
}

void exchange_free(struct exchange *exchange)
{
	if (!exchange)
		return;
	buffer_clear(&exchange->head);
	buffer_clear(&exchange->held);
	buffer_clear(&exchange->answer);
	free(exchange);
}
