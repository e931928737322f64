/* bundle_files: where requests and answers lie, and the key this machine signs requests with. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sign.h"

struct err;
struct policy;

/* Where a file is to be put later, whatever happens to its path meanwhile. */
struct bundle_place {
	int folder; /* -1: none; closed by bundle_files_close() */
	char *name;
};
int bundle_files_open(const char *path, struct bundle_place *ret, struct err *why);
void bundle_files_close(struct bundle_place *place);
/* Replaces what is there: old or new, never half, for nobody but us to read. */
int bundle_files_write(const struct bundle_place *place, const char *text, struct err *why);

/* A whole regular file, at most @max bytes, NUL-terminated, returned owned. */
int bundle_files_read(const char *path, size_t max, char **ret_text, size_t *ret_len,
		      struct err *why);
/* The key in the state folder @state; a new one when there is none and one @is_needed, else
 * -ENOENT.
 */
int bundle_files_key(const char *state, bool is_needed, struct sign_key *ret, struct err *why);

/* A file given to --answers. */
struct bundle_reply {
	char *path, *text;
	size_t len;
};
/* Those of @paths (NULL-terminated; NULL: none): returned owned, also what was read before a
 * failure.
 */
int bundle_files_replies(char *const *paths, struct bundle_reply **ret, size_t *ret_count,
			 struct err *why);
/* Lines of policy from all of them that count by what @policy says so far; those that do not are
 * left out and the last of them is named in @why, with its -errno. *@ret_lacking: destinations that
 * too few approvers allow. */
int bundle_files_answer(struct policy *policy, const struct bundle_reply *replies, size_t count,
			int64_t now_s, size_t *ret_lacking, struct err *why);
void bundle_files_forget(struct bundle_reply *replies, size_t count); /* NULL is fine */
