/* The reader of records: one line after another, good and bad; and that what record.c writes is
 * read as it was. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "gateway/audit/chain.h"
#include "gateway/audit/logged.h"
#include "gateway/audit/record.h"
#include "gateway/audit/segment.h"
#include "gateway/gateway_audit.h"

#define TIME "\"time\":\"2026-11-25T20:13:05.000042Z\""
#define GOOD "{\"seq\":1," TIME ",\"event\":\"end\"}"

static const struct {
	const char *line;
	const char *host; /* NULL: it is refused */
} lines[] = {
	{ GOOD, "" },
	{ "{" TIME ",\"event\":\"decision\",\"host\":\"a.test\",\"port\":443}", "a.test" },
	{ "{\"host\":\"a.test\",\"event\":\"decision\"," TIME "}", "a.test" },
	{ "{" TIME ",\"event\":\"x\",\"new\":-5,\"retry\":true,\"host\":\"a\"}", "a" },
	{ "{" TIME ",\"event\":\"x\",\"host\":\"\\u00e9\\ud83d\\ude00\\n\\\"\"}",
	  "\xc3\xa9\xf0\x9f\x98\x80\n\"" },
	{ "", NULL },
	{ "{}", NULL },
	{ "[]", NULL },
	{ "{" TIME "}", NULL },                        /* no event */
	{ "{\"event\":\"end\"}", NULL },               /* no time */
	{ GOOD " ", NULL },                            /* something behind it */
	{ "{" TIME ",\"event\":\"end\"", NULL },       /* cut */
	{ "{" TIME ",\"event\":\"en", NULL },          /* cut in a text */
	{ "{" TIME ",\"event\":\"end\",}", NULL },     /* no member behind the comma */
	{ "{" TIME ",\"event\":\"e\\u0000\"}", NULL }, /* it would end the text */
	{ "{" TIME ",\"event\":\"e\\ud83d\"}", NULL }, /* half a character */
	{ "{" TIME ",\"event\":\"e\\x\"}", NULL },
	{ "{" TIME ",\"event\":\"e\tf\"}", NULL },
	{ "{" TIME ",\"event\":7}", NULL },
	{ "{" TIME ",\"event\":\"e\",\"port\":\"443\"}", NULL },
	{ "{" TIME ",\"event\":\"e\",\"port\":65536}", NULL },
	{ "{" TIME ",\"event\":\"e\",\"exec\":-1}", NULL },
	{ "{" TIME ",\"event\":\"e\",\"exec\":18446744073709551616}", NULL },
	{ "{" TIME ",\"event\":\"e\",\"resolved\":\"10.0.0\"}", NULL },
	{ "{" TIME ",\"event\":\"e\",\"a\":{}}", NULL },
	{ "{" TIME ",\"event\":\"e\",\"a\":[1]}", NULL },
	{ "{\"time\":\"2026-13-25T20:13:05.000042Z\",\"event\":\"e\"}", NULL },
	{ "{\"time\":\"2026-11-25T20:13:05Z\",\"event\":\"e\"}", NULL },
	{ "{\"time\":\"\",\"event\":\"e\"}", NULL },
};

START_TEST(every_line)
{
	const char *line = lines[_i].line;
	auto_free char *copy = mem_strdup(line);
	struct gateway_logged record;
	const char *words = NULL;
	int r = logged_parse(copy, strlen(line), &record, &words);

	ck_assert_int_eq(r, lines[_i].host ? 0 : -EBADMSG);
	if (lines[_i].host)
		ck_assert_str_eq(record.host, lines[_i].host);
	else
		ck_assert_ptr_nonnull(words);
}
END_TEST

