/* bundle_files: reads and writes the files of requests and answers, and the key that signs this
 * machine's requests. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/crypto/sign.h"

struct err;
struct policy;

/* The place where a file is written later; renaming its path meanwhile does not change it. */
struct bundle_place {
	int folder; /* -1: none; closed by bundle_files_close() */
	char *name;
};
int bundle_files_open(const char *path, struct bundle_place *ret, struct err *why);
void bundle_files_close(struct bundle_place *place);
/* Replaces the file: readers see the old text or the new one, never a part. */
int bundle_files_write(const struct bundle_place *place, const char *text, mode_t mode,
		       struct err *why);

/* Reads a whole regular file of at most @max bytes; NUL-terminated, returned owned. */
int bundle_files_read(const char *path, size_t max, char **ret_text, size_t *ret_len,
		      struct err *why);
/* Reads the key from the state folder @state. If it is missing and @is_needed, makes a new one;
 * otherwise returns -ENOENT. */
int bundle_files_key(const char *state, bool is_needed, struct sign_key *ret, struct err *why);

/* A file given to --answers. */
struct bundle_reply {
	char *path, *text;
	size_t len;
};
/* Reads the files @paths (NULL-terminated; NULL: none). Returned owned, including what was read
 * before a failure. */
int bundle_files_replies(char *const *paths, struct bundle_reply **ret, size_t *ret_count,
			 struct err *why);
/* Adds to @policy the lines of all replies that count according to @policy. Replies that do not
 * count are skipped; @why names the last one, and its -errno is returned. *@ret_lacking: the number
 * of destinations that too few approvers allow. */
int bundle_files_answer(struct policy *policy, const struct bundle_reply *replies, size_t count,
			int64_t now_s, size_t *ret_lacking, struct err *why);
void bundle_files_forget(struct bundle_reply *replies, size_t count); /* NULL is fine */
