/* admit: from facts to an upstream leg: one submission, one verdict, one dial. Every refusal on the
 * way is recorded once. */
#pragma once

#include "policies/policies.h"

struct refusal;
struct connection;

/* From now on the connection has a request with these facts. */
void admit_begin(struct connection *connection, const struct policy_facts *facts);
/* Asks the gateway to decide it. @seen, borrowed: what policy may look at of an HTTP request; NULL:
 * nothing. */
void admit_submit(struct connection *connection, const struct policy_request *seen);
/* Dials an upstream leg for the request, which has its verdict. */
void admit_dial(struct connection *connection);

/* The gate refuses, or fails: records it (for the gateway and in the exec's own list) and tells the
 * client through its protocol handler. There may be no request yet, when the bytes could not be
 * parsed. @cause may be NULL. */
void admit_refuse(struct connection *connection, enum policy_reason reason, const char *cause);
/* As admit_refuse() without telling the client. */
void admit_record(struct connection *connection, enum policy_reason reason, const char *cause);

/* gateway_cut_fn of every connection: an earlier allow was revoked. A client that has no response
 * yet is told; any other is reset. */
void admit_on_cut(const struct policy_verdict *verdict, void *arg);

/* Does the same where @policy, a new one, denies the upstream address. */
void admit_review(struct connection *connection, const struct policy *policy);

/* DECIDING, DIALLING: an event on the waiting client's leg, or the time for the next check. */
void admit_on_client(struct connection *connection);
void admit_on_deadline(struct connection *connection);
