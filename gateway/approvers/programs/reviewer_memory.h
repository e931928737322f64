/* reviewer_memory: remembers a reviewer's answers for the time that it gave, for equal questions. A
 * full table drops the entry that expires first. Private to reviewer*.c. */
#pragma once

#include "gateway/approvers/programs/reviewer_line.h"

#define REVIEWER_MEMORY_MAX 128

/* Zeroed is empty. */
struct reviewer_memory {
	struct reviewer_remembered {
		char key[DIGEST_TEXT_MAX];
		enum reviewer_say say; /* REVIEWER_ABSTAIN: a free entry */
		char reason[REVIEWER_REASON_MAX];
		int64_t until_ms;
	} list[REVIEWER_MEMORY_MAX];
};

/* An abstention, or an answer without a duration, is not kept. */
void reviewer_memory_keep(struct reviewer_memory *memory, const char *key,
			  const struct reviewer_reply *reply, int64_t now_ms);
/* Borrowed until the next call; NULL: none, or expired. */
const struct reviewer_remembered *reviewer_memory_find(const struct reviewer_memory *memory,
						       const char *key, int64_t now_ms);
