#include "gateway/approvers/control/control.h"

#include <errno.h>

#include "base/err.h"
#include "gateway/approvers/ledger_impl.h"
#include "gateway/approvers/person.h"
#include "gateway/approvers/wire.h"
#include "gateway/gateway_tools.h"

struct ledger_list {
	json_t *array;
	json_int_t more; /* number of entries left out */
};

/* Takes @object; jansson refuses NULL (out of memory), and then the list lacks one entry. */
static void ledger_add(struct ledger_list *list, json_t *object)
{
	if (json_array_size(list->array) < CONTROL_LIST_MAX) {
		(void)json_array_append_new(list->array, object);
		return;
	}
	list->more++;
	json_decref(object);
}

static void ledger_reply(const struct control_request *request, const char *name,
			 struct ledger_list *list)
{
	json_t *reply = json_pack("{s:o}", name, list->array);

	if (list->more > 0)
		(void)json_object_set_new(reply, "more", json_integer(list->more)); /* OOM only */
	control_request_ok(request, reply);
}

static json_t *ledger_from(const struct approver_grant *grant)
{
	return wire_text(grant->from, POLICY_TEXT_MAX);
}

static void ledger_add_grant(const struct approver_grant *grant, void *arg)
{
	ledger_add(arg,
		   json_pack("{s:I, s:s, s:s, s:I, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:o}",
			     "id", (json_int_t)grant->id, "action",
			     policy_action_name(grant->action), "scope",
			     gateway_scope_name(grant->scope), "exec", (json_int_t)grant->exec,
			     "text", wire_text(grant->text, APPROVER_KEY_MAX), "by",
			     wire_text(grant->by, POLICY_TEXT_MAX), "since",
			     (json_int_t)grant->since_s, "until", (json_int_t)grant->until_s,
			     "bytes_up", (json_int_t)grant->bytes_up, "bytes_down",
			     (json_int_t)grant->bytes_down, "connections",
			     (json_int_t)grant->connections, "live", (json_int_t)grant->live,
			     "from", ledger_from(grant)));
}

void control_ledger_grants(const struct control_request *request)
{
	struct ledger_list list = { .array = json_array() };

	gateway_each_grant(request->client->server->gw, ledger_add_grant, &list);
	ledger_reply(request, "grants", &list);
}

/* In parts: a reply holds some copies, and the client asks for the next with the id of the last. */
struct ledger_copies {
	json_t *array;
	json_int_t after, more;
};

static void ledger_add_copy(const struct approver_grant *grant, void *arg)
{
	struct ledger_copies *list = arg;
	const struct policy_destination *dst = grant->dst;
	const struct approver_width *width = &grant->width;

	if ((json_int_t)grant->id <= list->after)
		return;
	if (json_array_size(list->array) == CONTROL_COPIES_MAX) {
		list->more++;
		return;
	}
	json_t *copy = json_pack(
		"{s:I, s:s, s:s, s:s, s:o, s:i, s:b, s:b, s:o, s:I, s:I, s:I, s:I, s:b}", "id",
		(json_int_t)grant->id, "action", policy_action_name(grant->action), "scope",
		gateway_scope_name(grant->scope), "protocol", policy_protocol_name(dst->protocol),
		"host", wire_text(dst->host, sizeof(dst->host)), "port", (int)dst->port, "domain",
		(int)width->is_domain, "all_ports", (int)width->is_every_port, "program",
		wire_text(grant->program, POLICY_TEXT_MAX), "for", (json_int_t)width->for_s,
		"upload", (json_int_t)width->upload_max, "download",
		(json_int_t)width->download_max, "connections", (json_int_t)width->connections_max,
		"spent", (int)grant->is_spent);
	json_t *more =
		json_pack("{s:s, s:I, s:o, s:o, s:I, s:o}", "file", grant->file, "session",
			  (json_int_t)grant->session, "by", wire_text(grant->by, POLICY_TEXT_MAX),
			  "words", wire_text(grant->words, POLICY_TEXT_MAX), "since",
			  (json_int_t)grant->since_s, "from", ledger_from(grant));

	(void)json_object_update_missing(copy, more); /* out of memory: the copy is invalid then */
	json_decref(more);
	(void)json_array_append_new(list->array, copy);
}

void control_ledger_copy(const struct control_request *request)
{
	struct ledger_copies list = { .array = json_array(), .after = request->after };

	gateway_each_grant(request->client->server->gw, ledger_add_copy, &list);
	control_request_ok(request,
			   json_pack("{s:o, s:I}", "grants", list.array, "more", list.more));
}

static void ledger_add_live(const struct approver_live *live, void *arg)
{
	const struct policy_destination *dst = &live->facts->dst;

	ledger_add(arg, json_pack("{s:I, s:I, s:I, s:s, s:o, s:i, s:s, s:o, s:I}", "id",
				  (json_int_t)live->id, "grant", (json_int_t)live->grant, "exec",
				  (json_int_t)live->exec, "protocol",
				  policy_protocol_name(dst->protocol), "host",
				  wire_text(dst->host, sizeof(dst->host)), "port", (int)dst->port,
				  "way", policy_way_name(live->facts->way), "rule",
				  wire_text(live->rule, POLICY_TEXT_MAX), "age_s",
				  (json_int_t)(live->age_ms / 1000)));
}

