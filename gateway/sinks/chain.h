/* chain: how one line of the audit log hangs on the one before, and the head that shows where the
 * last one ends. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/digest.h"

struct err;

#define CHAIN_LINE_MAX    16384 /* with its newline */
#define CHAIN_MEMBERS_MAX 16128 /* of it: what the record says; the rest is the chain's */
#define CHAIN_HEAD_BYTES  160   /* the whole head file, always */

/* Where a chain stands: how many records, in how many bytes, and the last one's hash (64 zeros
 * before the first). */
struct chain {
	uint64_t seq;
	off_t size;
	char hash[DIGEST_TEXT_MAX];
};

void chain_begin(struct chain *chain);

/* Makes the next line: its number, @members (record_members()), its predecessor's hash and its own,
 * a newline; @chain moves on. @out has room for CHAIN_LINE_MAX. The length, or -errno. */
ssize_t chain_seal(struct chain *chain, const char *members, size_t len, char *out);

/* Is @line (without its newline) the next record of @chain? 0 and @chain moves on, or -EBADMSG with
 * words that fit after "FILE:LINE: ". */
int chain_check(struct chain *chain, const char *line, size_t len, struct err *why);
/* The record itself, wherever it stands: its own hash fits. Fills in its number, its predecessor's
 * hash and its own. */
int chain_read(const char *line, size_t len, uint64_t *ret_seq, char ret_prev[DIGEST_TEXT_MAX],
	       char ret_hash[DIGEST_TEXT_MAX], struct err *why);

/* What stands between the number and the chain's members of a line that chain_read() takes.
 * Borrowed from @line. */
const char *chain_members(const char *line, size_t len, size_t *ret_len);

/* A head as bytes, and back: -EBADMSG, it is none. */
void chain_head_text(const struct chain *chain, char ret[CHAIN_HEAD_BYTES]);
int chain_head_parse(const char bytes[CHAIN_HEAD_BYTES], struct chain *ret);
/* "FILE.head". Returned owned. */
char *chain_head_path(const char *path);
/* 0 or -errno; -EBADMSG: it is not a head. */
int chain_head_read(int fd, struct chain *ret);
int chain_head_write(int fd, const struct chain *chain);
