/* The classes Network Activity (4001) and HTTP Activity (4002), with the profiles host and
 * security_control. A record has neither the method nor the answer of a request, so that an HTTP
 * Activity has a request whose method is known only if it is CONNECT. Members without a place in
 * the class are in "unmapped", with their own names. */
#include "cli/audit/ocsf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/mem.h"
#include "cli/audit/ask.h"
#include "cli/audit/history.h"
#include "gateway/gateway_audit.h"

enum { CATEGORY_NETWORK = 4, CLASS_NETWORK = 4001, CLASS_HTTP = 4002 };
enum { NETWORK_OPEN = 1, NETWORK_CLOSE = 2, NETWORK_FAIL = 4, NETWORK_REFUSE = 5 };
enum { HTTP_UNKNOWN = 0, HTTP_CONNECT = 1 };
enum { SEVERITY_INFORMATIONAL = 1, SEVERITY_MEDIUM = 3 };
enum { INBOUND = 1, OUTBOUND = 2 };
enum { TCP = 6 };

/* These are elsewhere in the event. */
static const char *const mapped[] = {
	"seq",      "time",    "event",    "action",     "reason",      "way",     "host",
	"protocol", "port",    "client",   "resolved",   "rule",        "because", "command",
	"program",  "session", "bytes_up", "bytes_down", "duration_ms", "times",
};

static bool is_closed(const struct gateway_logged *record)
{
	return strcmp(record->event, "closed") == 0;
}

static bool is_failed(const struct gateway_logged *record)
{
	return policy_reason_is_failure(history_reason(record->reason));
}

static bool is_denied(const struct gateway_logged *record)
{
	return strcmp(record->action, "deny") == 0 && !is_failed(record);
}

static bool is_way(const struct gateway_logged *record, const char *way)
{
	return strcmp(record->way, way) == 0;
}

/* Packs text, or nothing for "". */
static void put(json_t *object, const char *name, const char *text)
{
	if (text && text[0] != '\0')
		(void)json_object_set_new(object, name, json_string(text));
}

/* Adds @part if it has members. */
static void put_part(json_t *object, const char *name, json_t *part)
{
	if (json_object_size(part) > 0)
		(void)json_object_set_new(object, name, part);
	else
		json_decref(part);
}

static void put_class(json_t *event, const struct gateway_logged *record, const char *what)
{
	bool is_connect = is_way(record, "connect"), is_http = is_connect || is_way(record, "http");
	int class = CLASS_NETWORK, activity = NETWORK_OPEN;
	const char *name = "Open";

	if (is_closed(record)) {
		activity = NETWORK_CLOSE;
		name = "Close";
	} else if (is_http && record->host[0]) {
		class = CLASS_HTTP;
		activity = is_connect ? HTTP_CONNECT : HTTP_UNKNOWN;
		name = is_connect ? "Connect" : "Unknown";
	} else if (is_denied(record)) {
		activity = NETWORK_REFUSE;
		name = "Refuse";
	} else if (is_failed(record)) {
		activity = NETWORK_FAIL;
		name = "Fail";
	}
	json_t *parts =
		json_pack("{s:i, s:s, s:i, s:s, s:i, s:s, s:i}", "category_uid", CATEGORY_NETWORK,
			  "category_name", "Network Activity", "class_uid", class, "class_name",
			  class == CLASS_HTTP ? "HTTP Activity" : "Network Activity", "activity_id",
			  activity, "activity_name", name, "type_uid", class * 100 + activity);

	(void)json_object_update(event, parts);
	json_decref(parts);
	if (!record->host[0])
		return;
	json_t *target = json_pack("{s:I}", "port", (json_int_t)record->port);

	put(target, "url_string", what);
	put(target, "scheme", record->protocol);
	put(target, "hostname", record->host);
	if (class == CLASS_HTTP) {
		json_t *request = json_pack("{s:o}", "url", target);

		put(request, "http_method", is_connect ? "CONNECT" : NULL);
		(void)json_object_set_new(event, "http_request", request);
	} else {
		(void)json_object_set_new(event, "url", target);
	}
}

