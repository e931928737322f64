/* admit: from facts to an upstream leg: one submission, one verdict, one dial; and every refusal on
 * the way, recorded once. */
#pragma once

#include "policies/policies.h"

struct refusal;
struct session;

/* The session has a request with these facts from now on. */
void admit_begin(struct session *session, const struct policy_facts *facts);
/* Asks the gateway about it. @seen, borrowed: what is known of an HTTP request; NULL: nothing. */
void admit_submit(struct session *session, const struct policy_request *seen);
/* Makes a new upstream leg for the request, which has its verdict. */
void admit_dial(struct session *session);

/* The gate itself will not, or cannot: records it (for the gateway and for the exec's own list) and
 * tells the client by its front. The request may be missing: what was asked for could not be read.
 * @cause may be NULL. */
void admit_refuse(struct session *session, enum policy_reason reason, const char *cause);
/* As admit_refuse() without telling the client. */
void admit_record(struct session *session, enum policy_reason reason, const char *cause);

/* gateway_cut_fn of every session: what it was allowed it is denied now. A client that has got no
 * answer yet is told so; any other is reset. */
void admit_on_cut(const struct policy_verdict *verdict, void *arg);

/* The same where @policy, a new one, denies the address that it goes to. */
void admit_review(struct session *session, const struct policy *policy);

/* DECIDING, DIALLING: something happened on the held client's leg, or it is time to look. */
void admit_on_client(struct session *session);
void admit_on_deadline(struct session *session);
