/* curl sends each batch, as it sends the questions of a webhook: it knows proxies, certificates and
 * addresses of every kind, and no start of this program loads it. The encoding is that of
 * https://opentelemetry.io/docs/specs/otlp/ ("JSON Protobuf Encoding"): numbers of 64 bits are
 * texts. */
#include "cli/audit/send/otlp.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/audit/send/event.h"
#include "cli/audit/send/tool.h"
#include "cli/audit/send/spool.h"

#define OTLP_PATH "/v1/logs"

struct receiver {
	char *curl, *url, *headers;
};

static const struct {
	const char *text;
	int number; /* SeverityNumber */
} severities[] = {
	[EVENT_INFO] = { "INFO", 9 },
	[EVENT_NOTICE] = { "INFO2", 10 },
	[EVENT_WARNING] = { "WARN", 13 },
	[EVENT_ERROR] = { "ERROR", 17 },
};

/* An AnyValue; what is not a plain value is its JSON. */
static json_t *otlp_value(const json_t *value)
{
	if (json_is_string(value))
		return json_pack("{s:s}", "stringValue", json_string_value(value));
	if (json_is_boolean(value))
		return json_pack("{s:b}", "boolValue", json_is_true(value));
	if (json_is_integer(value))
		return json_pack("{s:o}", "intValue",
				 json_sprintf("%" JSON_INTEGER_FORMAT, json_integer_value(value)));
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
	json_t *made = json_pack("{s:s}", "stringValue", text ? text : "");

	free(text);
	return made;
}

static void otlp_put(json_t *attributes, const char *key, const json_t *value)
{
	(void)json_array_append_new(
		attributes, json_pack("{s:s, s:o}", "key", key, "value", otlp_value(value)));
}

static void otlp_put_text(json_t *attributes, const char *key, const char *text)
{
	json_t *value = json_string(text);

	otlp_put(attributes, key, value);
	json_decref(value);
}

/* Every member of the line, with its name. A receiver can tell by the id that it has a record
 * already. */
static json_t *otlp_attributes(const struct spool_record *record, const char *log)
{
	json_t *attributes = json_array(), *line = json_loads(record->line, 0, NULL), *value;
	auto_free char *id = mem_printf("%s.%" PRIu64, log, record->parsed.seq);
	const char *name;

	otlp_put_text(attributes, "log.record.uid", id);
	json_object_foreach(line, name, value)
	{
		auto_free char *key = mem_printf("sallyport.%s", name);

		otlp_put(attributes, key, value);
	}
	json_decref(line);
	return attributes;
}

static json_t *otlp_record(const struct spool_record *record, const char *log)
{
	enum event_severity severity = event_severity(&record->parsed);
	auto_free char *sentence = event_sentence(&record->parsed);
	auto_free char *event = mem_printf("sallyport.%s", record->parsed.event);

	return json_pack(
		"{s:o, s:o, s:i, s:s, s:s, s:{s:s}, s:o}", "timeUnixNano",
		json_sprintf("%" PRId64 "000", record->parsed.time_us), "observedTimeUnixNano",
		json_sprintf("%" PRId64 "000", record->parsed.time_us), "severityNumber",
		severities[severity].number, "severityText", severities[severity].text, "eventName",
		event, "body", "stringValue", sentence, "attributes", otlp_attributes(record, log));
}

/* Returned owned. */
static char *otlp_body(const struct spool_batch *batch)
{
	json_t *resource = json_array(), *records = json_array();
	char machine[EVENT_MACHINE_MAX];

	otlp_put_text(resource, "service.name", "sallyport");
	otlp_put_text(resource, "service.version", SALLYPORT_VERSION);
	otlp_put_text(resource, "host.name", event_machine(machine));
	otlp_put_text(resource, "sallyport.log", batch->end.log);
	for (size_t i = 0; i < batch->count; i++)
		(void)json_array_append_new(records,
					    otlp_record(&batch->records[i], batch->end.log));
	json_t *scope =
		json_pack("{s:s, s:s}", "name", "sallyport.audit", "version", SALLYPORT_VERSION);
	json_t *body = json_pack("{s:[{s:{s:o}, s:[{s:o, s:o}]}]}", "resourceLogs", "resource",
				 "attributes", resource, "scopeLogs", "scope", scope, "logRecords",
				 records);
	char *text = json_dumps(body, JSON_COMPACT | JSON_ENSURE_ASCII);

	json_decref(body);
	return text;
}

