/* seen: what policy may look at of a request's head, as it is sent upstream. */
#pragma once

#include "policies/policies_request.h"
#include "proxy/parse/http1.h"

struct seen {
	struct policy_request request;
	struct policy_field fields[POLICY_FIELDS_MAX];
	char method[POLICY_METHOD_MAX], target[POLICY_PATH_MAX + POLICY_QUERY_MAX];
	char texts[POLICY_FIELDS_BYTES_MAX];
};

/* @parts: enum policy_request_part, those that a rule looks at. Returns &seen->request, or NULL
 * when there are none. */
const struct policy_request *seen_fill(struct seen *seen, const struct http1_head *head,
				       unsigned int parts);
