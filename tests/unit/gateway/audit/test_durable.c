/* When records are on the disk, with a disk of the test's own: it takes what it is asked for when
 * the test says so, or fails. */
#include "gateway/audit/disk/disk.h"
#include "gateway/approvers/ledger_impl.h"
#include "gateway/audit/disk/durable.h"
#include "gateway/audit/journal.h"
#include "gateway/gateway_open.h"
#include "gateway/gateway_tools.h"
#include "tests/unit/gateway/fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define REQUESTS_MAX 4
#define YES          "https://yes.test:443"

static const struct approver_ops *const no_approvers[] = { NULL };

static struct {
	bool is_unable;
	int refuses; /* -errno of disk_begin() */
	struct disk_request *open[REQUESTS_MAX];
	size_t files[REQUESTS_MAX], count;
	unsigned int begun;
} disk;

static struct gateway_client *worker;
static struct policy_verdict cut;

struct disk *disk_new(struct loop *loop, struct err *why)
{
	if (!disk.is_unable)
		return mem_new(1);
	(void)err_errno(why, ENOSYS, "io_setup(2) fails");
	return NULL;
}

void disk_free(struct disk *self)
{
	free(self);
	disk.count = 0;
}

int disk_begin(struct disk *self, struct disk_request *request, const int *fds, size_t count,
	       disk_done_fn done, void *arg)
{
	if (disk.refuses)
		return disk.refuses;
	ck_assert_uint_lt(disk.count, REQUESTS_MAX);
	for (size_t i = 0; i < count; i++)
		ck_assert_int_ge(fds[i], 0);
	*request = (struct disk_request){ .done = done, .arg = arg, .left = count };
	disk.files[disk.count] = count;
	disk.open[disk.count++] = request;
	disk.begun++;
	return 0;
}

/* The oldest request ends with @result. */
static void disk_ends(int result)
{
	struct disk_request *request = disk.open[0];

	ck_assert_uint_gt(disk.count, 0);
	disk.count--;
	memmove(disk.open, disk.open + 1, disk.count * sizeof(*disk.open));
	memmove(disk.files, disk.files + 1, disk.count * sizeof(*disk.files));
	request->left = 0;
	request->done(result, request->arg);
	fixture_settle();
}

static void on_cut(const struct policy_verdict *verdict, void *arg)
{
	cut = *verdict;
}

static void on_exec(uint64_t exec, int *fds, size_t count, void *arg)
{
}

static void on_gone(void *arg)
{
}

static void serve(void)
{
	int pair[2];

	memset(&cut, 0, sizeof(cut));
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_int_eq(gateway_serve(fixture.gw, pair[0], 0, -1), 0);
	worker = gateway_client_connect(fixture.loop, pair[1], on_exec, on_gone, NULL);
	gateway_client_on_cut(worker, on_cut);
	fixture_settle();
}

static void begin(const char *policy)
{
	fixture_open(policy);
	serve();
}

static void end(void)
{
	gateway_client_free(worker);
	fixture_close();
}

/* Nothing was written after the error, so the next run records that the end is missing. */
static void end_failed(void)
{
	gateway_free(take(fixture.gw));
	ck_assert_uint_eq(fixture_count_records("killed", NULL), 1);
	ck_assert_uint_eq(fixture_count_records("end", NULL), 0);
	end();
}

static void submit(struct fixture_request *request, const char *destination)
{
	struct policy_facts facts = fixture_facts(destination, FIXTURE_EXEC);

	request->ticket = gateway_submit(worker, &facts, fixture_on_verdict, request);
	fixture_settle();
}

static void report(struct fixture_request *request, enum policy_reason closed)
{
	struct gateway_report report = { .facts = fixture_facts(YES, FIXTURE_EXEC),
					 .ticket = request->pass,
					 .verdict = request->verdict,
					 .closed = closed };

	gateway_report(worker, &report);
	fixture_settle();
}

START_TEST(an_allow_waits_for_its_record)
{
	struct fixture_request first = { 0 }, second = { 0 }, third = { 0 }, denied = { 0 };

	begin("durable strict\nallow yes.test");
	submit(&first, YES);
	ck_assert_uint_eq(first.told, 0);
	ck_assert_uint_eq(disk.count, 1);
	ck_assert_uint_eq(disk.files[0], 1); /* the segment alone */
	char path[FIXTURE_PATH_MAX];
	struct stat info;

	fixture_segment(path);
	ck_assert_int_eq(stat(path, &info), 0);
	ck_assert_int_gt(info.st_size, 1000);
	/* Two more gather for the next request to the disk. Nothing is let go by a denial. */
	submit(&second, YES);
	submit(&third, YES);
	submit(&denied, "https://no.test:22");
	ck_assert_uint_eq(disk.count, 1);
	disk_ends(0);
	fixture_expect(&first, POLICY_ALLOW, POLICY_RULE_ALLOW);
	ck_assert_uint_eq(second.told + third.told, 0);
	ck_assert_uint_eq(disk.count, 1);
	disk_ends(0);
	fixture_expect(&second, POLICY_ALLOW, POLICY_RULE_ALLOW);
	fixture_expect(&third, POLICY_ALLOW, POLICY_RULE_ALLOW);
	ck_assert_uint_eq(disk.count, 0);
	end();
}
END_TEST

