/* chain: connects each line of the audit log with the line before, and makes the head, which says
 * where the last one ends. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/crypto/digest.h"

struct err;

#define CHAIN_LINE_MAX    16384 /* with its newline */
#define CHAIN_MEMBERS_MAX 16128 /* of it: for the record; the rest is for the chain */
#define CHAIN_HEAD_BYTES  160   /* the head file always has this size */
#define CHAIN_BOOT_MAX    17    /* the first half of a boot id, as text */

/* The position of a chain: the number of records, their bytes, and the last record's hash (64 zeros
 * before the first). @boot: the start of the machine since which it is written; "": not known. */
struct chain {
	uint64_t seq;
	off_t size;
	char hash[DIGEST_TEXT_MAX], boot[CHAIN_BOOT_MAX];
};

void chain_begin(struct chain *chain);
/* Sets @boot to the present start of the machine. */
void chain_stamp(struct chain *chain);
/* The machine was started again since @chain was written: what was not on the disk is gone. */
bool chain_is_of_other_boot(const struct chain *chain);

/* Makes the next line from its number, @members (record_members()), its predecessor's hash, its own
 * hash and a newline; advances @chain. @out has room for CHAIN_LINE_MAX. Returns the length, or
 * -errno. */
ssize_t chain_seal(struct chain *chain, const char *members, size_t len, char *out);

/* Is @line (without its newline) the next record of @chain? 0, and @chain advances, or -EBADMSG
 * with words that fit after "FILE:LINE: ". */
int chain_check(struct chain *chain, const char *line, size_t len, struct err *why);
/* Checks the hash of one record, at any position. Fills in its number, its predecessor's hash and
 * its own. */
int chain_read(const char *line, size_t len, uint64_t *ret_seq, char ret_prev[DIGEST_TEXT_MAX],
	       char ret_hash[DIGEST_TEXT_MAX], struct err *why);

/* The part between the number and the chain's members of a line that chain_read() accepts. Borrowed
 * from @line. */
const char *chain_members(const char *line, size_t len, size_t *ret_len);

/* Writes a head, and reads it: -EBADMSG if it is malformed. */
void chain_head_text(const struct chain *chain, char ret[CHAIN_HEAD_BYTES]);
int chain_head_parse(const char bytes[CHAIN_HEAD_BYTES], struct chain *ret);
/* "FILE.head". Returned owned. */
char *chain_head_path(const char *path);
/* 0 or -errno; -EBADMSG: it is malformed. */
int chain_head_read(int fd, struct chain *ret);
int chain_head_write(int fd, const struct chain *chain);
