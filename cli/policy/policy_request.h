/* policy_request: the request and its requester that `explain` explains: --method, --path, --query,
 * --header, --from, --by. */
#pragma once

#include <stdbool.h>

#include "policies/policies_request.h"
#include "policies/policies_tools.h"

struct policy_request_words {
	bool is_given; /* an option about the request itself was given */
	const char *method, *query, *from, *by;
	char room[POLICY_PATH_MAX + POLICY_QUERY_MAX];
	struct policy_request request;
	struct policy_field fields[POLICY_FIELDS_MAX];
	struct policy_asker *asker; /* owned, and its words */
	char **argv;
};

typedef int (*policy_request_fn)(struct policy_request_words *words, char *text, struct err *why);
/* 0, or -EINVAL: the text is malformed, or longer than a request allows. Borrows @text. */
int policy_request_method(struct policy_request_words *words, char *text, struct err *why);
int policy_request_path(struct policy_request_words *words, char *text, struct err *why);
int policy_request_query(struct policy_request_words *words, char *text, struct err *why);
int policy_request_header(struct policy_request_words *words, char *text, struct err *why);
int policy_request_by(struct policy_request_words *words, char *text, struct err *why);
/* Fills @facts; the defaults of a request are GET, /, no query and no other fields. -EINVAL: the
 * destination is tcp, whose requests policy cannot see. */
int policy_request_fill(struct policy_request_words *words, struct policy_facts *facts,
			struct err *why);
void policy_request_done(struct policy_request_words *words);
