/* The formatter of records against the JSON library, which made them before: byte for byte the
 * same. */
#include "tests/unit/gateway/fixture.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/text.h"
#include "gateway/audit/chain.h"
#include "gateway/audit/record.h"

#define RECORD_TEXT_MAX    512
#define RECORD_COMMAND_MAX 1024
#define RECORD_NAME_MAX    128

static const char *const event_names[SINK_EVENT_COUNT] = {
	[SINK_START] = "start",
	[SINK_EXEC_START] = "exec_start",
	[SINK_DECISION] = "decision",
	[SINK_CLOSED] = "closed",
	[SINK_EXEC_END] = "exec_end",
	[SINK_END] = "end",
	[SINK_GAP] = "gap",
	[SINK_KILLED] = "killed",
	[SINK_PRUNED] = "pruned",
	[SINK_CHECKPOINT] = "checkpoint",
	[SINK_UNSIGNED] = "unsigned",
	[SINK_GRANTED] = "granted",
	[SINK_REVIEWED] = "reviewed",
	[SINK_REVOKED] = "revoked",
	[SINK_LATE] = "late_answer",
	[SINK_WITHHELD] = "withheld",
	[SINK_PROBED] = "probed",
	[SINK_REFUSED] = "refused",
	[SINK_PUBLISHED] = "published",
	[SINK_WORKER_ENDED] = "worker_ended",
	[SINK_MADE] = "made",
	[SINK_LIMIT] = "limit",
	[SINK_POLICY_RELOADED] = "policy_reloaded",
	[SINK_POLICY_RELOAD_FAILED] = "policy_reload_failed",
};

/* At most @max bytes of @text, whole characters where it is UTF-8; where it is not, every odd byte
 * is shown as \xNN. */
static void reference_text(json_t *object, const char *name, const char *text, size_t max)
{
	if (!text || text[0] == '\0')
		return;
	size_t len = strnlen(text, max);

	while (len > 0 && text[len] != '\0' && (text[len] & 0xc0) == 0x80)
		len--;
	json_t *value = json_stringn(text, len);

	if (!value) {
		size_t size = strnlen(text, max) * 4 + 1;
		auto_free char *shown = mem_new(size);

		(void)text_visible(shown, size, text, strnlen(text, max));
		value = json_string(shown);
	}
	(void)json_object_set_new(object, name, value); /* out of memory: seen by the dump */
}

static void reference_number(json_t *object, const char *name, uint64_t value)
{
	json_int_t kept = value > INT64_MAX ? INT64_MAX : (json_int_t)value;

	(void)json_object_set_new(object, name, json_integer(kept)); /* as above */
}

/* RFC 3339 §5.6, UTC, microseconds. */
static void reference_time(json_t *object, int64_t wall_us)
{
	time_t seconds = (time_t)(wall_us / 1000000);
	char date[32], text[48];
	struct tm parts;

	if (!gmtime_r(&seconds, &parts))
		return;
	(void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &parts);
	(void)snprintf(text, sizeof(text), "%s.%06dZ", date, (int)(wall_us % 1000000));
	reference_text(object, "time", text, sizeof(text));
}

static void reference_facts(json_t *object, const struct policy_facts *facts)
{
	if (facts->way != POLICY_WAY_NONE)
		reference_text(object, "way", policy_way_name(facts->way), RECORD_NAME_MAX);
	if (facts->dst.host[0] == '\0')
		return;
	reference_text(object, "host", facts->dst.host, POLICY_HOST_MAX);
	reference_text(object, "protocol", policy_protocol_name(facts->dst.protocol),
		       RECORD_NAME_MAX);
	reference_number(object, "port", facts->dst.port);
}

