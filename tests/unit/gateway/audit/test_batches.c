/* Records are written in batches: each of them must be correct. */
#include "tests/unit/gateway/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "gateway/gateway_open.h"
#include "gateway/gateway_tools.h"
#include "gateway/audit/journal.h"

#define MANY  200 /* more than a batch */
#define ROOM  (GATEWAY_BATCH + 8)
#define LARGE 1000

static const struct approver_ops *const no_approvers[] = { NULL };
static struct fixture_request many[MANY];
static unsigned int told;

/* What another process sees of the log, now. */
static char *read_log(void)
{
	fixture_publish();
	auto_close int fd = open(fixture.audit, O_RDONLY | O_CLOEXEC);
	char *text = NULL;

	ck_assert_int_eq(fd_read_all(fd, 16U << 20, &text, NULL, NULL), 0);
	return text;
}

/* The decisions of the log, by their hosts' numbers: h7.test is 7. */
static size_t read_hosts(int *ret, size_t max)
{
	auto_free char *text = read_log();
	size_t count = 0;

	for (const char *at = text; (at = strstr(at, "\"host\":\"h")); at++) {
		ck_assert_uint_lt(count, max);
		ck_assert_int_eq(sscanf(at, "\"host\":\"h%d.test\"", &ret[count++]), 1);
	}
	return count;
}

static void submit_many(void (*also)(struct fixture_request *self))
{
	told = 0;
	for (int i = 0; i < MANY; i++) {
		auto_free char *destination = mem_printf("https://h%d.test:443", i);

		many[i] = (struct fixture_request){ .also = also };
		fixture_submit(&many[i], destination, FIXTURE_EXEC);
	}
}

/* In order, and its record is there already. */
static void expect_recorded(struct fixture_request *request)
{
	int hosts[MANY], index = (int)(request - many);
	size_t count = read_hosts(hosts, MANY);

	ck_assert_int_eq(index, (int)told++);
	ck_assert_uint_gt(count, (size_t)index);
	ck_assert_int_eq(hosts[index], index);
}

START_TEST(nobody_is_told_before_its_record)
{
	fixture_open("allow **.test");
	submit_many(expect_recorded);
	ck_assert_uint_eq(told, 0);
	fixture_settle();
	ck_assert_uint_eq(told, MANY);
	ck_assert_uint_eq(fixture_count_records("decision", "rule_allow"), MANY);
	fixture_close();
}
END_TEST

static off_t segment_size(void)
{
	char path[FIXTURE_PATH_MAX];
	struct stat info;

	fixture_segment(path);
	ck_assert_int_eq(stat(path, &info), 0);
	return info.st_size;
}

