/* gateway_tools: what the command line needs of the gateway and the proxy does not
 * (docs/decisions/0052). */
#pragma once

#include <stdint.h>

#include "gateway/gateway.h"

/* The page for answers on loopback, 127.0.0.1. */
#define GATEWAY_WEB_URL_MAX 128
struct gateway_web {
	uint16_t port; /* 0: any free one. gateway_new() writes the one that it got, */
	char url[GATEWAY_WEB_URL_MAX]; /* and this: whoever has it may answer, so show it to the
					  person only */
};

/* sallyport audit verify: 0 (@why may hold a note), -EBADMSG with @why naming FILE:LINE and what is
 * wrong there, or another -errno: it cannot be read. */
int gateway_audit_verify(const char *path, uint64_t *ret_records, struct err *why);

/* $XDG_RUNTIME_DIR/sallyport, else /run/sallyport for root, else /tmp/sallyport-UID: made 0700 and
 * checked. Returned owned. */
char *gateway_control_dir(struct err *why);

/* Per destination, since the start; for the trip report. */
struct gateway_trip {
	struct policy_destination dst;
	uint64_t allowed, denied, unanswered, connections; /* requests; connections closed */
	uint64_t bytes_up, bytes_down;
	enum policy_reason last_denial; /* POLICY_NONE: none */
};
/* Borrowed until the next call into the gateway. */
const struct gateway_trip *gateway_trips(const struct gateway *gw, size_t *ret_count);
/* What is past the 4096 destinations counted one by one, together; its dst is empty. */
const struct gateway_trip *gateway_trips_others(const struct gateway *gw);