/* Every time of day of some days around the ends of months and years. */
START_TEST(times)
{
	static const struct {
		const char *text;
		int64_t seconds;
	} known[] = {
		{ "1970-01-01T00:00:00", 0 },          { "1999-12-31T23:59:59", 946684799 },
		{ "2000-02-29T12:00:00", 951825600 },  { "2026-11-25T20:13:05", 1795637585 },
		{ "2100-03-01T00:00:00", 4107542400 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		auto_free char *line =
			mem_printf("{\"time\":\"%s.000007Z\",\"event\":\"e\"}", known[i].text);
		struct gateway_logged record;
		const char *words;

		ck_assert_int_eq(logged_parse(line, strlen(line), &record, &words), 0);
		ck_assert_int_eq(record.time_us, known[i].seconds * 1000000 + 7);
	}
}
END_TEST

START_TEST(what_is_written_is_read)
{
	static const char *const texts[] = { "plain", "a \"b\" \\ c", "\x1b[31m", "\xc3\xa9",
					     "\xff" };
	struct sink_record record = { .event = SINK_EXEC_START,
				      .exec = 7,
				      .wall_us = 1795637585000042,
				      .run = "7f3a9c",
				      .command = texts[_i] };
	char members[CHAIN_MEMBERS_MAX], line[CHAIN_LINE_MAX];
	struct gateway_logged logged;
	struct chain chain;
	const char *words;

	chain_begin(&chain);
	ssize_t len = record_members(&record, members, sizeof(members));

	ck_assert_int_gt(len, 0);
	len = chain_seal(&chain, members, (size_t)len, line);
	ck_assert_int_gt(len, 0);
	ck_assert_int_eq(logged_parse(line, (size_t)len - 1, &logged, &words), 0);
	ck_assert_str_eq(logged.event, "exec_start");
	ck_assert_str_eq(logged.run, "7f3a9c");
	ck_assert_str_eq(logged.command, _i == 4 ? "\\xff" : texts[_i]);
	ck_assert_int_eq(logged.time_us, record.wall_us);
	ck_assert_uint_eq(logged.exec, 7);
}
END_TEST

struct counted {
	unsigned int records, malformed, stop_after;
	uint64_t lines[8];
};

static int on_record(const struct gateway_logged *record, void *arg)
{
	struct counted *counted = arg;

	counted->records++;
	return counted->stop_after > 0 && counted->records == counted->stop_after ? 5 : 0;
}

static void on_malformed(const char *path, uint64_t line, const char *words, void *arg)
{
	struct counted *counted = arg;

	ck_assert_uint_lt(counted->malformed, ARRAY_SIZE(counted->lines));
	counted->lines[counted->malformed++] = line;
}

static int read_text(const char *text, size_t len, struct counted *counted)
{
	char path[] = "/tmp/sallyport-logged-XXXXXX";
	auto_close int fd = mkstemp(path);
	struct gateway_audit_reading reading = { .path = path };
	const struct gateway_audit_calls calls = { on_record, on_malformed, counted };
	struct err why = { 0 };

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write_all(fd, text, len), 0);
	int r = gateway_audit_read(&reading, &calls, &why);

	ck_assert_int_eq(unlink(path), 0);
	return r;
}

/* A line that is longer than the buffer, and lines that cross its end. */
START_TEST(lines_of_every_length)
{
	static const char end[] = "\n" GOOD "\nbad\n" GOOD "\n{\"seq\"";
	size_t long_len = 700 << 10, count = 3000, len = 0;
	auto_free char *text = mem_new(count * sizeof(GOOD) + long_len + sizeof(end));
	struct counted counted = { 0 };

	for (size_t i = 0; i < count; i++, len += sizeof(GOOD))
		memcpy(text + len, GOOD "\n", sizeof(GOOD));
	memset(text + len, 'x', long_len);
	len += long_len;
	memcpy(text + len, end, sizeof(end) - 1);
	len += sizeof(end) - 1;
	ck_assert_int_eq(read_text(text, len, &counted), 0);
	ck_assert_uint_eq(counted.records, count + 2);
	ck_assert_uint_eq(counted.malformed, 3);
	ck_assert_uint_eq(counted.lines[0], count + 1);
	ck_assert_uint_eq(counted.lines[1], count + 3);
	ck_assert_uint_eq(counted.lines[2], count + 5);
}
END_TEST

START_TEST(it_ends_when_told)
{
	struct counted counted = { .stop_after = 2 };
	static const char text[] = GOOD "\n" GOOD "\n" GOOD "\n";

	ck_assert_int_eq(read_text(text, sizeof(text) - 1, &counted), 5);
	ck_assert_uint_eq(counted.records, 2);
}
END_TEST

/* The offset and the number of each record, and where each reading ended. */
static int on_place(const struct gateway_logged *record, void *arg)
{
	uint64_t *places = arg;

	while (*places)
		places++;
	*places = (uint64_t)record->at * 100000 + record->len * 10 + record->seq;
	return 0;
}

/* A file that grows is read from where the last reading ended: after its last whole line. */
START_TEST(it_goes_on)
{
	char path[] = "/tmp/sallyport-logged-XXXXXX";
	static const char second[] = "{\"seq\":2," TIME ",\"event\":\"end\"}";
	const uint64_t length = sizeof(GOOD) - 1;
	auto_close int fd = mkstemp(path);
	auto_free char *long_line = mem_new(300 << 10);
	uint64_t places[4] = { 0 };
	const struct gateway_audit_calls calls = { on_place, NULL, places };
	struct counted counted = { 0 };
	const struct gateway_audit_calls count = { on_record, on_malformed, &counted };
	struct gateway_audit_reading reading = { .path = path, .is_growing = true };
	struct err why = { 0 };

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write_all(fd, GOOD "\n{\"se", length + 5), 0);
	ck_assert_int_eq(gateway_audit_read(&reading, &calls, &why), 0);
	ck_assert_int_eq(reading.at, (off_t)length + 1);
	ck_assert_uint_eq(reading.line, 1);
	ck_assert_int_eq(fd_write_all(fd, second + 4, length - 4), 0);
	ck_assert_int_eq(fd_write_all(fd, "\n", 1), 0);
	ck_assert_int_eq(gateway_audit_read(&reading, &calls, &why), 0);
	ck_assert_int_eq(reading.at, 2 * ((off_t)length + 1));
	ck_assert_uint_eq(places[0], length * 10 + 1);
	ck_assert_uint_eq(places[1], (length + 1) * 100000 + length * 10 + 2);
	ck_assert_uint_eq(places[2], 0);

	memset(long_line, 'x', 300 << 10); /* no record, and not whole */
	ck_assert_int_eq(fd_write_all(fd, long_line, 300 << 10), 0);
	ck_assert_int_eq(gateway_audit_read(&reading, &count, &why), 0);
	ck_assert_int_eq(reading.at, 2 * ((off_t)length + 1));
	ck_assert_uint_eq(counted.lines[0], 3);
	ck_assert_int_eq(fd_write_all(fd, "\n" GOOD "\n", length + 2), 0);
	ck_assert_int_eq(gateway_audit_read(&reading, &count, &why), 0);
	ck_assert_int_eq(reading.at, 3 * ((off_t)length + 1) + (300 << 10) + 1);
	ck_assert_uint_eq(reading.line, 4);
	ck_assert_uint_eq(counted.lines[1], 3);
	ck_assert_uint_eq(counted.records, 1);
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