START_TEST(a_denial_does_not_wait)
{
	struct fixture_request denied = { 0 };

	begin("durable strict\ndeny no.test");
	submit(&denied, "https://no.test:443");
	fixture_expect(&denied, POLICY_DENY, POLICY_RULE_DENY);
	ck_assert_uint_eq(disk.begun, 0);
	end();
}
END_TEST

/* A person revokes what waits: it is let go and cut, in this order. */
START_TEST(a_cut_stays_behind_its_allow)
{
	struct approver_revoked revoked;
	struct fixture_request asked = { 0 };
	struct err why = { 0 };

	begin("durable strict");
	submit(&asked, YES);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_SESSION), 0);
	ck_assert_uint_eq(asked.told, 0);
	ck_assert_int_eq(gateway_revoke(fixture.gw, 1, "ana on tty", &revoked, &why), 0);
	fixture_settle();
	ck_assert_uint_eq(asked.told, 0);
	ck_assert_int_eq(cut.reason, POLICY_NONE);
	disk_ends(0);
	fixture_expect(&asked, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	ck_assert_int_eq(cut.action, POLICY_DENY);
	ck_assert_int_ne(cut.reason, POLICY_NONE);
	end();
}
END_TEST

START_TEST(a_worker_that_leaves_is_not_waited_for)
{
	struct fixture_request first = { 0 }, second = { 0 };

	begin("durable strict\nallow yes.test");
	submit(&first, YES);
	submit(&second, YES);
	gateway_withdraw(first.ticket);
	fixture_settle();
	gateway_client_free(worker);
	fixture_settle();
	disk_ends(0);
	ck_assert_uint_eq(first.told + second.told, 0);
	serve();
	end();
}
END_TEST

/* The kernel tells an error once: nothing is let go any more in this run. */
START_TEST(a_disk_that_fails_ends_everything)
{
	struct fixture_request open = { 0 }, waiting = { 0 }, later = { 0 };

	begin("durable strict\nallow yes.test");
	submit(&open, YES);
	disk_ends(0);
	fixture_expect(&open, POLICY_ALLOW, POLICY_RULE_ALLOW);
	submit(&waiting, YES);
	disk_ends(-EIO);
	fixture_expect(&waiting, POLICY_DENY, POLICY_AUDIT_FAILED);
	ck_assert_int_eq(cut.reason, POLICY_AUDIT_FAILED);
	report(&open, POLICY_AUDIT_FAILED);
	loop_advance(fixture.loop, 60000);
	submit(&later, YES);
	fixture_expect(&later, POLICY_DENY, POLICY_AUDIT_FAILED);
	ck_assert(journal_has_failed(fixture.gw->journal));
	end_failed();
}
END_TEST

START_TEST(a_disk_that_takes_nothing_denies)
{
	struct fixture_request waiting = { 0 };

	begin("durable strict\nallow yes.test");
	disk.refuses = -EAGAIN;
	submit(&waiting, YES);
	fixture_expect(&waiting, POLICY_DENY, POLICY_AUDIT_FAILED);
	end_failed();
}
END_TEST

/* As a full disk: when it has taken them after all, records go on, with a gap. */
START_TEST(a_disk_that_is_late_denies_until_it_has_ended)
{
	struct fixture_request waiting = { 0 }, between = { 0 }, again = { 0 };

	begin("durable strict\nallow yes.test");
	submit(&waiting, YES);
	loop_advance(fixture.loop, DURABLE_LATE_MS - 1);
	ck_assert_uint_eq(waiting.told, 0);
	loop_advance(fixture.loop, 1);
	fixture_settle();
	fixture_expect(&waiting, POLICY_DENY, POLICY_AUDIT_FAILED);
	loop_advance(fixture.loop, 1000);
	submit(&between, YES);
	fixture_expect(&between, POLICY_DENY, POLICY_AUDIT_FAILED);
	while (disk.count > 0)
		disk_ends(0);
	loop_advance(fixture.loop, 1000);
	submit(&again, YES);
	ck_assert_uint_eq(again.told, 0);
	while (disk.count > 0)
		disk_ends(0);
	fixture_expect(&again, POLICY_ALLOW, POLICY_RULE_ALLOW);
	end();
}
END_TEST

/* What was merged into the log also stays in the segment, until the log is on the disk. */
START_TEST(a_record_is_in_one_place_on_the_disk)
{
	struct fixture_request request = { 0 };
	char path[FIXTURE_PATH_MAX];
	struct stat info;

	begin("durable strict\nallow yes.test");
	submit(&request, YES);
	disk_ends(0);
	fixture_expect(&request, POLICY_ALLOW, POLICY_RULE_ALLOW);
	loop_advance(fixture.loop, 25); /* merged */
	fixture_settle();
	ck_assert_uint_eq(disk.count, 1);
	ck_assert_uint_eq(disk.files[0], 3); /* the segment, the log and its head */
	fixture_segment(path);
	ck_assert_int_eq(stat(path, &info), 0);
	ck_assert_int_gt(info.st_size, 1000);
	disk_ends(0);
	ck_assert_int_eq(stat(path, &info), 0);
	ck_assert_int_lt(info.st_size, 1000);
	end();
}
END_TEST

