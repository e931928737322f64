/* policies_request: the parts of an HTTP request, as it is sent upstream, that `method`, `path`,
 * `query` and `header` examine. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policies/policies.h"

/* A longer part counts as unknown: an allow with a condition on it does not match, a denial
 * does. */
#define POLICY_METHOD_MAX       33
#define POLICY_PATH_MAX         2049
#define POLICY_QUERY_MAX        2049
#define POLICY_FIELDS_MAX       128
#define POLICY_FIELDS_BYTES_MAX 6144

struct policy_field {
	const char *name, *value;
};

/* NULL: the part is unknown. In a tunnel all parts are unknown, and struct policy_facts has no
 * request. Texts contain no NUL. */
struct policy_request {
	const char *method;
	const char *path;  /* without the query, never empty */
	const char *query; /* without the question mark; "": none */
	const struct policy_field *fields;
	size_t field_count;
	/* A field asks the server to use another method or path (X-HTTP-Method-Override,
	 * X-Original-URL): an allow with such a condition does not match. */
	bool has_override;
};

/* Sets the path and the query of @ret, zeroed by the caller, from @target as sent ("/a?b"), as
 * far as they fit. @room keeps the text, terminated. policy_request_is_override(): does field
 * @name ask for another method or path? */
void policy_request_set_target(struct policy_request *ret, const char *target, size_t len,
			       char room[POLICY_PATH_MAX + POLICY_QUERY_MAX]);
bool policy_request_is_override(const char *name, size_t len);

/* A copy of a request in one block: its size, and the copy. NULL has size 0, and its copy is
 * NULL. */
size_t policy_request_size(const struct policy_request *request);
struct policy_request *policy_request_copy(const struct policy_request *request, void *room);

/* The parts that the rules of @policy examine; others need not be set. Bits. */
enum policy_request_part {
	POLICY_PART_METHOD = 1,
	POLICY_PART_TARGET = 2,
	POLICY_PART_FIELDS = 4,
};
unsigned int policy_request_parts(const struct policy *policy);
