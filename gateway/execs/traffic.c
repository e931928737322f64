#include "gateway/execs/traffic.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/gateway_tools.h"
#include "policies/policies_request.h"

#define TRIPS_FIRST  64
#define PROGRAMS_MAX 64  /* destinations whose program is looked up */
#define REQUEST_MAX  120 /* bytes of a request that are kept */

/* Kept apart from the list that callers read: its copy of the destination stays in place when the
 * list is reallocated. */
struct trip_key {
	struct key_node node;
	struct policy_destination dst;
	size_t place;
};

void traffic_init(struct traffic *trips)
{
	keys_init(&trips->table);
}

void traffic_done(struct traffic *trips)
{
	struct key_node *node;

	while ((node = keys_pop(&trips->table)))
		free(container_of(node, struct trip_key, node));
	keys_done(&trips->table);
	for (size_t i = 0; i < trips->count; i++)
		gateway_trip_done(&trips->list[i]);
	gateway_trip_done(&trips->others);
	free(trips->list);
}

struct traffic *traffic_new(void)
{
	struct traffic *trips = mem_new(sizeof(*trips));

	traffic_init(trips);
	return trips;
}

void traffic_free(struct traffic *trips)
{
	if (trips)
		traffic_done(trips);
	free(trips);
}

void gateway_trip_add(struct gateway_trip *sum, const struct gateway_trip *trip)
{
	sum->allowed += trip->allowed;
	sum->denied += trip->denied;
	sum->failed += trip->failed;
	sum->cut += trip->cut;
	sum->unanswered += trip->unanswered;
	sum->unnamed += trip->unnamed;
	sum->connections += trip->connections;
	sum->bytes_up += trip->bytes_up;
	sum->bytes_down += trip->bytes_down;
}

void gateway_trip_done(struct gateway_trip *trip)
{
	free(take(trip->rule));
	free(take(trip->because));
	free(take(trip->program));
	free(take(trip->request));
}

static void set_text(char **text, const char *new)
{
	if (*text && strcmp(*text, new) == 0)
		return; /* the usual case */
	free(*text);
	*text = new[0] ? mem_strdup(new) : NULL;
}

static struct gateway_trip *traffic_at(struct traffic *trips, const struct policy_destination *dst)
{
	struct key_node *node = keys_find(&trips->table, 0, dst);

	if (node)
		return &trips->list[container_of(node, struct trip_key, node)->place];
	if (trips->count == TRAFFIC_MAX)
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

/* True: the request was denied because it got no answer. */
static bool traffic_is_unanswered(enum policy_reason reason)
{
	return reason == POLICY_NO_APPROVER || reason == POLICY_PROMPT_TIMEOUT ||
	       reason == POLICY_APPROVER_GONE || reason == POLICY_CLIENT_LEFT ||
	       reason == POLICY_EXEC_ENDED || reason == POLICY_GATE_CLOSING;
}

static void traffic_note(struct gateway_trip *trip, const struct policy_verdict *verdict,
			 enum policy_reason reason)
{
	/* The rule of what failed is the one that allowed it. */
	set_text(&trip->rule, policy_reason_is_failure(reason) ? "" : verdict->rule);
	set_text(&trip->because, policy_reason_is_failure(reason) ? "" : verdict->because);
	trip->last_denial = reason;
}

/* A request that was refused before it named a destination. */
static void traffic_count_unnamed(struct gateway_trip *others, enum policy_reason reason)
{
	others->unnamed++;
	others->last_unnamed = reason;
}

static void traffic_count_denial(struct gateway_trip *trip, const struct policy_verdict *verdict)
{
	enum policy_reason reason = verdict->reason;

	traffic_note(trip, verdict, reason);
	if (traffic_is_unanswered(reason))
		trip->unanswered++;
	else if (policy_reason_is_failure(reason))
		trip->failed++;
	else
		trip->denied++;
}

/* Other ends are those of the command, of the server, or of the gate itself. */
static bool traffic_is_cut(enum policy_reason closed)
{
	return closed >= POLICY_BUDGET_SPENT || closed == POLICY_AUDIT_FAILED;
}

/* Reasons that follow an allow: the address, the dial, the bytes. With other reasons, the request
 * was never allowed. */
static bool traffic_was_allowed(enum policy_reason reason)
{
	return reason >= POLICY_PRIVATE_ADDRESS && reason != POLICY_OWN_LISTENER &&
	       reason != POLICY_MALFORMED && reason != POLICY_HEAD_TOO_LARGE &&
	       reason != POLICY_CLIENT_TIMEOUT && reason != POLICY_UNSUPPORTED &&
	       reason != POLICY_NO_FTP;
}

/* A connection into the sandbox: what the command reached does not include it. */
static bool traffic_is_inward(const struct policy_facts *facts)
{
	return facts->way == POLICY_WAY_PUBLISHED;
}

void traffic_count_verdict(struct traffic *trips, const struct policy_facts *facts,
			   const struct policy_verdict *verdict)
{
	if (!trips || traffic_is_inward(facts))
		return;
	struct gateway_trip *trip = traffic_at(trips, &facts->dst);

	if (verdict->action == POLICY_ALLOW) {
		trip->allowed++;
		return;
	}
	traffic_count_denial(trip, verdict);
}

bool traffic_wants_program(const struct traffic *trips, const struct policy_destination *dst)
{
	const struct key_node *node = keys_find(&trips->table, 0, dst);

	return node ? !trips->list[container_of(node, struct trip_key, node)->place].program
		    : trips->count < PROGRAMS_MAX;
}

void traffic_note_denial(struct traffic *trips, const struct policy_facts *facts,
			 const char *program)
{
	const struct policy_request *request = facts->request;
	struct gateway_trip *trip =
		trips && !traffic_is_inward(facts) ? traffic_at(trips, &facts->dst) : NULL;

	if (!trip || trip == &trips->others)
		return;
	if (!trip->program && program)
		trip->program = mem_strdup(program);
	if (!request || (!request->method && !request->path))
		return;
	auto_free char *text = mem_printf("%s%s%.*s", request->method ? request->method : "",
					  request->method && request->path ? " " : "", REQUEST_MAX,
					  request->path ? request->path : "");

	set_text(&trip->request, text);
}

void traffic_count_report(struct traffic *trips, const struct gateway_report *report,
			  const struct policy_verdict *verdict)
{
	if (!trips || traffic_is_inward(&report->facts))
		return;
	if (report->facts.dst.host[0] == '\0')
		return traffic_count_unnamed(&trips->others, verdict->reason);
	struct gateway_trip *trip = traffic_at(trips, &report->facts.dst);

	if (verdict->action == POLICY_ALLOW) {
		trip->connections++;
		trip->bytes_up += report->bytes_up;
		trip->bytes_down += report->bytes_down;
		if (traffic_is_cut(report->closed)) {
			traffic_note(trip, verdict, report->closed);
			trip->cut++;
		}
		return;
	}
	if (trip->allowed > 0 && traffic_was_allowed(verdict->reason))
		trip->allowed--;
	traffic_count_denial(trip, verdict);
}
