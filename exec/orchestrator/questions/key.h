/* key: what an approval is remembered by: a digest of everything that must be equal. */
#pragma once

#include "base/crypto/digest.h"
#include "exec/orchestrator/orchestrator_request.h"

struct key {
	char digest[DIGEST_TEXT_MAX];
	char *text; /* for people */
};
struct key_list {
	struct key *list;
	size_t count;              /* 0: nothing is remembered, or was */
	char all[DIGEST_TEXT_MAX]; /* of all of them and the client; "": none */
};

/* How the command would run: an approval of one confinement is not valid for another. */
struct key_run {
	const struct exec_sandbox *sandbox; /* exactly this one; NULL: nothing runs */
	bool is_wider;                      /* than the request's sandbox, by an answer */
	struct command_file program;
};
/* The keys of @wanted. If a digest fails, there is no key, and the request is asked about. */
void key_make(struct key_list *ret, const struct orchestrator_request *wanted,
	      const struct key_run *run);
/* The key of one destination. */
int key_of_access(struct key *ret, const struct orchestrator_access *access);
void key_free(struct key_list *keys);
