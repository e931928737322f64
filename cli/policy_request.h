/* policy_request: the request and the asker that `explain` is asked about: --method, --path,
 * --query,
 * --header, --from, --by. */
#pragma once

#include <stdbool.h>

#include "policies/policies_request.h"
#include "policies/policies_tools.h"

struct policy_request_words {
	bool is_given; /* one of the request's own */
	const char *method, *query, *from, *by;
	char room[POLICY_PATH_MAX + POLICY_QUERY_MAX];
	struct policy_request request;
	struct policy_field fields[POLICY_FIELDS_MAX];
	struct policy_asker *asker; /* owned, and its words */
	char **argv;
};

/* 0, or -EINVAL: what is longer than a request may have, or is none. Borrows @text. */
int policy_request_method(struct policy_request_words *words, const char *text, struct err *why);
int policy_request_path(struct policy_request_words *words, const char *text, struct err *why);
int policy_request_query(struct policy_request_words *words, const char *text, struct err *why);
int policy_request_header(struct policy_request_words *words, char *text, struct err *why);
int policy_request_by(struct policy_request_words *words, const char *text, struct err *why);
/* Into @facts: what was not said of a request is GET, /, no query and no other fields. -EINVAL: a
 * request in a tunnel. */
int policy_request_fill(struct policy_request_words *words, struct policy_facts *facts,
			struct err *why);
void policy_request_done(struct policy_request_words *words);