/* One record, sealed, in a segment of the log at @path; *@ret stays open, as that of a live run. */
static void make_segment(const char *dir, const char *path, struct segment *ret)
{
	const struct sink_record record = { .event = SINK_END, .run = "dead", .wall_us = 1 };
	char members[CHAIN_MEMBERS_MAX], bytes[CHAIN_LINE_MAX + SEGMENT_END];
	char key[SEGMENT_KEY_MAX];
	struct err why = { 0 };

	segment_key(path, key);
	ck_assert_int_eq(segment_create(ret, dir, key, "dead", &why), 0);
	struct chain next = ret->end;
	ssize_t len = record_members(&record, members, sizeof(members));

	ck_assert_int_gt(len, 0);
	len = chain_seal(&next, members, (size_t)len, bytes);
	ck_assert_int_gt(len, 0);
	ck_assert_int_eq(segment_append(ret, bytes, (size_t)len, &next), 0);
}

/* What a dead run has not merged is read; a damaged segment is named; a live run is counted. */
START_TEST(segments)
{
	char dir[] = "/tmp/sallyport-logged-XXXXXX";
	struct segment segment;
	unsigned int live, killed;
	struct counted counted = { 0 };
	const struct gateway_audit_calls calls = { on_record, on_malformed, &counted };
	struct err why = { 0 };

	ck_assert_ptr_nonnull(mkdtemp(dir));
	auto_free char *path = mem_printf("%s/audit.jsonl", dir);
	struct gateway_audit_reading reading = { .path = path, .dir = dir };
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	fd_close(fd);
	make_segment(dir, path, &segment);
	ck_assert_int_eq(gateway_audit_read(&reading, &calls, &why), 0);
	ck_assert_uint_eq(reading.live, 1);
	gateway_audit_left(path, dir, &live, &killed);
	ck_assert_uint_eq(live, 1);
	ck_assert_uint_eq(killed, 0);
	ck_assert_uint_eq(counted.records, 0);

	auto_free char *left = mem_strdup(segment.path);

	segment_close(&segment);
	gateway_audit_left(path, dir, &live, &killed);
	ck_assert_uint_eq(live, 0);
	ck_assert_uint_eq(killed, 1);
	ck_assert_int_eq(gateway_audit_read(&reading, &calls, &why), 0);
	ck_assert_uint_eq(reading.live, 0);
	ck_assert_uint_eq(counted.records, 1);
	ck_assert_uint_eq(counted.malformed, 0);

	ck_assert_int_eq(truncate(left, SEGMENT_BEGIN + 20), 0);
	ck_assert_int_eq(gateway_audit_read(&reading, &calls, &why), 0);
	ck_assert_uint_eq(counted.records, 1);
	ck_assert_uint_eq(counted.malformed, 1);
	ck_assert_int_eq(unlink(left), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

START_TEST(no_log)
{
	struct gateway_audit_reading reading = { .path = "/nonexistent/audit.jsonl" };
	const struct gateway_audit_calls calls = { on_record, on_malformed, NULL };
	struct err why = { 0 };

	ck_assert_int_eq(gateway_audit_read(&reading, &calls, &why), -ENOENT);
	ck_assert_ptr_nonnull(strstr(why.text, "/nonexistent/audit.jsonl"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("logged");
	TCase *lines_case = tcase_create("lines");

	tcase_add_loop_test(lines_case, every_line, 0, ARRAY_SIZE(lines));
	tcase_add_test(lines_case, times);
	tcase_add_loop_test(lines_case, what_is_written_is_read, 0, 5);
	tcase_add_test(lines_case, lines_of_every_length);
	tcase_add_test(lines_case, it_ends_when_told);
	tcase_add_test(lines_case, it_goes_on);
	tcase_add_test(lines_case, segments);
	tcase_add_test(lines_case, no_log);
	suite_add_tcase(suite, lines_case);

	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed > 0;
}
