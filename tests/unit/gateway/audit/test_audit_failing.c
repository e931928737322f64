#include "gateway/audit/journal.h"
#include "gateway/gateway_open.h"
#include "tests/unit/gateway/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "gateway/gateway_syslog.h"

static const struct approver_ops *const no_approvers[] = { NULL };

static off_t size_of(const char *path)
{
	struct stat info;

	ck_assert_int_eq(stat(path, &info), 0);
	return info.st_size;
}

/* No room for one more record. The limit holds for every file of the process, and Check keeps one:
 * the segment is made the longest. */
static void fill_the_disk(void)
{
	struct gateway_report report = { .verdict = { .action = POLICY_ALLOW },
					 .closed = POLICY_DONE };
	char segment[FIXTURE_PATH_MAX];
	struct rlimit limit;

	fixture_segment(segment);
	while (size_of(segment) < 300000)
		gateway_report(fixture.client, &report);
	(void)signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = (rlim_t)size_of(segment) + 100;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void empty_the_disk(void)
{
	const struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

START_TEST(a_full_disk_turns_every_verdict_into_a_denial)
{
	struct fixture_request first = { 0 }, second = { 0 }, third = { 0 }, waiting = { 0 };
	char segment[FIXTURE_PATH_MAX];
	off_t size;
	int fd;

	fixture_open("allow yes.test");
	fixture_ask(&first, "https://yes.test:443", FIXTURE_EXEC);
	fixture_expect(&first, POLICY_ALLOW, POLICY_RULE_ALLOW);
	fixture_ask(&waiting, "https://asked.test:443", FIXTURE_EXEC);
	fill_the_disk();
	fixture_segment(segment);
	size = size_of(segment);
	fixture_ask(&second, "https://yes.test:443", FIXTURE_EXEC);
	fixture_expect(&second, POLICY_DENY, POLICY_AUDIT_FAILED);
	fixture_expect(&waiting, POLICY_DENY, POLICY_AUDIT_FAILED);
	ck_assert_int_eq(size_of(segment), size); /* cut back to the last whole record */
	fd = open(fixture.audit, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(flock(fd, LOCK_SH), 0); /* or merging it would make room */
	loop_advance(fixture.loop, 1000);
	fixture_ask(&third, "https://yes.test:443", FIXTURE_EXEC);
	fixture_expect(&third, POLICY_DENY, POLICY_AUDIT_FAILED);
	fd_close(fd);
	empty_the_disk();
	ck_assert_uint_eq(fixture_count_records("decision", NULL), 1);
	fixture_close();
}
END_TEST

static struct policy_verdict cut;

static void on_cut(const struct policy_verdict *verdict, void *arg)
{
	cut = *verdict;
}

/* The counts go on over several gaps. */
START_TEST(what_is_missing_is_counted)
{
	uint64_t denied, lost;

	fixture_open("allow yes.test");
	for (unsigned int i = 1; i <= 2; i++) {
		struct fixture_request request = { 0 }, again = { 0 };

		fill_the_disk();
		fixture_submit(&request, "https://yes.test:443", FIXTURE_EXEC);
		loop_step(fixture.loop); /* one turn */
		fixture_expect(&request, POLICY_DENY, POLICY_AUDIT_FAILED);
		journal_missing(fixture.gw->journal, &denied, &lost);
		ck_assert_uint_eq(denied, i);
		ck_assert_uint_eq(lost, 0);
		empty_the_disk();
		loop_advance(fixture.loop, 1000);
		fixture_ask(&again, "https://yes.test:443", FIXTURE_EXEC);
		fixture_expect(&again, POLICY_ALLOW, POLICY_RULE_ALLOW);
	}
	fixture_close();
}
END_TEST

/* What is open moves no byte that could not be written down, and all is open again by itself, with
 * a record of how long, and how many. */
START_TEST(what_is_open_ends_and_the_gap_is_recorded)
{
	struct fixture_request open = { 0 }, denied = { 0 }, again = { 0 };
	struct gateway_report report = { .verdict = { .action = POLICY_ALLOW },
					 .closed = POLICY_AUDIT_FAILED };

	fixture_open("allow yes.test");
	gateway_client_on_cut(fixture.client, on_cut);
	fixture_ask(&open, "https://yes.test:443", FIXTURE_EXEC);
	fixture_expect(&open, POLICY_ALLOW, POLICY_RULE_ALLOW);
	fill_the_disk();
	fixture_submit(&denied, "https://yes.test:443", FIXTURE_EXEC);
	loop_step(fixture.loop); /* one turn */
	fixture_expect(&denied, POLICY_DENY, POLICY_AUDIT_FAILED);
	ck_assert_int_eq(cut.action, POLICY_DENY);
	ck_assert_str_eq(policy_reason_code(cut.reason), "audit_failed");
	report.ticket = open.pass;
	gateway_report(fixture.client, &report);
	empty_the_disk();
	loop_advance(fixture.loop, 1000);
	fixture_ask(&again, "https://yes.test:443", FIXTURE_EXEC);
	fixture_expect(&again, POLICY_ALLOW, POLICY_RULE_ALLOW);
	ck_assert_uint_eq(fixture_count_records("decision", NULL), 2);
	ck_assert_uint_eq(fixture_count_records("closed", "audit_failed"), 1);
	ck_assert_uint_eq(fixture_count_records("gap", NULL), 1);
	auto_free char *gap = fixture_record("gap");

	ck_assert_ptr_nonnull(strstr(gap, "\"since\":\"20"));
	ck_assert_ptr_nonnull(strstr(gap, "\"denied\":1,\"lost\":0,"));
	fixture_close();
}
END_TEST

static void end_with_a_full_disk(bool has_room_at_the_end)
{
	struct fixture_request denied = { 0 };

	fixture_open("allow yes.test");
	fill_the_disk();
	fixture_ask(&denied, "https://yes.test:443", FIXTURE_EXEC);
	fixture_expect(&denied, POLICY_DENY, POLICY_AUDIT_FAILED);
	if (has_room_at_the_end)
		empty_the_disk();
	gateway_free(take(fixture.gw));
	empty_the_disk();
}

/* There was no turn of the loop for another attempt. */
START_TEST(room_at_the_end_is_enough)
{
	end_with_a_full_disk(true);
	ck_assert_uint_eq(fixture_count_records("gap", NULL), 1);
	ck_assert_uint_eq(fixture_count_records("end", NULL), 1);
	ck_assert_uint_eq(fixture_count_records("killed", NULL), 0);
	fixture_close();
}
END_TEST

/* The segment stays, so that what is missing does not look like an end. */
START_TEST(an_end_that_cannot_be_written_is_recorded_later)
{
	end_with_a_full_disk(false);
	ck_assert_uint_eq(fixture_count_records("killed", NULL), 1);
	ck_assert_uint_eq(fixture_count_records("end", NULL), 0);
	fixture_close();
}
END_TEST

START_TEST(a_report_that_cannot_be_written_ends_it_too)
{
	struct gateway_report report = { .verdict = { .action = POLICY_ALLOW },
					 .closed = POLICY_DONE };
	struct fixture_request waiting = { 0 };

	fixture_open(NULL);
	fixture_ask(&waiting, "https://asked.test:443", FIXTURE_EXEC);
	fill_the_disk();
	gateway_report(fixture.client, &report);
	ck_assert_uint_eq(waiting.told, 0);
	fixture_settle();
	fixture_expect(&waiting, POLICY_DENY, POLICY_AUDIT_FAILED);
	empty_the_disk();
	fixture_close();
}
END_TEST

/* Found when the next records are to go there. Moving it aside is the remedy. */
START_TEST(a_log_cut_behind_our_back_is_a_failure)
{
	auto_free char *head = NULL;
	struct fixture_request first = { 0 }, second = { 0 }, third = { 0 };

	fixture_open("allow yes.test");
	head = mem_printf("%s.head", fixture.audit);
	fixture_settle();
	fixture_publish();
	ck_assert_int_eq(truncate(fixture.audit, 10), 0);
	fixture_ask(&first, "https://yes.test:443", FIXTURE_EXEC);
	loop_advance(fixture.loop, 1000);
	fixture_ask(&second, "https://yes.test:443", FIXTURE_EXEC);
	fixture_expect(&second, POLICY_DENY, POLICY_AUDIT_FAILED);
	ck_assert_int_eq(size_of(fixture.audit), 10); /* it is not continued */
	ck_assert_int_eq(unlink(fixture.audit), 0);
	ck_assert_int_eq(unlink(head), 0);
	loop_advance(fixture.loop, 1000);
	fixture_ask(&third, "https://yes.test:443", FIXTURE_EXEC);
	fixture_expect(&third, POLICY_ALLOW, POLICY_RULE_ALLOW);
	ck_assert_uint_eq(fixture_count_records("decision", "rule_allow"), 2);
	ck_assert_uint_eq(fixture_count_records("gap", NULL), 1);
	fixture_close();
}
END_TEST

static void make_link(void)
{
	ck_assert_int_eq(symlink("/dev/null", fixture.audit), 0);
}
static void make_folder(void)
{
	ck_assert_int_eq(mkdir(fixture.audit, 0700), 0);
}
static void make_pipe(void)
{
	ck_assert_int_eq(mkfifo(fixture.audit, 0600), 0);
}
static void make_open_to_all(void)
{
	int fd = open(fixture.audit, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	ck_assert_int_eq(fchmod(fd, 0666), 0);
	fd_close(fd);
}
static void make_no_folder(void)
{
	fixture.config.audit_path = "/nonexistent/audit.jsonl";
}
static void make_head_a_link(void)
{
	auto_free char *head = mem_printf("%s.head", fixture.audit);

	ck_assert_int_eq(symlink("/dev/null", head), 0);
}

static void (*const unfit[])(void) = { make_link,        make_folder,    make_pipe,
				       make_open_to_all, make_no_folder, make_head_a_link };

START_TEST(what_is_no_file_of_ours_is_refused_at_once)
{
	struct err why = { 0 };

	fixture_prepare(NULL);
	unfit[_i]();
	ck_assert_ptr_null(gateway_open_with(fixture.loop, &fixture.config, no_approvers, &why));
	ck_assert_str_ne(why.text, "");
	(void)remove(fixture.audit);
	fixture_close();
}
END_TEST

START_TEST(a_new_log_is_for_its_owner_alone)
{
	struct stat info;

	(void)umask(0);
	fixture_open(NULL);
	ck_assert_int_eq(stat(fixture.audit, &info), 0);
	ck_assert_uint_eq(info.st_mode & 0777, 0600);
	/* Nothing is written, and nothing loaded, before the loop runs. */
	ck_assert_int_eq(info.st_size, 0);
	fixture_close();
}
END_TEST

/* What the fields are, and that the secrets of a command line are not among them. */
START_TEST(a_record_says_who_where_and_why)
{
	struct fixture_request request = { 0 };
	char line[16384], last[16384] = "";
	FILE *file;

	fixture_open("allow yes.test because \"we need it\"");
	gateway_exec_begin(fixture.gw, 3,
			   "curl --password=hunter2 https://u:hunter2@a.test/?t=hunter2");
	fixture_ask(&request, "https://yes.test:443", 3);
	fixture_publish();
	file = fopen(fixture.audit, "r");
	while (fgets(line, sizeof(line), file)) {
		ck_assert_ptr_null(strstr(line, "hunter2"));
		memcpy(last, line, sizeof(last));
	}
	(void)fclose(file);
	json_t *object = json_loads(last, 0, NULL);
	const char *rule, *because, *time;

	ck_assert_int_eq(json_unpack(object, "{s:i, s:s, s:s, s:s}", "exec", &(int){ 0 }, "rule",
				     &rule, "because", &because, "time", &time),
			 0);
	ck_assert_str_eq(rule, "<test>:3: allow yes.test because \"we need it\"");
	ck_assert_str_eq(because, "we need it");
	ck_assert_uint_eq(strlen(time), strlen("2023-11-14T22:13:20.001000Z"));
	json_decref(object);
	ck_assert_ptr_nonnull(strstr(last, "\"session\":\"test\",\"run\":\"7f3a\",\"exec\":3,"
					   "\"event\":\"decision\",\"action\":\"allow\","
					   "\"reason\":\"rule_allow\",\"way\":\"connect\","
					   "\"host\":\"yes.test\",\"protocol\":\"https\","
					   "\"port\":443,"));
	fixture_close();
}
END_TEST

static size_t count_text(const char *text, const char *part)
{
	size_t count = 0;

	while ((text = strstr(text, part))) {
		count++;
		text++;
	}
	return count;
}

/* A receiver of copies does not learn of an allow that did not take effect. */
START_TEST(what_the_log_could_not_store_is_not_sent)
{
	struct gateway_syslog to = { .name = "here", .type = SOCK_STREAM };
	struct sockaddr_in *address = (struct sockaddr_in *)&to.address;
	struct fixture_request first = { 0 }, second = { 0 }, third = { 0 };
	auto_close int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	auto_free char *sent = NULL;

	to.address_len = sizeof(*address);
	address->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)address, to.address_len), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)address, &to.address_len), 0);
	fixture_prepare("allow yes.test");
	fixture.config.syslog = &to;
	fixture_start();
	auto_close int receiver = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	ck_assert_int_ge(receiver, 0);
	fixture_ask(&first, "https://yes.test:443", FIXTURE_EXEC);
	fill_the_disk();
	fixture_ask(&second, "https://yes.test:443", FIXTURE_EXEC);
	fixture_expect(&second, POLICY_DENY, POLICY_AUDIT_FAILED);
	empty_the_disk();
	loop_advance(fixture.loop, 1000);
	fixture_ask(&third, "https://yes.test:443", FIXTURE_EXEC);
	fixture_expect(&third, POLICY_ALLOW, POLICY_RULE_ALLOW);
	ck_assert_uint_eq(fixture_count_records("decision", NULL), 2);
	fixture_close();
	ck_assert_int_eq(fd_read_all(receiver, 16U << 20, &sent, NULL, NULL), 0);
	ck_assert_uint_eq(count_text(sent, " event=\"decision\""), 2);
	ck_assert_uint_eq(count_text(sent, " event=\"gap\" denied=\"1\" lost=\"0\""), 1);
}
END_TEST

Suite *suite_audit_failing(void)
{
	Suite *suite = suite_create("audit failing");
	TCase *tcase = tcase_create("failing");

	tcase_add_test(tcase, a_full_disk_turns_every_verdict_into_a_denial);
	tcase_add_test(tcase, what_is_missing_is_counted);
	tcase_add_test(tcase, what_is_open_ends_and_the_gap_is_recorded);
	tcase_add_test(tcase, room_at_the_end_is_enough);
	tcase_add_test(tcase, an_end_that_cannot_be_written_is_recorded_later);
	tcase_add_test(tcase, a_report_that_cannot_be_written_ends_it_too);
	tcase_add_test(tcase, a_log_cut_behind_our_back_is_a_failure);
	tcase_add_loop_test(tcase, what_is_no_file_of_ours_is_refused_at_once, 0,
			    sizeof(unfit) / sizeof(unfit[0]));
	tcase_add_test(tcase, a_new_log_is_for_its_owner_alone);
	tcase_add_test(tcase, a_record_says_who_where_and_why);
	tcase_add_test(tcase, what_the_log_could_not_store_is_not_sent);
	suite_add_tcase(suite, tcase);
	return suite;
}