static void reference_outcome(json_t *object, const struct sink_record *record)
{
	const struct policy_verdict *verdict = record->verdict;
	char resolved[ADDR_TEXT_MAX];

	if (verdict)
		reference_text(object, "action", policy_action_name(verdict->action),
			       RECORD_NAME_MAX);
	if (record->reason != POLICY_NONE)
		reference_text(object, "reason", policy_reason_code(record->reason),
			       RECORD_NAME_MAX);
	if (verdict)
		reference_text(object, "by", verdict->by, sizeof(verdict->by));
	if (record->late) {
		reference_text(object, "by", record->late->by, RECORD_NAME_MAX);
		reference_text(object, "question", record->late->question, RECORD_NAME_MAX);
		reference_text(object, "said", record->late->said, RECORD_TEXT_MAX);
		reference_number(object, "answers", record->late->answers);
	}
	if (record->facts)
		reference_facts(object, record->facts);
	if (record->resolved.family != 0)
		reference_text(object, "resolved", addr_text(&record->resolved, resolved),
			       sizeof(resolved));
	if (record->is_resolved_upstream)
		reference_text(object, "resolved_by", "upstream", RECORD_NAME_MAX);
	if (verdict) {
		reference_text(object, "rule", verdict->rule, RECORD_TEXT_MAX);
		reference_text(object, "because", verdict->because, RECORD_TEXT_MAX);
	}
	reference_text(object, "files", record->files, RECORD_TEXT_MAX);
	reference_text(object, "digest", record->digest, RECORD_NAME_MAX);
	reference_text(object, "cause", record->cause, RECORD_TEXT_MAX);
}

static ssize_t reference_members(const struct sink_record *record, char *out, size_t size)
{
	json_t *object = json_object();

	reference_time(object, record->wall_us);
	reference_number(object, "mono", (uint64_t)record->mono_ms);
	reference_text(object, "session", record->session, RECORD_NAME_MAX);
	reference_text(object, "run", record->run, RECORD_NAME_MAX);
	if (record->exec != 0)
		reference_number(object, "exec", record->exec);
	reference_text(object, "event", event_names[record->event], RECORD_NAME_MAX);
	reference_text(object, "command", record->command, RECORD_COMMAND_MAX);
	reference_text(object, "program", record->program, RECORD_TEXT_MAX);
	if (record->event == SINK_EXEC_END)
		(void)json_object_set_new(object, "status", json_integer(record->exit_status));
	reference_outcome(object, record);
	if (record->has_traffic) {
		reference_number(object, "bytes_up", record->bytes_up);
		reference_number(object, "bytes_down", record->bytes_down);
	}
	if (record->has_traffic || record->duration_ms > 0)
		reference_number(object, "duration_ms", record->duration_ms);
	char whole[CHAIN_LINE_MAX];
	size_t len = json_dumpb(object, whole, sizeof(whole), JSON_COMPACT | JSON_ENSURE_ASCII) - 1;

	json_decref(object);
	ck_assert_uint_lt(len, sizeof(whole));
	if (len > size)
		return -E2BIG;
	memcpy(out, whole, len); /* without the braces, and each member behind a comma */
	if (len > 0)
		out[0] = ',';
	return (ssize_t)len;
}

static uint32_t state;

static uint32_t below(uint32_t bound)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state % bound;
}

/* Text that is likely to be cut, escaped, or no UTF-8: whole characters of every length, pieces of
 * them, what is too long for its value, surrogates, control bytes. */
static char *make_text(char *out, size_t size)
{
	static const char *const pieces[] = {
		"a",
		"host.test",
		" ",
		"\"",
		"\\",
		"\n\r\t\b\f",
		"\x01\x1f\x7f",
		"\xc3\xa9",
		"\xe2\x82\xac",
		"\xf0\x9f\x98\x80",
		"/",
		"\xef\xbf\xbf",
		/* no characters */
		"\x80",
		"\xc3",
		"\xc0\xaf",
		"\xe0\x80\xaf",
		"\xed\xa0\x80",
		"\xf4\x90\x80\x80",
		"\xf0\x9f",
		"\xff",
		"\xf0\x80\x80\x80",
		"\xc1\xbf",
	};
	size_t len = 0, want = below(4) ? below(64) : below((uint32_t)size);
	uint32_t kinds = below(3) ? 12 : (uint32_t)ARRAY_SIZE(pieces);

	while (len < want) {
		const char *piece = pieces[below(kinds)];

		if (len + strlen(piece) >= size)
			break;
		memcpy(out + len, piece, strlen(piece));
		len += strlen(piece);
	}
	out[len] = '\0';
	return out;
}

