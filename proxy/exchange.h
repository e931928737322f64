/* exchange: one HTTP request and its answer between two legs, streamed and re-framed. */
#pragma once

#include <stdbool.h>

#include "gateway/gateway.h"
#include "policies/policies.h"
#include "proxy/body.h"
#include "proxy/buffer.h"
#include "proxy/parse/http1.h"

struct session;

/* Made by the front from the request's head; lives until the answer is whole. */
struct exchange {
	struct buffer
		head; /* the request's, as we send it; kept while it may have to be sent again */
	struct buffer held;   /* of the request, as we send it: for what there is no room yet */
	struct body up;       /* the request's body */
	struct body down;     /* the answer's */
	struct buffer answer; /* the beginning of the answer's head */
	size_t scanned;       /* of it */
	bool is_head_request;
	bool is_idempotent;    /* and has no body: may be sent twice */
	bool expects_continue; /* the client waits with its body */
	bool wants_websocket;
	bool has_retried;
	bool has_answer;                   /* a byte of the answer was seen */
	bool has_head;                     /* the final head has gone to the client */
	bool is_upload_cut;                /* the server takes no more of the body */
	bool keeps_client, keeps_upstream; /* after this answer */
	unsigned int interim_count;
};

/* Copies what it needs of @head; -E2BIG when the head we would send is too large. Returned owned in
 * @ret. */
int exchange_new(const struct http1_head *head, const struct policy_destination *dst,
		 struct exchange **ret);
void exchange_free(struct exchange *exchange);

/* The upstream leg stands: send the head and what is here of the body. */
void exchange_begin(struct session *session);

/* The answer is whole: reports, keeps or closes either side. */
void exchange_finish(struct session *session);

void exchange_on_client(struct session *session);
void exchange_on_client_drained(struct session *session);
void exchange_on_upstream_drained(struct session *session);
/* The server takes no more of the request; its answer may still come. */
void exchange_on_upload_cut(struct session *session);
/* There is room for what waits to go @way, or to be read from there. */
void exchange_on_lease(struct session *session, enum gateway_way way);
void exchange_on_deadline(struct session *session);
