#include "gateway/trips.h"

#include <stdlib.h>

#include "base/mem.h"
#include "gateway/gateway_tools.h"

#define TRIPS_FIRST 64

/* Beside the list that callers read, so that it stays plain: its own copy of the destination stays
 * put while the list moves. */
struct trip_key {
	struct key_node node;
	struct policy_destination dst;
	size_t place;
};

void trips_init(struct trips *trips)
{
	keys_init(&trips->table);
}

void trips_done(struct trips *trips)
{
	struct key_node *node;

	while ((node = keys_pop(&trips->table)))
		free(container_of(node, struct trip_key, node));
	keys_done(&trips->table);
	for (size_t i = 0; i < trips->count; i++)
		free(trips->list[i].rule);
	free(trips->others.rule);
	free(trips->list);
}

static struct gateway_trip *trips_at(struct trips *trips, const struct policy_destination *dst)
{
	struct key_node *node = keys_find(&trips->table, 0, dst);

	if (node)
		return &trips->list[container_of(node, struct trip_key, node)->place];
	if (trips->count == TRIPS_MAX)
		return &trips->others;
	if (trips->count == 0 ||
	    (trips->count >= TRIPS_FIRST && (trips->count & (trips->count - 1)) == 0))
		trips->list = mem_grow(trips->list, trips->count ? trips->count * 2 : TRIPS_FIRST,
				       sizeof(*trips->list));
	struct trip_key *key = mem_new(sizeof(*key));

	key->dst = *dst;
	key->place = trips->count;
	keys_add(&trips->table, &key->node, 0, &key->dst);
	trips->list[trips->count] = (struct gateway_trip){ .dst = *dst };
	return &trips->list[trips->count++];
}

/* Nobody said no: nobody could, or would, say anything. */
static bool trips_is_unanswered(enum policy_reason reason)
{
	return reason == POLICY_NO_APPROVER || reason == POLICY_PROMPT_TIMEOUT ||
	       reason == POLICY_APPROVER_GONE || reason == POLICY_CLIENT_LEFT ||
	       reason == POLICY_EXEC_ENDED || reason == POLICY_GATE_CLOSING;
}

static void trips_count_denial(struct gateway_trip *trip, const struct policy_verdict *verdict)
{
	enum policy_reason reason = verdict->reason;

	if (trip->last_denial != reason || !trip->rule) {
		free(trip->rule);
		trip->rule = verdict->rule[0] ? mem_strdup(verdict->rule) : NULL;
	}
	if (trips_is_unanswered(reason))
		trip->unanswered++;
	else
		trip->denied++;
	trip->last_denial = reason;
}

/* Refusals that come after an allow: the address, the dial, the bytes. The others are of requests
 * that never got as far. */
static bool trips_was_allowed(enum policy_reason reason)
{
	return reason >= POLICY_PRIVATE_ADDRESS && reason != POLICY_OWN_LISTENER &&
	       reason != POLICY_MALFORMED && reason != POLICY_HEAD_TOO_LARGE &&
	       reason != POLICY_CLIENT_TIMEOUT && reason != POLICY_UNSUPPORTED;
}

void trips_count_verdict(struct trips *trips, const struct policy_destination *dst,
			 const struct policy_verdict *verdict)
{
	if (!trips)
		return;
	struct gateway_trip *trip = trips_at(trips, dst);

	if (verdict->action == POLICY_ALLOW) {
		trip->allowed++;
		return;
	}
	trips_count_denial(trip, verdict);
}

void trips_count_report(struct trips *trips, const struct gateway_report *report)
{
	if (!trips || report->facts.dst.host[0] == '\0')
		return; /* refused before it named a destination */
	struct gateway_trip *trip = trips_at(trips, &report->facts.dst);

	if (report->verdict.action == POLICY_ALLOW) {
		trip->connections++;
		trip->bytes_up += report->bytes_up;
		trip->bytes_down += report->bytes_down;
		return;
	}
	if (trip->allowed > 0 && trips_was_allowed(report->verdict.reason))
		trip->allowed--;
	trips_count_denial(trip, &report->verdict);
}
