/* policy_parts: the parts of a request's head that policy may look at, as they are sent upstream.
 */
#pragma once

#include "policies/policies_request.h"
#include "base/http1/http1.h"

struct policy_parts {
	struct policy_request request;
	struct policy_field fields[POLICY_FIELDS_MAX];
	char method[POLICY_METHOD_MAX], target[POLICY_PATH_MAX + POLICY_QUERY_MAX];
	char texts[POLICY_FIELDS_BYTES_MAX];
};

/* @parts: the enum policy_request_part that a rule looks at. Returns &seen->request, or NULL when
 * @parts is empty. */
const struct policy_request *policy_parts_fill(struct policy_parts *seen,
					       const struct http1_head *head, unsigned int parts);
