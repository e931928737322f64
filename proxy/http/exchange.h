/* exchange: the state of one HTTP request and its response between two legs, streamed and
 * re-framed. upload.c carries the request, answer.c the response. */
#pragma once

#include <stdbool.h>

#include "policies/policies_upstream.h"
#include "proxy/relay/body.h"
#include "proxy/relay/buffer.h"
#include "base/http1/http1.h"

/* Made by the front from the request's head; lives until the response is complete. */
struct exchange {
	struct buffer head; /* the request's, as we send it; kept while it may have to be resent */
	struct buffer held; /* request bytes, as we send them, that have no room yet */
	struct body up;     /* the request's body */
	struct body down;   /* the response's body */
	struct buffer answer; /* the beginning of the response head */
	size_t scanned;       /* of that buffer */
	bool is_absolute;     /* @head was changed for an upstream proxy */
	bool is_head_request;
	bool is_idempotent;    /* and has no body: may be sent twice */
	bool expects_continue; /* the client sends its body after a 100 response */
	bool wants_websocket;
	bool has_retried;
	bool has_answer;                   /* a byte of the response has arrived */
	bool has_head;                     /* the final head was sent to the client */
	bool is_upload_cut;                /* the server reads no more of the body */
	bool keeps_client, keeps_upstream; /* after this response */
	unsigned int interim_count;
};

/* Copies what it needs of @head; -E2BIG: the head we would send is too large. Returned owned in
 * @ret. */
int exchange_new(const struct http1_head *head, const struct policy_destination *dst,
		 struct exchange **ret);
/* Changes the head for @upstream, which takes requests in absolute form; once. 0 or -E2BIG. */
int exchange_make_absolute(struct exchange *exchange, const struct policy_destination *dst,
			   const struct policy_upstream *upstream);
void exchange_free(struct exchange *exchange);
