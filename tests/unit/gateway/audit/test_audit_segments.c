/* A run first writes its records to its own segment: a lock on the log does not stop a run, and a
 * run that is killed at any moment loses no record. */
#include "tests/unit/gateway/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "gateway/gateway_open.h"
#include "gateway/gateway_tools.h"
#include "gateway/audit/journal.h"

#define ROUNDS  40
#define EACH    1000000 /* no run gets to so many records */
#define RECORDS 8       /* of a killed run: start, two exec_starts, five decisions */

static const struct approver_ops *const no_approvers[] = { NULL };

static char *read_file(const char *path, size_t *ret_len)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = NULL;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_read_all(fd, 64U << 20, &text, ret_len, NULL), 0);
	return text;
}

static void expect_allowed(void)
{
	struct fixture_request request = { 0 };

	fixture_ask(&request, "https://yes.test:443", FIXTURE_EXEC);
	loop_advance(fixture.loop, 1000); /* what was written is to be published */
	fixture_expect(&request, POLICY_ALLOW, POLICY_RULE_ALLOW);
}

/* As any process that can open the file for reading. */
START_TEST(a_lock_on_the_log_stops_nothing)
{
	static const int locks[] = { LOCK_SH, LOCK_EX };
	auto_free char *head = NULL;
	int file_fd, head_fd;

	fixture_open("allow yes.test");
	head = mem_printf("%s.head", fixture.audit);
	file_fd = open(fixture.audit, O_RDONLY | O_CLOEXEC);
	head_fd = open(head, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(flock(file_fd, locks[_i]), 0);
	ck_assert_int_eq(flock(head_fd, locks[_i]), 0);
	for (int i = 0; i < 5; i++)
		expect_allowed();
	fd_close(file_fd);
	fd_close(head_fd);
	ck_assert_uint_eq(fixture_count_records("decision", "rule_allow"), 5);
	fixture_close();
}
END_TEST

/* The other run is stopped while it has the log. */
START_TEST(a_stopped_run_stops_no_other)
{
	int status;
	pid_t child;

	fixture_open("allow yes.test");
	child = fork();
	if (child == 0) {
		int fd = open(fixture.audit, O_RDWR | O_CLOEXEC);

		(void)flock(fd, LOCK_EX);
		(void)raise(SIGSTOP);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
	ck_assert(WIFSTOPPED(status));
	for (int i = 0; i < 5; i++)
		expect_allowed();
	ck_assert(!journal_has_failed(fixture.gw->journal));
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_uint_eq(fixture_count_records("decision", "rule_allow"), 5);
	fixture_close();
}
END_TEST

/* Writes and publishes until it is killed; @told: how many it could have told anybody of. */
static void report_for_ever(int round, volatile uint64_t *told)
{
	struct loop *loop = loop_new_fake();
	struct gateway *gw = gateway_open_with(loop, &fixture.config, no_approvers, NULL);
	struct gateway_client *client = gw ? gateway_client_new(gw) : NULL;
	struct gateway_report report = { .verdict = { .action = POLICY_ALLOW },
					 .closed = POLICY_BUDGET_SPENT }; /* written at once */

	for (uint64_t n = 1; client && !journal_has_failed(gw->journal); n++) {
		report.bytes_up = (uint64_t)round * EACH + n;
		gateway_report(client, &report);
		*told = n;
		if (n % 7 == 0)
			(void)journal_publish_now(gw->journal);
	}
	_exit(3);
}

/* Each record that could have been told is there once, in order, in its round; of a record that was
 * written and not told yet there is one at most. */
static void expect_each_once(const uint64_t told[ROUNDS])
{
	auto_free char *text = read_file(fixture.audit, NULL);
	uint64_t met[ROUNDS] = { 0 };

	for (const char *at = text; (at = strstr(at, "\"bytes_up\":")); at++) {
		uint64_t value = strtoull(at + strlen("\"bytes_up\":"), NULL, 10);
		uint64_t round = value / EACH;

		ck_assert_uint_lt(round, ROUNDS);
		ck_assert_uint_eq(value % EACH, met[round] + 1);
		met[round]++;
	}
	for (int i = 0; i < ROUNDS; i++) {
		ck_assert_uint_ge(met[i], told[i]);
		ck_assert_uint_le(met[i], told[i] + 1);
	}
}

START_TEST(whoever_is_killed_loses_no_record)
{
	uint64_t told[ROUNDS];
	volatile uint64_t *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	fixture_prepare(NULL);
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t until = 20 + (uint64_t)round * 13;
		pid_t child;
		int status;

		*shared = 0;
		child = fork();
		if (child == 0)
			report_for_ever(round, shared);
		for (int ms = 0; ms < 20000 && *shared < until; ms++)
			(void)poll(NULL, 0, 1);
		ck_assert_int_eq(kill(child, SIGKILL), 0);
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert(WIFSIGNALED(status));
		told[round] = *shared;
		ck_assert_uint_ge(told[round], until);
		if (round % 3 != 1) /* or two of them wait */
			fixture_publish();
	}
	ck_assert_uint_eq(fixture_count_records("killed", NULL), ROUNDS);
	expect_each_once(told);
	ck_assert_uint_eq(fixture_count_records("end", NULL), 0);
	(void)munmap((void *)(uintptr_t)shared, sizeof(*shared));
	fixture_start();
	fixture_close();
}
END_TEST

static void leave_a_segment(void)
{
	pid_t child;
	int status;

	fixture_prepare("allow **.test");
	child = fork();
	if (child == 0) {
		fixture.config.run = "dead";
		fixture_start();
		for (int i = 0; i < RECORDS - 3; i++) {
			struct fixture_request request = { 0 };
			auto_free char *host = mem_printf("https://h%d.test:443", i);

			fixture_ask(&request, host, FIXTURE_EXEC);
		}
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}

/* The next run takes over what a killed one left, and says so. */
START_TEST(the_next_run_merges_what_a_killed_one_left)
{
	struct err why = { 0 };
	uint64_t records;

	leave_a_segment();
	ck_assert_int_eq(
		gateway_audit_verify(fixture.audit, fixture.segments, NULL, &records, &why), 0);
	ck_assert_uint_eq(records, 0);
	ck_assert_msg(strstr(why.text, "8 records of killed runs") != NULL, "%s", why.text);
	fixture_start();
	fixture_settle();
	for (int i = 0; i < 10; i++)
		loop_advance(fixture.loop, 100);
	auto_free char *text = read_file(fixture.audit, NULL);

	ck_assert_ptr_nonnull(strstr(text, "\"run\":\"dead\",\"event\":\"killed\","));
	ck_assert_ptr_nonnull(strstr(text, "left behind may have no record"));
	ck_assert_uint_eq(fixture_count_records("decision", NULL), RECORDS - 3);
	ck_assert_uint_eq(fixture_count_records("start", NULL), 2);
	ck_assert_uint_eq(fixture_count_records("killed", NULL), 1);
	fixture_close();
}
END_TEST

/* Its last word could not be put into the log, and it was not killed. */
START_TEST(a_run_that_ends_while_the_log_is_held_leaves_its_records)
{
	struct err why = { 0 };
	int fd;

	fixture_open("allow yes.test");
	fixture_settle();
	fd = open(fixture.audit, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(flock(fd, LOCK_SH), 0);
	gateway_free(fixture.gw);
	fixture.gw = NULL;
	ck_assert_int_eq(gateway_audit_merge(fixture.audit, fixture.segments, &why), -EBUSY);
	fd_close(fd);
	ck_assert_uint_eq(fixture_count_records("end", NULL), 1);
	ck_assert_uint_eq(fixture_count_records("killed", NULL), 0);
	fixture_close();
}
END_TEST

/* In the middle of merging: the log has the records, and the segment does not know. */
START_TEST(what_was_merged_is_not_merged_again)
{
	auto_free char *before = NULL;
	char path[FIXTURE_PATH_MAX];
	struct err why = { 0 };
	size_t len;
	int fd;

	leave_a_segment();
	fixture_segment(path);
	before = read_file(path, &len);
	ck_assert_int_eq(gateway_audit_merge(fixture.audit, fixture.segments, &why), 0);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_eq(fd_write_all(fd, before, len), 0);
	fd_close(fd);
	ck_assert_uint_eq(fixture_count_records("decision", NULL), RECORDS - 3);
	ck_assert_uint_eq(fixture_count_records("start", NULL), 1);
	fixture_start();
	fixture_close();
}
END_TEST

/* The segment as text: two heads, the lines, and a head. */
static char *bytes;
static size_t len;

static char *line_at(size_t number)
{
	char *at = bytes;

	for (size_t i = 0; i < number + 1; i++)
		at = strchr(at, '\n') + 1;
	return at;
}
static void cut(const char *from, const char *to)
{
	size_t at = (size_t)(from - bytes), until = (size_t)(to - bytes);

	memmove(bytes + at, bytes + until, len - until + 1);
	len -= until - at;
}

static void edit_first(void)
{
	*strstr(line_at(1), "dead") = '8';
}
static void edit_middle(void)
{
	*strstr(line_at(5), "h1.test") = 'x';
}
static void edit_last(void)
{
	*strstr(line_at(RECORDS), "h4.test") = 'x';
}
static void edit_number(void)
{
	line_at(4)[strlen("{\"seq\":")] = '5';
}
static void edit_hash(void)
{
	char *hash = strchr(line_at(4), '\n') - 10;

	*hash = *hash == '0' ? '1' : '0';
}
static void remove_first(void)
{
	cut(line_at(1), line_at(2));
}
static void remove_middle(void)
{
	cut(line_at(4), line_at(5));
}
static void remove_last(void)
{
	cut(line_at(RECORDS), line_at(RECORDS + 1));
}
static void remove_all(void)
{
	cut(line_at(1), line_at(RECORDS + 1));
}
static void cut_the_end(void)
{
	cut(line_at(RECORDS + 1), bytes + len);
}
static void cut_the_tail(void)
{
	cut(line_at(RECORDS), bytes + len);
}
static void cut_half_a_line(void)
{
	cut(line_at(RECORDS) + 40, bytes + len);
}
static void cut_a_newline(void)
{
	char *newline = line_at(RECORDS) - 1;

	cut(newline, newline + 1);
}
static void swap_two(void)
{
	auto_free char *fourth = mem_strndup(line_at(4), (size_t)(line_at(5) - line_at(4)));
	size_t fifth_len = (size_t)(line_at(6) - line_at(5)), fourth_len = strlen(fourth);
	char *at = line_at(4);

	memmove(at, line_at(5), fifth_len);
	memcpy(at + fifth_len, fourth, fourth_len);
}
static void edit_end(void)
{
	line_at(RECORDS + 1)[30] = '9';
}
static void edit_heads(void)
{
	bytes[0] = 'x';
}
static void skip_by_heads(void)
{
	bytes[42] = '3'; /* as if three were merged */
}

static void (*const tamperings[])(void) = {
	edit_first,    edit_middle, edit_last,  edit_number, edit_hash,     remove_first,
	remove_middle, remove_last, remove_all, cut_the_end, cut_the_tail,  cut_half_a_line,
	cut_a_newline, swap_two,    edit_end,   edit_heads,  skip_by_heads,
};

START_TEST(each_tampering_of_a_segment_is_found)
{
	char path[FIXTURE_PATH_MAX];
	struct err why = { 0 };
	uint64_t records = 77;
	int fd;

	leave_a_segment();
	fixture_segment(path);
	bytes = read_file(path, &len);
	tamperings[_i]();
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	ck_assert_int_eq(fd_write_all(fd, bytes, len), 0);
	fd_close(fd);
	ck_assert_int_eq(
		gateway_audit_verify(fixture.audit, fixture.segments, NULL, &records, &why),
		-EBADMSG);
	ck_assert_uint_eq(records, 77);
	ck_assert_msg(strncmp(why.text, path, strlen(path)) == 0, "%s", why.text);
	/* The next run is not stopped by it, and tells of it. */
	fixture_start();
	expect_allowed();
	(void)unlink(path);
	free(bytes);
	fixture_close();
}
END_TEST

Suite *suite_audit_segments(void)
{
	Suite *suite = suite_create("audit segments");
	TCase *tcase = tcase_create("segments");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, a_lock_on_the_log_stops_nothing, 0, 2);
	tcase_add_test(tcase, a_stopped_run_stops_no_other);
	tcase_add_test(tcase, whoever_is_killed_loses_no_record);
	tcase_add_test(tcase, the_next_run_merges_what_a_killed_one_left);
	tcase_add_test(tcase, a_run_that_ends_while_the_log_is_held_leaves_its_records);
	tcase_add_test(tcase, what_was_merged_is_not_merged_again);
	tcase_add_loop_test(tcase, each_tampering_of_a_segment_is_found, 0,
			    sizeof(tamperings) / sizeof(tamperings[0]));
	suite_add_tcase(suite, tcase);
	return suite;
}
