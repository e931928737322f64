#include "cli/audit/rows.h"

#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/audit/ask.h"
#include "cli/audit/ocsf.h"
#include "cli/audit/report_forms.h"
#include "cli/audit/selection.h"
#include "gateway/gateway_audit.h"

static const char *const verdicts[] = { "", "allow", "deny", "unanswered", "failed" };

unsigned int rows_width(void)
{
	struct winsize size = { 0 };

	if (!isatty(STDOUT_FILENO))
		return 0;
	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size); /* zero: not known */
	return size.ws_col;
}

char *rows_what(const struct gateway_logged *record)
{
	if (record->host[0]) {
		bool is_ipv6 = strchr(record->host, ':') != NULL;

		return mem_printf("%s://%s%s%s:%" PRIu64, record->protocol, is_ipv6 ? "[" : "",
				  record->host, is_ipv6 ? "]" : "", record->port);
	}
	if (record->kind[0])
		return mem_printf("%s: %s%s%s", record->kind, record->program,
				  record->program[0] && record->command[0] ? ", as: " : "",
				  record->command);
	return mem_strdup(record->command);
}

/* Who or what decided, and what was sent. */
static char *details_of(const struct gateway_logged *record, enum store_verdict verdict)
{
	auto_free char *text = mem_strdup(record->reason);

	if (record->by[0])
		mem_append(&text, "%sby %s", text[0] ? ", " : "", record->by);
	if (record->times > 1)
		mem_append(&text, ", %" PRIu64 " times", record->times);
	if (record->rule[0])
		mem_append(&text, ", %s", record->rule);
	if (verdict == STORE_NO_VERDICT && record->bytes_up + record->bytes_down > 0) {
		char up[32], down[32];

		text_bytes(up, sizeof(up), record->bytes_up);
		text_bytes(down, sizeof(down), record->bytes_down);
		mem_append(&text, ", %s up, %s down", up, down);
	}
	if (record->host[0] && record->command[0])
		mem_append(&text, ", of: %s", record->command);
	return take(text);
}

static void put_table(const struct rows *rows, const struct gateway_logged *record,
		      enum store_verdict verdict)
{
	char time[SELECTION_TIME_MAX], id[ASK_ID_MAX];
	auto_free char *what = rows_what(record), *details = details_of(record, verdict);
	auto_free char *shown = text_visible_once(what), *more = text_visible_once(details);
	auto_free char *event = text_visible_dup(record->event);
	auto_free char *line =
		mem_printf("%.19s  %-14s  %-10s  %-34s  %s", selection_local(record->time_us, time),
			   ask_id(record, id), verdict ? verdicts[verdict] : event, shown, more);
	size_t len = strlen(line);

	while (len > 0 && line[len - 1] == ' ')
		len--;
	if (rows->width > 3 && len > rows->width)
		(void)fprintf(rows->out, "%.*s...\n", (int)rows->width - 3, line);
	else
		(void)fprintf(rows->out, "%.*s\n", (int)len, line);
}

static void put_csv(const struct rows *rows, const struct gateway_logged *record,
		    enum store_verdict verdict)
{
	char utc[SELECTION_TIME_MAX], local[SELECTION_TIME_MAX], id[ASK_ID_MAX];
	const char *const texts[] = {
		record->event,   verdicts[verdict], record->session, record->run,
		record->command, record->program,   record->kind,    record->action,
		record->reason,  record->by,        record->way,     record->protocol,
		record->host,    record->rule,
	};

	(void)fprintf(rows->out, "%s,%s,", selection_utc(record->time_us, utc),
		      selection_local(record->time_us, local));
	report_forms_cell(rows->out, ask_id(record, id));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		auto_free char *shown = text_visible_once(texts[i]);

		(void)fputc(',', rows->out);
		report_forms_cell(rows->out, shown);
	}
	(void)fprintf(rows->out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\r\n",
		      record->port, record->exec, record->times, record->bytes_up,
		      record->bytes_down);
}

void rows_head(const struct rows *rows)
{
	if (rows->form == ROWS_CSV)
		(void)fputs("time_utc,time_local,id,event,verdict,session,run,command,program,"
			    "kind,action,reason,by,way,protocol,host,rule,port,exec,times,"
			    "bytes_up,bytes_down\r\n",
			    rows->out);
}

int rows_put(const struct gateway_logged *record, enum store_verdict verdict, void *arg)
{
	const struct rows *rows = arg;
	auto_free char *line = NULL, *what = NULL, *event = NULL;
	int r;

	switch (rows->form) {
	case ROWS_TABLE:
		put_table(rows, record, verdict);
		return 0;
	case ROWS_CSV:
		put_csv(rows, record, verdict);
		return 0;
	case ROWS_JSON:
		r = store_find_line(rows->store, record, &line, rows->why);
		if (r == 0)
			(void)fprintf(rows->out, "%s\n", line);
		return r;
	case ROWS_OCSF:
		r = store_find_line(rows->store, record, &line, rows->why);
		what = rows_what(record);
		event = r == 0 ? ocsf_event(record, what, line) : NULL;
		if (event)
			(void)fprintf(rows->out, "%s\n", event);
		return r;
	}
	return 0;
}
