/* `audit show`, `audit why`: one record. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/audit/ask.h"
#include "cli/audit/history.h"
#include "cli/audit/rows.h"
#include "cli/audit/selection.h"
#include "cli/audit/store/store.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "gateway/gateway_audit.h"
#include "policies/policies_gate.h"

#define DECISIONS_MAX 256 /* before the end of a connection: of other ports of its host, too */

struct show;

typedef int (*show_fn)(const struct show *show, const struct gateway_logged *record,
		       const char *line, struct err *why);

struct show {
	const char *id; /* as it was given */
	char run[64];
	uint64_t seq;
	bool is_json;
	show_fn put;
	/* While it is answered. */
	struct store *store;
	FILE *out;
	struct err *why;
	unsigned int count;
};

/* "RUN.NUMBER", or ".NUMBER": records of the log itself, such as a checkpoint, have no run. */
static bool read_id(struct show *show)
{
	const char *dot = strrchr(show->id, '.');

	return dot && (size_t)(dot - show->id) < sizeof(show->run) &&
	       text_to_u64(dot + 1, strlen(dot + 1), INT64_MAX, &show->seq) == 0 && show->seq > 0 &&
	       snprintf(show->run, sizeof(show->run), "%.*s", (int)(dot - show->id), show->id) >= 0;
}

static int show_each(const struct gateway_logged *record, enum store_verdict verdict, void *arg)
{
	struct show *show = arg;
	auto_free char *line = NULL;
	int r = store_find_line(show->store, record, &line, show->why);

	(void)verdict; /* the record has it too */
	if (show->count++ > 0)
		(void)fputc('\n', show->out);
	return r < 0 ? r : show->put(show, record, line, show->why);
}

static int show_ask(struct store *store, FILE *out, void *arg, struct err *why)
{
	struct show *show = arg;
	const struct store_filter filter = { .run = show->run[0] ? show->run : NULL,
					     .seq = show->seq };

	show->store = store;
	show->out = out;
	show->why = why;
	show->count = 0;
	int r = store_find(store, &filter, show_each, show, NULL, why);

	if (r < 0)
		return r;
	if (show->count == 0)
		return err_set(why, -ENOENT,
			       "the log has no record %s; `sallyport audit query` lists the ids of "
			       "records",
			       show->id);
	if (show->count > 1)
		(void)cli_fail(0,
			       "the log has %u records with this number; check it with `sallyport "
			       "audit verify`",
			       show->count);
	return show->count > 1 ? CLI_DENIED : CLI_OK;
}

static int show_run(const struct options *options, show_fn put)
{
	struct selection selection = { 0 };
	struct show show = {
		.id = options->operands[0],
		.put = put,
		.is_json = options_has(options, OPT_JSON),
	};

	if (!read_id(&show)) {
		auto_free char *shown = text_visible_dup(show.id);

		return options_wrong(options->command,
				     "`%s` is not the id of a record, such as 7f3a9c.120", shown);
	}
	int status = selection_take(&selection, options, SELECTION_ALL);

	if (status == CLI_OK)
		status = ask(&selection, show_ask, &show, true);
	selection_done(&selection);
	return status;
}

static void put_member(FILE *out, const char *name, const char *value)
{
	auto_free char *shown = text_visible_once(value);

	(void)fprintf(out, "%-12s %s\n", name, shown);
}

/* Every member, in the order of the record. */
static int put_record(const struct show *show, const struct gateway_logged *record,
		      const char *line, struct err *why)
{
	char time[SELECTION_TIME_MAX], id[ASK_ID_MAX];
	const char *name;
	json_t *value;

	if (show->is_json) {
		(void)fprintf(show->out, "%s\n", line);
		return 0;
	}
	json_t *object = json_loads(line, 0, NULL);

	if (!object)
		return err_set(why, -ESTALE, "record %s is not valid JSON", show->id);
	(void)fprintf(show->out, "%-12s %s\n%-12s %s\n", "record", ask_id(record, id), "local time",
		      selection_local(record->time_us, time));
	json_object_foreach(object, name, value)
	{
		auto_free char *shown = text_visible_dup(name);
		char *text = json_is_string(value)
				     ? mem_strdup(json_string_value(value))
				     : json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

		put_member(show->out, shown, text ? text : "");
		free(text);
	}
	json_decref(object);
	return 0;
}

int cli_audit_show(const struct options *options)
{
	return show_run(options, put_record);
}

