/* diff_limits: compares the limits of two allows. */
#pragma once

#include "policies/diff/diff_keys_impl.h"
#include "policies/policies.h"

/* Limits as numbers, because struct policy_limits has padding. */
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
	/* The account of the other policy that each account of this one was compared with. */
	struct diff_keys accounts[2];
	uint64_t *partners[2];
	size_t partner_room[2];
};

void diff_limits_init(struct diff_limits *limits);
void diff_limits_done(struct diff_limits *limits);
uint32_t diff_limits_number(struct diff_limits *limits, const struct policy_limits *of);
enum diff_width { DIFF_ALIKE, DIFF_WIDER, DIFF_NARROWER, DIFF_OTHER };
/* Compares the limits @after with @before, without accounts and ends. */
enum diff_width diff_limits_compare(const struct diff_limits *limits, uint32_t before,
				    uint32_t after);
/* The number of the pair as it is shown; with the ends only if @has_end. */
uint32_t diff_limits_pair(struct diff_limits *limits, uint32_t before, uint32_t after,
			  bool has_end);
int64_t diff_limits_until(const struct diff_limits *limits, uint32_t number);
/* Do both share their counts with the same other rules, as far as is known? */
bool diff_limits_share(struct diff_limits *limits, uint32_t before, uint32_t after);
#define DIFF_LIMITS_TEXT_MAX 160
/* "upload 1024, rate 10/60s"; "": no limits. */
void diff_limits_text(const struct diff_limits *limits, uint32_t pair, bool is_after,
		      char out[DIFF_LIMITS_TEXT_MAX]);
