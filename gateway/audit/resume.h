/* resume: continues the chain of an existing audit log. */
#pragma once

#include <sys/types.h>

#include "gateway/audit/chain.h"

/* Reads and hashes the record that ends at @end, which is not 0. 0 or -errno with words. */
int resume_record(int fd, off_t end, uint64_t *ret_seq, char ret_hash[DIGEST_TEXT_MAX],
		  struct err *why);
/* For the first time: reads and hashes the record that the head names and the records after it; a
 * partial line after the head is cut off. Call it with the lock. 0, and @ret is the position of the
 * chain, or -EBADMSG with words. */
int resume_first(int fd, int head_fd, off_t size, struct chain *ret, struct err *why);
/* As resume_first(), for a log that the machine has not written to the disk before it was started
 * again: cuts it to its last whole record. *@ret_lost: the number of records that its head counts
 * and that are gone, at least 1. -EBADMSG: it was not that. */
int resume_after_loss(int fd, const struct chain *head, off_t size, struct chain *ret,
		      uint64_t *ret_lost, struct err *why);
/* Later: another process has appended since @chain, and its head is trusted up to its size. */
int resume_again(int fd, int head_fd, off_t size, struct chain *chain, struct err *why);