static const char *member(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

static void put_optional(FILE *out, const char *name, const char *text)
{
	auto_free char *shown = text_visible_once(text);

	if (text[0])
		(void)fprintf(out, "%s: %s\n", name, shown);
}

/* What the run's summary and `policy explain` say, too. */
static void put_change(FILE *out, const struct gateway_logged *record, enum policy_reason reason)
{
	struct policy_destination dst = { 0 };
	char text[POLICY_DESTINATION_TEXT_MAX];
	bool is_allowed = strcmp(record->action, "allow") == 0;

	if (history_destination_read(record, &dst) < 0 || reason == POLICY_INSIDE) {
		put_optional(out, "Next", policy_reason_next(reason));
		return;
	}
	auto_free char *line = is_allowed
				       ? mem_printf("deny %s", policy_destination_text(&dst, text))
				       : policy_reason_line(reason, &dst, record->rule);

	if (line)
		(void)fprintf(out, "To %s it, add to a policy file: %s\n",
			      is_allowed ? "deny" : "allow", line);
	else
		put_optional(out, "Next", policy_reason_next(reason));
}

static void put_head(FILE *out, const struct gateway_logged *record)
{
	char time[SELECTION_TIME_MAX], id[ASK_ID_MAX];
	auto_free char *what = rows_what(record), *shown = text_visible_once(what);
	auto_free char *program = text_visible_dup(record->program);
	auto_free char *command = text_visible_once(record->command);
	auto_free char *action = text_visible_dup(record->action);

	(void)fprintf(out, "%s: %s %s\n", ask_id(record, id), action, shown);
	(void)fprintf(out, "  at %s", selection_local(record->time_us, time));
	if (record->program[0] && record->host[0])
		(void)fprintf(out, ", by %s", program);
	if (record->command[0] && record->host[0])
		(void)fprintf(out, ", of: %s", command);
	(void)fputc('\n', out);
}

static void put_reason(FILE *out, const struct gateway_logged *record, const char *before)
{
	enum policy_reason reason = history_reason(record->reason);
	auto_free char *code = text_visible_dup(record->reason);

	(void)fprintf(out, "%s%s (%s)\n", before,
		      reason == POLICY_NONE ? "Its reason is not known here."
					    : policy_reason_sentence(reason),
		      code);
}

/* A decision. */
static void put_decision(FILE *out, const struct gateway_logged *record, const json_t *object)
{
	put_head(out, record);
	put_reason(out, record, "");
	if (record->rule[0])
		put_optional(out, "Rule", record->rule);
	else
		(void)fputs("No rule.\n", out);
	put_optional(out, "Because", member(object, "because"));
	put_optional(out, "Answered by", record->by);
	put_optional(out, "Cause", member(object, "cause"));
	put_change(out, record, history_reason(record->reason));
}

struct show_decision {
	const struct gateway_logged *closed;
	off_t at; /* of its decision; the same as of @closed: none was found */
};

static int decision_each(const struct gateway_logged *record, enum store_verdict verdict, void *arg)
{
	struct show_decision *decision = arg;
	const struct gateway_logged *closed = decision->closed;

	(void)verdict; /* an allow */
	if (record->exec == closed->exec && record->port == closed->port &&
	    strcmp(record->host, closed->host) == 0 &&
	    strcmp(record->protocol, closed->protocol) == 0)
		decision->at = record->at;
	return 0;
}

/* The end of a connection says how it ended; what allowed it is in the last decision before. */
static int put_closed(const struct show *show, const struct gateway_logged *record, struct err *why)
{
	struct show_decision decision = { .closed = record, .at = record->at };
	const struct store_filter filter = { .run = record->run,
					     .domain = record->host,
					     .verdict = STORE_ALLOW,
					     .before = record->at,
					     .limit = DECISIONS_MAX };
	char id[ASK_ID_MAX];

	(void)fprintf(show->out, "%s: ", ask_id(record, id));
	put_reason(show->out, record, "the connection has ended. ");
	int r = store_find(show->store, &filter, decision_each, &decision, NULL, why);

	if (r < 0 || decision.at == record->at) {
		(void)fputs("Its decision is not in the log.\n", show->out);
		return r;
	}
	struct show other = *show;

	other.count = 0;
	return store_find(show->store,
			  &(struct store_filter){ .after = decision.at, .before = decision.at + 1 },
			  show_each, &other, NULL, why);
}

static int put_why(const struct show *show, const struct gateway_logged *record, const char *line,
		   struct err *why)
{
	if (strcmp(record->event, "closed") == 0)
		return put_closed(show, record, why);
	json_t *object = json_loads(line, 0, NULL);

	if (!object || record->action[0] == '\0') {
		json_decref(object);
		auto_free char *event = text_visible_dup(record->event);

		return err_set(why, -ENOENT,
			       "record %s has the event %s, which decides nothing; see `sallyport "
			       "audit show %s`",
			       show->id, event, show->id);
	}
	put_decision(show->out, record, object);
	json_decref(object);
	return 0;
}

int cli_audit_why(const struct options *options)
{
	return show_run(options, put_why);
}
