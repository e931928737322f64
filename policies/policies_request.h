/* policies_request: what `method`, `path`, `query` and `header` look at: an HTTP request as it is
 * sent upstream. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policies/policies.h"

/* What is longer is not known: an allow with such a condition does not match, a denial does. */
#define POLICY_METHOD_MAX       33
#define POLICY_PATH_MAX         2049
#define POLICY_QUERY_MAX        2049
#define POLICY_FIELDS_MAX       128
#define POLICY_FIELDS_BYTES_MAX 6144

struct policy_field {
	const char *name, *value;
};

/* NULL stands for what is not known; in a tunnel nothing is, and then struct policy_facts has no
 * request at all. Texts hold no NUL. */
struct policy_request {
	const char *method;
	const char *path;  /* without the query, never empty */
	const char *query; /* without the question mark; "": none */
	const struct policy_field *fields;
	size_t field_count;
	/* A field asks the server to take another method or path than these
	 * (X-HTTP-Method-Override, X-Original-URL): an allow with such a condition does not match.
	 */
	bool has_override;
};

/* Makes known in @ret, which starts zeroed, as much as fits: @target as sent ("/a?b"), @fields as
 * they are sent. @room keeps both, terminated. */
void policy_request_set_target(struct policy_request *ret, const char *target, size_t len,
			       char room[POLICY_PATH_MAX + POLICY_QUERY_MAX]);
bool policy_request_is_override(const char *name, size_t len);

/* As one piece: how many bytes it takes, and the copy in them. NULL stays NULL and takes none. */
size_t policy_request_size(const struct policy_request *request);
struct policy_request *policy_request_copy(const struct policy_request *request, void *room);

/* Which parts the rules of @policy look at: what no rule looks at need not be known. Bits. */
enum policy_request_part {
	POLICY_PART_METHOD = 1,
	POLICY_PART_TARGET = 2,
	POLICY_PART_FIELDS = 4,
};
unsigned int policy_request_parts(const struct policy *policy);
