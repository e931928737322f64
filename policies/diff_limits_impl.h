/* diff_limits: how far two allows go, one beside the other. */
#pragma once

#include "policies/diff_keys_impl.h"
#include "policies/policies.h"

/* How far allows go. As numbers: struct policy_limits has gaps. */
enum {
	LIMITS_ACCOUNT,
	LIMITS_UPLOAD,
	LIMITS_DOWNLOAD,
	LIMITS_CONNECTIONS,
	LIMITS_RATE,
	LIMITS_UNTIL,
	LIMITS_WIDTH
};
struct diff_limits {
	struct diff_keys seen;  /* LIMITS_WIDTH numbers each; [0]: no limit */
	struct diff_keys pairs; /* as shown, before and after; [0]: no limits */
	/* Which account of the other side what is on an account here was on, so far. */
	struct diff_keys accounts[2];
	uint64_t *partners[2];
	size_t partner_room[2];
};

void diff_limits_init(struct diff_limits *limits);
void diff_limits_done(struct diff_limits *limits);
uint32_t diff_limits_number(struct diff_limits *limits, const struct policy_limits *of);
enum diff_width { DIFF_ALIKE, DIFF_WIDER, DIFF_NARROWER, DIFF_OTHER };
/* How far @after goes, beside @before; accounts and ends do not count. */
enum diff_width diff_limits_compare(const struct diff_limits *limits, uint32_t before,
				    uint32_t after);
/* The number of the two as they are shown; with their ends only if @has_end. */
uint32_t diff_limits_pair(struct diff_limits *limits, uint32_t before, uint32_t after,
			  bool has_end);
int64_t diff_limits_until(const struct diff_limits *limits, uint32_t number);
/* Are the two counted with the same others, as far as is known by now? */
bool diff_limits_share(struct diff_limits *limits, uint32_t before, uint32_t after);
#define DIFF_LIMITS_TEXT_MAX 160
/* "upload 1024, rate 10/60s"; "": none. */
void diff_limits_text(const struct diff_limits *limits, uint32_t pair, bool is_after,
		      char out[DIFF_LIMITS_TEXT_MAX]);
