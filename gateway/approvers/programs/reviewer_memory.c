#include "gateway/approvers/programs/reviewer_memory.h"

#include <string.h>

static bool memory_is_over(const struct reviewer_remembered *one, int64_t now_ms)
{
	return one->say == REVIEWER_ABSTAIN || one->until_ms <= now_ms;
}

/* The entry of @key, else a free one, else the one that expires first. */
static struct reviewer_remembered *memory_place(struct reviewer_memory *memory, const char *key,
						int64_t now_ms)
{
	struct reviewer_remembered *best = &memory->list[0];

	for (size_t i = 0; i < REVIEWER_MEMORY_MAX; i++) {
		struct reviewer_remembered *one = &memory->list[i];

		if (strcmp(one->key, key) == 0)
			return one;
		if (memory_is_over(best, now_ms))
			continue;
		if (memory_is_over(one, now_ms) || one->until_ms < best->until_ms)
			best = one;
	}
	return best;
}

void reviewer_memory_keep(struct reviewer_memory *memory, const char *key,
			  const struct reviewer_reply *reply, int64_t now_ms)
{
	int64_t for_s = reply->say == REVIEWER_ALLOW  ? reply->ttl_s
			: reply->say == REVIEWER_DENY ? reply->negative_ttl_s
						      : 0;

	if (for_s <= 0)
		return;
	struct reviewer_remembered *place = memory_place(memory, key, now_ms);

	memcpy(place->key, key, sizeof(place->key));
	memcpy(place->reason, reply->reason, sizeof(place->reason));
	place->say = reply->say;
	place->until_ms = now_ms + for_s * 1000;
}

const struct reviewer_remembered *reviewer_memory_find(const struct reviewer_memory *memory,
						       const char *key, int64_t now_ms)
{
	for (size_t i = 0; i < REVIEWER_MEMORY_MAX; i++) {
		const struct reviewer_remembered *one = &memory->list[i];

		if (!memory_is_over(one, now_ms) && strcmp(one->key, key) == 0)
			return one;
	}
	return NULL;
}