static void limit_the_disk(off_t more)
{
	struct rlimit limit;

	(void)signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = (rlim_t)(segment_size() + more);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void unlimit_the_disk(void)
{
	const struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* How long the record of one request is, and long enough a log that the limit, which is for every
 * file of the process, is no other's. */
static off_t measure_a_record(void)
{
	struct gateway_report report = { .verdict = { .action = POLICY_ALLOW },
					 .closed = POLICY_DONE };
	struct fixture_request request = { 0 };
	off_t before;

	for (int i = 0; i < LARGE; i++)
		gateway_report(fixture.client, &report);
	fixture_settle();
	before = segment_size();
	fixture_ask(&request, "https://m.test:443", FIXTURE_EXEC);
	return segment_size() - before;
}

START_TEST(a_write_that_fails_denies_all_of_its_batch)
{
	int hosts[MANY];
	off_t each;

	fixture_open("allow **.test");
	each = measure_a_record();
	limit_the_disk(ROOM * each + each / 2);
	submit_many(NULL);
	fixture_settle();
	for (int i = 0; i < GATEWAY_BATCH; i++)
		fixture_expect(&many[i], POLICY_ALLOW, POLICY_RULE_ALLOW);
	for (int i = GATEWAY_BATCH; i < MANY; i++)
		fixture_expect(&many[i], POLICY_DENY, POLICY_AUDIT_FAILED);
	unlimit_the_disk();
	/* Nothing of it stays, and the chain is whole. */
	ck_assert_uint_eq(read_hosts(hosts, MANY), GATEWAY_BATCH);
	ck_assert_uint_eq(fixture_count_records("decision", "audit_failed"), 0);
	fixture_close();
}
END_TEST

/* A report that waits in front of a batch is written with it, and fails with it. */
START_TEST(a_report_in_front_of_a_batch_shares_its_fate)
{
	struct gateway_report report = { .verdict = { .action = POLICY_ALLOW },
					 .closed = POLICY_DONE };
	off_t each;

	fixture_open("allow **.test");
	each = measure_a_record();
	limit_the_disk(each);
	gateway_report(fixture.client, &report);
	submit_many(NULL);
	fixture_settle();
	for (int i = 0; i < MANY; i++)
		fixture_expect(&many[i], POLICY_DENY, POLICY_AUDIT_FAILED);
	unlimit_the_disk();
	/* Nobody waited for the report: it is kept, and comes with what says that there was a gap.
	 */
	loop_advance(fixture.loop, 1000);
	ck_assert_uint_eq(fixture_count_records("closed", NULL), LARGE + 1);
	ck_assert_uint_eq(fixture_count_records("gap", NULL), 1);
	fixture_close();
}
END_TEST

static void die(struct fixture_request *request)
{
	(void)kill(getpid(), SIGKILL);
}

START_TEST(killed_before_the_first_is_told_all_of_the_batch_is_there)
{
	int hosts[MANY], status;
	pid_t child;

	fixture_prepare("allow **.test");
	child = fork();
	if (child == 0) {
		fixture_start();
		submit_many(die);
		fixture_settle();
		_exit(1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	ck_assert_uint_eq(read_hosts(hosts, MANY), GATEWAY_BATCH);
	ck_assert_uint_eq(fixture_count_records("decision", "rule_allow"), GATEWAY_BATCH);
	/* And the next run goes on from there. */
	fixture_start();
	fixture_settle();
	ck_assert_uint_eq(fixture_count_records("start", NULL), 2);
	fixture_close();
}
END_TEST

#define HEAD_BYTES 160

/* Before the batch's head was written, a writer died; @cut bytes of its last line are missing, too.
 * The next one takes over what is whole. */
static void expect_taken_over(off_t cut, size_t whole)
{
	auto_free char *path = NULL;
	char head[HEAD_BYTES];
	int hosts[MANY], fd;
	struct err why = { 0 };
	struct stat info;
	uint64_t records;

	fixture_open("allow **.test");
	fixture_settle();
	fixture_publish();
	path = mem_printf("%s.head", fixture.audit);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(pread(fd, head, sizeof(head), 0), HEAD_BYTES);
	for (int i = 0; i < GATEWAY_BATCH; i++) {
		auto_free char *destination = mem_printf("https://h%d.test:443", i);

		many[i] = (struct fixture_request){ 0 };
		fixture_submit(&many[i], destination, FIXTURE_EXEC);
	}
	fixture_settle();
	fixture_publish();
	ck_assert_int_eq(stat(fixture.audit, &info), 0);
	gateway_free(fixture.gw);
	ck_assert_int_eq(truncate(fixture.audit, info.st_size - cut), 0);
	ck_assert_int_eq(pwrite(fd, head, sizeof(head), 0), HEAD_BYTES);
	fd_close(fd);
	ck_assert_int_eq(
		gateway_audit_verify(fixture.audit, fixture.segments, NULL, &records, &why),
		cut ? -EBADMSG : 0);
	fixture.gw = gateway_open_with(fixture.loop, &fixture.config, no_approvers, &why);
	ck_assert_ptr_nonnull(fixture.gw);
	fixture_settle();
	ck_assert_uint_eq(read_hosts(hosts, MANY), whole);
	ck_assert_uint_eq(fixture_count_records("decision", NULL), whole);
	fixture_close();
}

START_TEST(a_batch_that_its_head_does_not_know_is_taken_over)
{
	expect_taken_over(0, GATEWAY_BATCH);
}
END_TEST

START_TEST(of_half_a_batch_the_whole_records_are_taken_over)
{
	expect_taken_over(100, GATEWAY_BATCH - 1);
}
END_TEST

static void may_be_locked(void)
{
	auto_close int fd = open(fixture.audit, O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
}

/* Two journals gather at the same time and write by turns: each batch hangs on what is there when
 * it is written, not on what was there when it was gathered. */
START_TEST(batches_of_two_runs_take_turns)
{
	struct gateway_report report = { .verdict = { .action = POLICY_ALLOW },
					 .closed = POLICY_DONE };
	struct loop *loop = loop_new_fake();
	struct gateway_client *client;
	struct gateway *gw;

	fixture_open("allow **.test");
	fixture_settle();
	gw = gateway_open_with(loop, &fixture.config, no_approvers, NULL);
	client = gateway_client_new(gw);
	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 1 + round % 7; i++)
			gateway_report(fixture.client, &report);
		for (int i = 0; i < 1 + round % 5; i++)
			gateway_report(client, &report);
		may_be_locked(); /* nothing is held while they gather */
		loop_step(round % 2 ? loop : fixture.loop);
		may_be_locked();
		loop_step(round % 2 ? fixture.loop : loop);
	}
	ck_assert(!journal_has_failed(gw->journal));
	gateway_free(gw);
	loop_step(loop);
	gateway_client_free(client);
	loop_free(loop);
	fixture_settle();
	ck_assert(!journal_has_failed(fixture.gw->journal));
	ck_assert_uint_eq(fixture_count_records("closed", NULL), 50 + 7 * 21 + 50 + 10 * 10);
	fixture_close();
}
END_TEST

/* However many, and however long: they are not all kept in memory until a turn comes. */
START_TEST(many_reports_at_once_do_not_pile_up)
{
	struct gateway_report report = { .verdict = { .action = POLICY_ALLOW },
					 .closed = POLICY_DONE };

	fixture_open(NULL);
	memset(report.verdict.rule, 0x01, sizeof(report.verdict.rule) - 1);
	memset(report.verdict.because, 0x01, sizeof(report.verdict.because) - 1);
	for (int i = 0; i < LARGE; i++)
		gateway_report(fixture.client, &report);
	ck_assert_int_gt(segment_size(), (LARGE - 128) * INT64_C(6000));
	fixture_settle();
	ck_assert_uint_eq(fixture_count_records("closed", "done"), LARGE);
	fixture_close();
}
END_TEST

/* The program that embeds the gateway is told. */
START_TEST(a_refusal_that_is_reported_is_written_at_once)
{
	const struct gateway_report refused = { .verdict = { .action = POLICY_DENY,
							     .reason = POLICY_PRIVATE_ADDRESS } };
	const struct gateway_report cut = { .verdict = { .action = POLICY_ALLOW },
					    .closed = POLICY_BUDGET_SPENT };
	const struct gateway_report done = { .verdict = { .action = POLICY_ALLOW },
					     .closed = POLICY_DONE };

	fixture_open(NULL);
	fixture_settle();
	gateway_report(fixture.client, &done);
	ck_assert_uint_eq(fixture_count_records("closed", NULL), 0);
	gateway_report(fixture.client, &refused);
	ck_assert_uint_eq(fixture_count_records("decision", "private_address"), 1);
	ck_assert_uint_eq(fixture_count_records("closed", "done"), 1); /* what came before, too */
	gateway_report(fixture.client, &cut);
	ck_assert_uint_eq(fixture_count_records("closed", "budget_spent"), 1);
	fixture_close();
}
END_TEST

START_TEST(what_was_reported_last_is_there_when_the_gate_closes)
{
	struct gateway_report report = { .verdict = { .action = POLICY_ALLOW },
					 .closed = POLICY_DONE };

	fixture_open(NULL);
	fixture_settle();
	gateway_report(fixture.client, &report);
	gateway_free(take(fixture.gw));
	ck_assert_uint_eq(fixture_count_records("closed", "done"), 1);
	ck_assert_uint_eq(fixture_count_records("end", NULL), 1);
	fixture_close();
}
END_TEST

Suite *suite_batches(void)
{
	Suite *suite = suite_create("batches of records");
	TCase *tcase = tcase_create("batches");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, nobody_is_told_before_its_record);
	tcase_add_test(tcase, a_write_that_fails_denies_all_of_its_batch);
	tcase_add_test(tcase, a_report_in_front_of_a_batch_shares_its_fate);
	tcase_add_test(tcase, killed_before_the_first_is_told_all_of_the_batch_is_there);
	tcase_add_test(tcase, a_batch_that_its_head_does_not_know_is_taken_over);
	tcase_add_test(tcase, of_half_a_batch_the_whole_records_are_taken_over);
	tcase_add_test(tcase, batches_of_two_runs_take_turns);
	tcase_add_test(tcase, many_reports_at_once_do_not_pile_up);
	tcase_add_test(tcase, a_refusal_that_is_reported_is_written_at_once);
	tcase_add_test(tcase, what_was_reported_last_is_there_when_the_gate_closes);
	suite_add_tcase(suite, tcase);
	return suite;
}