static const char *maybe(char *text)
{
	return below(4) ? text : NULL;
}

START_TEST(a_record_is_what_the_library_makes_of_it)
{
	static char texts[6][1600];
	struct policy_facts facts;
	struct policy_verdict verdict;
	char want[CHAIN_LINE_MAX], got[CHAIN_LINE_MAX];

	state = 2463534242u + (uint32_t)_i;
	for (int round = 0; round < 2000; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
			make_text(texts[i], sizeof(texts[i]));
		facts = (struct policy_facts){ .way = (enum policy_way)below(4) };
		facts.dst.protocol = (enum policy_protocol)below(5);
		facts.dst.port = (uint16_t)below(65536);
		make_text(facts.dst.host, sizeof(facts.dst.host));
		verdict = (struct policy_verdict){ .action = (enum policy_action)below(3) };
		make_text(verdict.rule, sizeof(verdict.rule));
		make_text(verdict.because, sizeof(verdict.because));
		make_text(verdict.by, sizeof(verdict.by));
		bool is_late = below(4) == 0;
		const struct sink_late late = { .question = maybe(texts[0]),
						.said = maybe(texts[2]),
						.by = maybe(texts[3]),
						.answers = below(UINT32_MAX) };
		const struct sink_record record = {
			.event = (enum sink_event)below(SINK_EVENT_COUNT),
			.wall_us = (int64_t)(((uint64_t)below(UINT32_MAX) << 20) | below(1 << 20)),
			.mono_ms = (int64_t)below(UINT32_MAX) - (below(50) == 0) * UINT32_MAX,
			.session = maybe(texts[0]),
			.run = maybe(texts[1]),
			.exec = below(3) ? ((uint64_t)below(UINT32_MAX) << below(33)) : 0,
			.command = maybe(texts[2]),
			.exit_status = (int)below(512) - 256,
			.late = is_late ? &late : NULL,
			.facts = below(4) ? &facts : NULL,
			.verdict = !is_late && below(4) ? &verdict : NULL,
			.reason = (enum policy_reason)below(POLICY_REASON_COUNT),
			.resolved = { .family = below(2) ? AF_INET : 0 },
			.is_resolved_upstream = below(2),
			.files = maybe(texts[3]),
			.digest = maybe(texts[4]),
			.cause = maybe(texts[5]),
			.bytes_up = below(2) ? UINT64_MAX : below(UINT32_MAX),
			.bytes_down = below(UINT32_MAX),
			.duration_ms = below(2) ? below(UINT32_MAX) : 0,
			.has_traffic = below(2),
		};
		size_t size = below(8) ? sizeof(want) : below(2000);
		ssize_t want_len = reference_members(&record, want, size);
		ssize_t got_len = record_members(&record, got, size);

		ck_assert_int_eq(got_len, want_len);
		if (want_len > 0)
			ck_assert_msg(memcmp(got, want, (size_t)want_len) == 0, "%.*s\n%.*s",
				      (int)want_len, want, (int)want_len, got);
	}
}
END_TEST

Suite *suite_record(void)
{
	Suite *suite = suite_create("record");
	TCase *tcase = tcase_create("formatter");

	tcase_add_loop_test(tcase, a_record_is_what_the_library_makes_of_it, 0, 8);
	tcase_set_timeout(tcase, 120);
	suite_add_tcase(suite, tcase);
	return suite;
}
