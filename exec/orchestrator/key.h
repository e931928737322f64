/* key: what an approval is remembered by: one digest for what may differ in nothing. */
#pragma once

#include "base/digest.h"
#include "exec/orchestrator/orchestrator_request.h"

struct key {
	char digest[DIGEST_TEXT_MAX];
	char *text; /* for people */
};
struct key_list {
	struct key *list;
	size_t count;              /* 0: nothing is remembered, and nothing was */
	char all[DIGEST_TEXT_MAX]; /* of all of them together, and who asks; "": none */
};

/* How it would run: what was approved one way was not approved another. */
struct key_run {
	const struct exec_sandbox *sandbox; /* exactly; NULL: it does not run */
	bool is_wider;                      /* than the request's, by an answer */
	struct command_file program;
};
/* The keys of @request. A digest that fails is no key: it is asked then. */
void key_make(struct key_list *ret, const struct orchestrator_request *request,
	      const struct key_run *run);
/* Of one destination, in @environment. */
int key_of_destination(struct key *ret, const char *environment,
		       const struct orchestrator_access *access);
void key_free(struct key_list *keys);
