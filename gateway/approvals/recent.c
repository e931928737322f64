#include "gateway/approvals/recent.h"

#include <stdlib.h>

#include "base/mem.h"
#include "gateway/bounds.h"

struct recent {
	struct key_node node;
	struct policy_destination dst;
	uint64_t number;
	unsigned int times;
	int64_t ended_ms;
	TAILQ_ENTRY(recent) entry;
};

void recent_init(struct graces *graces)
{
	keys_init(&graces->table);
	TAILQ_INIT(&graces->oldest);
}

static void recent_free(struct graces *graces, struct recent *grace)
{
	TAILQ_REMOVE(&graces->oldest, grace, entry);
	keys_remove(&graces->table, &grace->node);
	free(grace);
}

void recent_done(struct graces *graces)
{
	while (!TAILQ_EMPTY(&graces->oldest))
		recent_free(graces, TAILQ_FIRST(&graces->oldest));
	keys_done(&graces->table);
}

void recent_leave(struct graces *graces, const struct policy_destination *dst, uint64_t number,
		  unsigned int times, int64_t now_ms)
{
	struct recent *grace = TAILQ_FIRST(&graces->oldest);

	while (grace && (graces->table.count >= GATEWAY_GRACES_MAX ||
			 now_ms - grace->ended_ms > GATEWAY_GRACE_MS)) {
		recent_free(graces, grace);
		grace = TAILQ_FIRST(&graces->oldest);
	}
	grace = mem_new(sizeof(*grace));
	grace->dst = *dst;
	grace->number = number;
	grace->times = times;
	grace->ended_ms = now_ms;
	keys_add(&graces->table, &grace->node, 0, &grace->dst);
	TAILQ_INSERT_TAIL(&graces->oldest, grace, entry);
}

bool recent_take(struct graces *graces, const struct policy_destination *dst, int64_t now_ms,
		 uint64_t *ret_number, unsigned int *ret_times)
{
	struct key_node *node = keys_find(&graces->table, 0, dst);
	struct recent *grace = node ? container_of(node, struct recent, node) : NULL;
	bool is_in_time = grace && now_ms - grace->ended_ms <= GATEWAY_GRACE_MS;

	if (is_in_time) {
		*ret_number = grace->number;
		*ret_times = grace->times;
	}
	if (grace)
		recent_free(graces, grace);
	return is_in_time;
}

void recent_leave_futile(struct graces *graces, const struct policy_destination *dst,
			 enum policy_reason reason, int64_t now_ms)
{
	struct key_node *node = keys_find(&graces->table, 0, dst);

	if (node)
		recent_free(graces, container_of(node, struct recent, node));
	recent_leave(graces, dst, reason, 0, now_ms);
}

enum policy_reason recent_futile(const struct graces *graces, const struct policy_destination *dst,
				 int64_t now_ms)
{
	struct key_node *node = keys_find(&graces->table, 0, dst);
	const struct recent *grace = node ? container_of(node, struct recent, node) : NULL;

	return grace && now_ms - grace->ended_ms <= GATEWAY_GRACE_MS
		       ? (enum policy_reason)grace->number
		       : POLICY_NONE;
}