void control_ledger_live(const struct control_request *request)
{
	struct ledger_list list = { .array = json_array() };

	size_t count = gateway_each_live(request->client->server->gw, CONTROL_LIST_MAX,
					 ledger_add_live, &list);

	list.more = (json_int_t)(count - json_array_size(list.array));
	ledger_reply(request, "live", &list);
}

static json_t *ledger_counts(const struct gateway_trip *trip)
{
	return json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "allowed", (json_int_t)trip->allowed,
		"denied", (json_int_t)trip->denied, "unanswered", (json_int_t)trip->unanswered,
		"failed", (json_int_t)trip->failed, "connections", (json_int_t)trip->connections,
		"bytes_up", (json_int_t)trip->bytes_up, "bytes_down", (json_int_t)trip->bytes_down);
}

/* Takes @counts. */
static void ledger_add_trip(struct ledger_list *list, const struct policy_destination *dst,
			    json_t *counts)
{
	json_t *where =
		json_pack("{s:s, s:o, s:i}", "protocol", policy_protocol_name(dst->protocol),
			  "host", wire_text(dst->host, sizeof(dst->host)), "port", (int)dst->port);

	(void)json_object_update(counts, where); /* out of memory: refused, and left out */
	json_decref(where);
	ledger_add(list, counts);
}

/* The destinations that were asked for last, and the sum of the others. */
void control_ledger_totals(const struct control_request *request)
{
	const struct gateway *gw = request->client->server->gw;
	size_t count, first;
	const struct gateway_trip *trips = gateway_trips(gw, &count);
	struct gateway_trip others = *gateway_trips_others(gw);
	struct ledger_list list = { .array = json_array() };

	first = count > CONTROL_LIST_MAX ? count - CONTROL_LIST_MAX : 0;
	list.more = (json_int_t)first;
	for (size_t i = 0; i < first; i++)
		gateway_trip_add(&others, &trips[i]);
	for (size_t i = first; i < count; i++)
		ledger_add_trip(&list, &trips[i].dst, ledger_counts(&trips[i]));
	json_t *reply = json_pack("{s:o, s:o, s:I}", "totals", list.array, "others",
				  ledger_counts(&others), "more", list.more);

	control_request_ok(request, reply);
}

static void ledger_failed(const struct control_request *request, int r, const struct err *why)
{
	if (r == -EINPROGRESS)
		return control_request_wait(request);
	if (r == -ENOENT)
		return control_request_refuse(request, "unknown", why->text);
	control_request_fail(request, r, why->text);
}

static json_t *ledger_revoked(const struct approver_revoked *revoked)
{
	return json_pack("{s:I, s:I, s:I}", "cut", (json_int_t)revoked->cut, "bytes_up",
			 (json_int_t)revoked->bytes_up, "bytes_down",
			 (json_int_t)revoked->bytes_down);
}

void control_ledger_revoke(const struct control_request *request)
{
	struct approver_revoked revoked = { 0 };
	char by[PERSON_TEXT_MAX];
	struct err why = { 0 };

	if (request->grant < 0)
		return control_request_refuse(request, "malformed", "\"grant\" is missing");
	int r = gateway_revoke(request->client->server->gw, (uint64_t)request->grant,
			       person_text(request->client->peer.uid, "approve", by), &revoked,
			       &why);

	if (r < 0)
		return ledger_failed(request, r, &why);
	control_request_ok(request, ledger_revoked(&revoked));
}

void control_ledger_undo(const struct control_request *request)
{
	struct approver_revoked revoked = { 0 };
	char by[PERSON_TEXT_MAX], text[APPROVER_KEY_MAX];
	struct err why = { 0 };
	int r = gateway_undo(request->client->server->gw, 0,
			     person_text(request->client->peer.uid, "approve", by), text, &revoked,
			     &why);

	if (r < 0)
		return ledger_failed(request, r, &why);
	json_t *reply = ledger_revoked(&revoked);

	(void)json_object_set_new(reply, "text", wire_text(text, APPROVER_KEY_MAX)); /* OOM only */
	control_request_ok(request, reply);
}

void control_ledger_cut(const struct control_request *request)
{
	char by[PERSON_TEXT_MAX];
	struct err why = { 0 };

	if (request->live < 0)
		return control_request_refuse(request, "malformed", "\"live\" is missing");
	int r = gateway_cut(request->client->server->gw, (uint64_t)request->live,
			    person_text(request->client->peer.uid, "approve", by), &why);

	if (r < 0)
		return ledger_failed(request, r, &why);
	control_request_ok(request, NULL);
}