START_TEST(a_batch_is_asked_for_soon)
{
	struct fixture_request request = { 0 };

	begin("durable batch\nallow yes.test");
	loop_advance(fixture.loop, 1000);
	while (disk.count > 0)
		disk_ends(0);
	disk.begun = 0;
	submit(&request, YES);
	fixture_expect(&request, POLICY_ALLOW, POLICY_RULE_ALLOW);
	ck_assert_uint_eq(disk.begun, 0);
	loop_advance(fixture.loop, DURABLE_MS);
	ck_assert_uint_eq(disk.begun, 1);
	ck_assert_uint_eq(disk.files[0], 3);
	disk_ends(0);
	loop_advance(fixture.loop, 10000); /* nothing was written since */
	ck_assert_uint_eq(disk.begun, 1);
	end();
}
END_TEST

START_TEST(a_batch_that_fails_ends_everything)
{
	struct fixture_request open = { 0 }, later = { 0 };

	begin("allow yes.test");
	submit(&open, YES);
	fixture_expect(&open, POLICY_ALLOW, POLICY_RULE_ALLOW);
	loop_advance(fixture.loop, DURABLE_MS);
	disk_ends(-ENOSPC);
	ck_assert_int_eq(cut.reason, POLICY_AUDIT_FAILED);
	report(&open, POLICY_AUDIT_FAILED);
	submit(&later, YES);
	fixture_expect(&later, POLICY_DENY, POLICY_AUDIT_FAILED);
	end_failed();
}
END_TEST

/* A batch goes on without it, and says so once. */
START_TEST(a_kernel_that_cannot_tell_stops_what_is_strict)
{
	struct fixture_request request = { 0 };
	struct err why = { 0 };

	disk.is_unable = true;
	fixture_prepare("durable strict\nallow yes.test");
	ck_assert_ptr_null(gateway_open_with(fixture.loop, &fixture.config, no_approvers, &why));
	ck_assert_ptr_nonnull(strstr(why.text, "the policy says `durable strict`"));
	ck_assert_ptr_nonnull(strstr(why.text, "io_setup"));
	policy_free(fixture.policy);
	loop_free(fixture.loop);
	begin("allow yes.test");
	submit(&request, YES);
	loop_advance(fixture.loop, 1000);
	fixture_expect(&request, POLICY_ALLOW, POLICY_RULE_ALLOW);
	end();
}
END_TEST

START_TEST(without_a_log_nothing_is_strict)
{
	struct err why = { 0 };

	fixture_prepare("durable strict");
	fixture.config.audit_path = NULL;
	ck_assert_ptr_null(gateway_open_with(fixture.loop, &fixture.config, no_approvers, &why));
	ck_assert_str_eq(why.text, "the policy says `durable strict`: there is no audit log");
	fixture.config.audit_path = fixture.audit;
	fixture_start();
	fixture_close();
}
END_TEST

/* From the next request on. */
START_TEST(a_new_policy_may_be_strict)
{
	struct policy *stricter = policy_new(), *old;
	struct gateway_reload reload = { .policy = stricter, .files = "policy", .image = -1 };
	struct fixture_request request = { 0 };

	ck_assert_int_eq(
		policy_load_text(stricter, "<new>", "version 1\ndurable strict\nallow yes.test\n"),
		0);
	ck_assert_int_eq(policy_finish(stricter), 0);
	fixture_open("allow yes.test");
	fixture_settle();
	gateway_reload(fixture.gw, &reload);
	old = fixture.policy;
	fixture.policy = stricter;
	policy_free(old);
	serve();
	submit(&request, YES);
	ck_assert_uint_eq(request.told, 0);
	disk_ends(0);
	fixture_expect(&request, POLICY_ALLOW, POLICY_RULE_ALLOW);
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("durable");
	TCase *tcase = tcase_create("durable");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, an_allow_waits_for_its_record);
	tcase_add_test(tcase, a_denial_does_not_wait);
	tcase_add_test(tcase, a_cut_stays_behind_its_allow);
	tcase_add_test(tcase, a_worker_that_leaves_is_not_waited_for);
	tcase_add_test(tcase, a_disk_that_fails_ends_everything);
	tcase_add_test(tcase, a_disk_that_takes_nothing_denies);
	tcase_add_test(tcase, a_disk_that_is_late_denies_until_it_has_ended);
	tcase_add_test(tcase, a_record_is_in_one_place_on_the_disk);
	tcase_add_test(tcase, a_batch_is_asked_for_soon);
	tcase_add_test(tcase, a_batch_that_fails_ends_everything);
	tcase_add_test(tcase, a_kernel_that_cannot_tell_stops_what_is_strict);
	tcase_add_test(tcase, without_a_log_nothing_is_strict);
	tcase_add_test(tcase, a_new_policy_may_be_strict);
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