/* A count in JSON: a number, or a text. */
static uint64_t otlp_count(const json_t *value)
{
	const char *text = json_string_value(value);
	uint64_t count = 0;

	if (text)
		return text_to_u64(text, strlen(text), INT64_MAX, &count) == 0 ? count : 0;
	return json_integer_value(value) > 0 ? (uint64_t)json_integer_value(value) : 0;
}

/* "BODY\nSTATUS", as curl has written it. */
static int otlp_answer(char *said, uint64_t *ret_refused, struct err *why)
{
	char *status = strrchr(said, '\n');

	*ret_refused = 0;
	if (!status || status[1] != '2') {
		if (status)
			*status = '\0';
		said[strcspn(said, "\r\n")] = '\0';
		auto_free char *shown = text_visible_dup(said);

		return err_set(why, -EIO, "its server answered with status %s%s%.200s",
			       status ? status + 1 : "unknown", shown[0] ? ": " : "", shown);
	}
	*status = '\0';
	json_t *answer = json_loads(said, 0, NULL);

	*ret_refused = otlp_count(
		json_object_get(json_object_get(answer, "partialSuccess"), "rejectedLogRecords"));
	json_decref(answer);
	return 0;
}

static int otlp_send(struct receiver *self, const struct spool_batch *batch, uint64_t *ret_refused,
		     struct err *why)
{
	auto_free char *file = self->headers ? mem_printf("@%s", self->headers) : NULL;
	/* Without "Expect", which delays each larger batch. */
	const char *const argv[] = { "curl",
				     "-q",
				     "--silent",
				     "--show-error",
				     "--globoff",
				     "--proto",
				     "=http,https",
				     "--connect-timeout",
				     "10",
				     "--header",
				     "content-type: application/json",
				     "--header",
				     "expect:",
				     "--data-binary",
				     "@-",
				     "--write-out",
				     "\\n%{http_code}",
				     "--url",
				     self->url,
				     file ? "--header" : NULL,
				     file,
				     NULL };
	auto_free char *body = otlp_body(batch), *said = NULL;

	if (!body)
		return err_set(why, -EINVAL, "the records cannot be written as JSON");
	int r = tool_run(self->curl, argv, body, strlen(body), RECEIVER_MS, &said, why);

	return r == 0 ? otlp_answer(said, ret_refused, why) : r;
}

static void otlp_close(struct receiver *self)
{
	if (!self)
		return;
	free(self->curl);
	free(self->url);
	free(self->headers);
	free(self);
}

/* Without a path it is that of the specification. */
static char *otlp_url(const char *to)
{
	const char *url = to + strlen("otlp+"), *authority = strstr(url, "://") + 3;
	size_t len = strcspn(authority, "/?#");

	if (authority[len] == '\0' || strcmp(authority + len, "/") == 0)
		return mem_printf("%.*s%s", (int)(authority - url + (ptrdiff_t)len), url,
				  OTLP_PATH);
	return mem_strdup(url);
}

static int otlp_open(const struct receiver_config *config, struct receiver **ret, struct err *why)
{
	const char *authority = strstr(config->to, "://") + 3;
	size_t len = strcspn(authority, "/?#");

	if (len == 0)
		return err_set(why, -EINVAL, "%s names no host", config->to);
	if (memchr(authority, '@', len))
		return err_set(why, -EINVAL,
			       "a password in an address is seen by every user of this machine; "
			       "put the login into a file of --headers");
	char *curl = tool_find("curl", why);

	if (!curl)
		return -ENOENT;
	*ret = mem_new(sizeof(**ret));
	**ret = (struct receiver){ curl, otlp_url(config->to),
				   mem_strdup_or_null(config->headers) };
	return 0;
}

const struct receiver_ops otlp_http_ops = { "otlp+http", otlp_open, otlp_send, otlp_close };
const struct receiver_ops otlp_https_ops = { "otlp+https", otlp_open, otlp_send, otlp_close };
