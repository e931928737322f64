/* quota: limits how often a command may propose destinations. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define QUOTA_PROPOSALS   10 /* at once; one more after every */
#define QUOTA_PROPOSAL_MS 6000

/* Embedded in a way; zeroed: none was used. */
struct quota {
	unsigned int used;
	int64_t since_ms; /* the time @used refers to */
};
/* May the command propose once more? */
bool quota_take(struct quota *quota, int64_t now_ms);