static void put_outcome(json_t *event, const struct gateway_logged *record, const json_t *line,
			const char *what)
{
	bool is_failure = is_closed(record) ? strcmp(record->reason, "done") != 0
					    : strcmp(record->action, "deny") == 0;
	auto_free char *message = mem_printf("%s: %s %s", record->event,
					     is_failed(record) ? "failed" : record->action, what);
	json_t *parts = json_pack(
		"{s:i, s:s, s:i, s:s, s:i, s:s, s:i, s:s}", "severity_id",
		is_denied(record) ? SEVERITY_MEDIUM : SEVERITY_INFORMATIONAL, "severity",
		is_denied(record) ? "Medium" : "Informational", "status_id", is_failure ? 2 : 1,
		"status", is_failure ? "Failure" : "Success", "action_id",
		is_denied(record) ? 2 : 1, "action", is_denied(record) ? "Denied" : "Allowed",
		"disposition_id", is_denied(record) ? 2 : 1, "disposition",
		is_denied(record) ? "Blocked" : "Allowed");
	json_t *rule = json_object();

	(void)json_object_update(event, parts);
	json_decref(parts);
	put(event, "message", message);
	put(event, "status_code", record->reason);
	put(rule, "name", record->rule);
	put(rule, "desc", json_string_value(json_object_get(line, "because")));
	put_part(event, "firewall_rule", rule);
}

static void put_ends(json_t *event, const struct gateway_logged *record, const json_t *line)
{
	bool is_inbound = is_way(record, "published");
	json_t *target = json_object(), *source = json_object();
	struct addr addr;

	put(source, "uid", record->run);
	put(source, "ip", json_string_value(json_object_get(line, "client")));
	put_part(event, "src_endpoint", source);
	if (record->host[0]) {
		bool is_address = addr_parse(record->host, strlen(record->host), &addr) == 0;

		put(target, is_address ? "ip" : "hostname", record->host);
		put(target, "ip", json_string_value(json_object_get(line, "resolved")));
		(void)json_object_set_new(target, "port", json_integer((json_int_t)record->port));
	}
	put_part(event, "dst_endpoint", target);
	(void)json_object_set_new(event, "connection_info",
				  json_pack("{s:i, s:s, s:s, s:i}", "direction_id",
					    is_inbound ? INBOUND : OUTBOUND, "direction",
					    is_inbound ? "Inbound" : "Outbound", "protocol_name",
					    "tcp", "protocol_num", TCP));
	if (is_closed(record))
		(void)json_object_set_new(
			event, "traffic",
			json_pack("{s:I, s:I, s:I}", "bytes_out", (json_int_t)record->bytes_up,
				  "bytes_in", (json_int_t)record->bytes_down, "bytes",
				  (json_int_t)(record->bytes_up + record->bytes_down)));
}

static void put_actor(json_t *event, const struct gateway_logged *record)
{
	json_t *actor = json_object(), *process = json_object(), *session = json_object();

	if (record->exec > 0 && record->command[0]) {
		auto_free char *uid =
			mem_printf("%s.%llu", record->run, (unsigned long long)record->exec);

		put(process, "uid", uid);
		put(process, "cmd_line", record->command);
	}
	put_part(actor, "process", process);
	put(session, "uid", record->session);
	put_part(actor, "session", session);
	put(actor, "app_name", record->program);
	put_part(event, "actor", actor);
}

static void put_metadata(json_t *event, const struct gateway_logged *record)
{
	char id[ASK_ID_MAX];
	json_t *product = json_pack("{s:s, s:s, s:s}", "name", "Sallyport", "vendor_name",
				    "Sallyport", "version", SALLYPORT_VERSION);
	json_t *metadata =
		json_pack("{s:s, s:o, s:[s, s], s:s, s:I}", "version", OCSF_VERSION, "product",
			  product, "profiles", "host", "security_control", "uid",
			  ask_id(record, id), "sequence", (json_int_t)record->seq);

	put(metadata, "event_code", record->event);
	put(metadata, "correlation_uid", record->run);
	(void)json_object_set_new(event, "metadata", metadata);
}

char *ocsf_event(const struct gateway_logged *record, const char *what, const char *line)
{
	bool is_decision = strcmp(record->event, "decision") == 0 && !record->kind[0];

	if (!is_decision && !(is_closed(record) && record->host[0]))
		return NULL;
	json_t *event = json_object(), *rest = json_loads(line, 0, NULL);
	const json_t *duration = json_object_get(rest, "duration_ms");

	(void)json_object_set_new(event, "time", json_integer(record->time_us / 1000));
	put_class(event, record, what);
	put_outcome(event, record, rest, what);
	put_ends(event, record, rest);
	put_actor(event, record);
	put_metadata(event, record);
	if (record->times > 1)
		(void)json_object_set_new(event, "count", json_integer((json_int_t)record->times));
	if (duration)
		(void)json_object_set(event, "duration", (json_t *)(uintptr_t)duration);
	for (size_t i = 0; i < ARRAY_SIZE(mapped); i++)
		(void)json_object_del(rest, mapped[i]);
	put_part(event, "unmapped", rest);
	char *text = json_dumps(event, JSON_COMPACT | JSON_ENSURE_ASCII);

	json_decref(event);
	return text;
}
