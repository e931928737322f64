#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "policies/diff/diff_limits_impl.h"
#include "policies/engine/policy_impl.h"

static const uint64_t *limits_get(const struct diff_limits *limits, uint32_t number)
{
	return (const uint64_t *)(const void *)diff_keys_get(&limits->seen, number);
}

void diff_limits_init(struct diff_limits *limits)
{
	uint64_t none[2 * LIMITS_WIDTH] = { 0 };
	bool is_new;

	limits->seen.width = sizeof(none) / 2;
	limits->pairs.width = sizeof(none);
	(void)diff_keys_put(&limits->seen, none, &is_new);
	(void)diff_keys_put(&limits->pairs, none, &is_new);
	limits->accounts[0].width = limits->accounts[1].width = sizeof(uint64_t);
}

void diff_limits_done(struct diff_limits *limits)
{
	diff_keys_done(&limits->seen);
	diff_keys_done(&limits->pairs);
	for (size_t side = 0; side < 2; side++) {
		diff_keys_done(&limits->accounts[side]);
		free(limits->partners[side]);
	}
}

uint32_t diff_limits_number(struct diff_limits *limits, const struct policy_limits *of)
{
	const uint64_t key[LIMITS_WIDTH] = {
		[LIMITS_ACCOUNT] = of->account,
		[LIMITS_UPLOAD] = of->upload,
		[LIMITS_DOWNLOAD] = of->download,
		[LIMITS_CONNECTIONS] = of->connections,
		[LIMITS_RATE] = (uint64_t)of->rate_count << 32 | of->rate_s,
		[LIMITS_UNTIL] = (uint64_t)of->until_s,
	};
	bool is_new;

	return diff_keys_put(&limits->seen, key, &is_new);
}

/* 0 means no limit. */
static unsigned int limits_width(uint64_t before, uint64_t after)
{
	if (before == after)
		return DIFF_ALIKE;
	return after == 0 || (before != 0 && after > before) ? DIFF_WIDER : DIFF_NARROWER;
}

/* More requests in no more time; otherwise both, because neither allows all that the other does. */
static unsigned int limits_rate_width(uint64_t before, uint64_t after)
{
	uint32_t count = (uint32_t)(before >> 32), per = (uint32_t)before;
	uint32_t next_count = (uint32_t)(after >> 32), next_per = (uint32_t)after;

	if (before == 0 || after == 0)
		return limits_width(before, after);
	return (next_count > count || next_per < per ? DIFF_WIDER : 0U) |
	       (next_count < count || next_per > per ? DIFF_NARROWER : 0U);
}

enum diff_width diff_limits_compare(const struct diff_limits *limits, uint32_t before,
				    uint32_t after)
{
	const uint64_t *left = limits_get(limits, before), *right = limits_get(limits, after);
	unsigned int width = limits_rate_width(left[LIMITS_RATE], right[LIMITS_RATE]);

	for (size_t i = LIMITS_UPLOAD; i <= LIMITS_CONNECTIONS; i++)
		width |= limits_width(left[i], right[i]);
	return (enum diff_width)width;
}

uint32_t diff_limits_pair(struct diff_limits *limits, uint32_t before, uint32_t after, bool has_end)
{
	uint64_t key[2 * LIMITS_WIDTH];
	bool is_new;

	memcpy(key, limits_get(limits, before), sizeof(key) / 2);
	memcpy(key + LIMITS_WIDTH, limits_get(limits, after), sizeof(key) / 2);
	for (size_t i = 0; i < 2; i++) {
		key[i * LIMITS_WIDTH + LIMITS_ACCOUNT] = 0;
		if (!has_end)
			key[i * LIMITS_WIDTH + LIMITS_UNTIL] = 0;
	}
	return diff_keys_put(&limits->pairs, key, &is_new);
}

int64_t diff_limits_until(const struct diff_limits *limits, uint32_t number)
{
	return (int64_t)limits_get(limits, number)[LIMITS_UNTIL];
}

/* Is @other the account that @account of @side was compared with, or is this the first
 * comparison? */
static bool limits_is_partner(struct diff_limits *limits, size_t side, uint64_t account,
			      uint64_t other)
{
	bool is_new;
	uint32_t at = diff_keys_put(&limits->accounts[side], &account, &is_new);

	limits->partners[side] =
		mem_reserve(limits->partners[side], &limits->partner_room[side],
			    limits->accounts[side].count, sizeof(*limits->partners[side]));
	if (is_new)
		limits->partners[side][at] = other;
	return limits->partners[side][at] == other;
}

bool diff_limits_share(struct diff_limits *limits, uint32_t before, uint32_t after)
{
	uint64_t left = limits_get(limits, before)[LIMITS_ACCOUNT];
	uint64_t right = limits_get(limits, after)[LIMITS_ACCOUNT];

	if (left == 0 && right == 0)
		return true;
	bool is_one = limits_is_partner(limits, 0, left, right);

	return limits_is_partner(limits, 1, right, left) && is_one;
}

void diff_limits_text(const struct diff_limits *limits, uint32_t pair, bool is_after,
		      char out[DIFF_LIMITS_TEXT_MAX])
{
	static const char *const words[] = { [LIMITS_UPLOAD] = "upload",
					     [LIMITS_DOWNLOAD] = "download",
					     [LIMITS_CONNECTIONS] = "connections" };
	const uint64_t *of = (const uint64_t *)(const void *)diff_keys_get(&limits->pairs, pair) +
			     (is_after ? LIMITS_WIDTH : 0);
	time_t until = (time_t)of[LIMITS_UNTIL];
	size_t len = 0, size = DIFF_LIMITS_TEXT_MAX; /* they fit: 20 digits each */
	struct tm parts;

	out[0] = '\0';
	for (size_t i = LIMITS_UPLOAD; i <= LIMITS_CONNECTIONS; i++) {
		if (of[i])
			len += (size_t)snprintf(out + len, size - len, "%s%s %llu", len ? ", " : "",
						words[i], (unsigned long long)of[i]);
	}
	if (of[LIMITS_RATE])
		len += (size_t)snprintf(out + len, size - len, "%srate %u/%us", len ? ", " : "",
					(uint32_t)(of[LIMITS_RATE] >> 32),
					(uint32_t)of[LIMITS_RATE]);
	if (until > 0 && gmtime_r(&until, &parts))
		(void)strftime(out + len, size - len,
			       len ? ", until %Y-%m-%dT%H:%M:%SZ" : "until %Y-%m-%dT%H:%M:%SZ",
			       &parts);
}
