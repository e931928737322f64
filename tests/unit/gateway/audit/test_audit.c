#include "tests/unit/gateway/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "gateway/gateway_open.h"
#include "gateway/gateway_agent.h"
#include "gateway/gateway_tools.h"
#include "gateway/audit/journal.h"

#define EACH_RUN 500

static const struct approver_ops *const no_approvers[] = { NULL };

/* The writer died between the record and its head: verify notes it, and the next run takes it over.
 */
START_TEST(a_head_that_is_behind_is_a_note)
{
	struct err why = { 0 };
	uint64_t records;
	char head[161] = "";
	int fd;

	fixture_open("allow **.test");
	fixture_settle();
	fixture_publish();
	auto_free char *path = mem_printf("%s.head", fixture.audit);

	fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(pread(fd, head, 160, 0), 160);
	gateway_free(fixture.gw);
	ck_assert_int_eq(pwrite(fd, head, 160, 0), 160);
	fd_close(fd);
	ck_assert_int_eq(
		gateway_audit_verify(fixture.audit, fixture.segments, NULL, &records, &why), 0);
	ck_assert_uint_eq(records, 4);
	ck_assert_msg(strstr(why.text, "1 record") != NULL, "%s", why.text);
	fixture.gw = gateway_open_with(fixture.loop, &fixture.config, no_approvers, &why);
	ck_assert_ptr_nonnull(fixture.gw);
	fixture_settle();
	ck_assert_uint_eq(fixture_count_records("start", NULL), 2);
	fixture_close();
}
END_TEST

START_TEST(what_cannot_be_read_is_not_called_broken)
{
	struct err why = { 0 };
	uint64_t records;

	ck_assert_int_eq(gateway_audit_verify("/nonexistent/audit", NULL, NULL, &records, &why),
			 -ENOENT);
	ck_assert_int_eq(gateway_audit_verify("/dev/null", NULL, NULL, &records, &why), -EINVAL);
}
END_TEST

/* One of two runs that write to one file. Returns the exit status. */
static int append_as_a_run(void)
{
	struct loop *loop = loop_new_fake();
	struct gateway *gw;
	struct gateway_client *client;
	struct gateway_report report = { .verdict = { .action = POLICY_ALLOW },
					 .closed = POLICY_DONE };
	bool is_well;

	gw = gateway_open_with(loop, &fixture.config, no_approvers, NULL);
	if (!gw)
		return 2;
	client = gateway_client_new(gw);
	report.facts = fixture_facts("https://h1.test:443", 0);
	for (int i = 0; i < EACH_RUN; i++)
		gateway_report(client, &report);
	is_well = !journal_has_failed(gw->journal);
	gateway_free(gw);
	loop_step(loop);
	gateway_client_free(client);
	loop_free(loop);
	return is_well ? 0 : 3;
}

START_TEST(two_runs_may_write_to_one_file)
{
	int status;
	pid_t child;

	fixture_prepare("allow **.test");
	child = fork();
	if (child == 0)
		_exit(append_as_a_run());
	ck_assert_int_eq(append_as_a_run(), 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(fixture_count_records("closed", "done"), 2 * EACH_RUN);
	ck_assert_uint_eq(fixture_count_records("start", NULL), 2);
	ck_assert_uint_eq(fixture_count_records("end", NULL), 2);
	fixture_close();
}
END_TEST

/* Hostile text is one line of ASCII, and comes back as it was said. */
START_TEST(hostile_text_is_one_line)
{
	static const char hostile[] = "a\"}\n{\"seq\":1,\x1b[2J\\ \xff\xfe \xe2\x80\xae";
	struct gateway_report report = { .verdict = { .action = POLICY_DENY,
						      .reason = POLICY_MALFORMED } };
	unsigned char bytes[8192];
	size_t len;
	FILE *file;

	fixture_open(NULL);
	(void)snprintf(report.cause, sizeof(report.cause), "%s", hostile);
	memset(report.verdict.rule, 0xe2, sizeof(report.verdict.rule) - 1);
	memset(report.verdict.because, '\n', sizeof(report.verdict.because) - 1);
	gateway_report(fixture.client, &report);
	fixture_settle();
	ck_assert_uint_eq(fixture_count_records("decision", "malformed"), 1);
	fixture_publish();
	file = fopen(fixture.audit, "r");
	len = fread(bytes, 1, sizeof(bytes), file);
	(void)fclose(file);
	for (size_t i = 0; i < len; i++)
		ck_assert(bytes[i] == '\n' || (bytes[i] >= 0x20 && bytes[i] < 0x7f));
	fixture_close();
}
END_TEST

/* Each is a record with all that is said of it; a command that never stops trying fills no disk. */
START_TEST(refused_programs_are_recorded_and_bounded)
{
	const struct gateway_refused refused = { .path = "/usr/bin/cat",
						 .command = "cat --token=abc",
						 .reason = POLICY_RULE_DENY,
						 .rule = "policy:5: command deny cat",
						 .because = "no cats" };
	auto_free char *text = NULL;

	fixture_open("");
	gateway_exec_refused(fixture.gw, 99, &refused); /* there is no such exec */
	for (int i = 0; i < GATEWAY_REFUSED_MAX + 10; i++)
		gateway_exec_refused(fixture.gw, 1, &refused);
	ck_assert_uint_eq(fixture_count_records("decision", "rule_deny"), GATEWAY_REFUSED_MAX);
	fixture_publish();
	auto_close int fd = open(fixture.audit, O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(fd_read_all(fd, 16 << 20, &text, NULL, NULL), 0);
	ck_assert_ptr_nonnull(strstr(text, "\"event\":\"decision\",\"command\":\"cat --token=***\","
					   "\"program\":\"/usr/bin/cat\",\"kind\":\"program\","
					   "\"action\":\"deny\","
					   "\"reason\":\"rule_deny\",\"rule\":\"policy:5: command "
					   "deny cat\",\"because\":\"no cats\","));
	ck_assert_ptr_nonnull(strstr(text, "are not recorded"));
	fixture_close();
}
END_TEST

/* A command that tries again and again fills no disk, and hides nothing by it. */
START_TEST(denials_by_the_thousand_are_counted)
{
	static struct fixture_request denied[1000], allowed[1000];
	auto_free char *text = NULL;
	struct fixture_request last = { 0 };
	unsigned long long sum = 0;
	unsigned int records;

	fixture_open("deny no.test\nallow yes.test");
	for (int i = 0; i < 1000; i++) {
		fixture_submit(&denied[i], "https://no.test:443", FIXTURE_EXEC);
		fixture_submit(&allowed[i], "https://yes.test:443", FIXTURE_EXEC);
	}
	fixture_settle();
	fixture_ask(&last, "https://no.test:443", FIXTURE_EXEC_TWO); /* has its own */
	loop_advance(fixture.loop, 2000);
	fixture_settle();
	ck_assert_uint_eq(fixture_count_records("decision", "rule_allow"), 1000);
	records = fixture_count_records("decision", "rule_deny");
	ck_assert_uint_le(records, 70);
	fixture_publish();
	auto_close int fd = open(fixture.audit, O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(fd_read_all(fd, 16 << 20, &text, NULL, NULL), 0);
	for (const char *at = text; (at = strstr(at, "\"times\":")); at++) {
		sum += strtoull(at + strlen("\"times\":"), NULL, 10);
		records--;
	}
	ck_assert_uint_eq(sum + records, 1001);
	for (int i = 0; i < 1000; i++)
		fixture_expect(&denied[i], POLICY_DENY, POLICY_RULE_DENY);
	fixture_close();
}
END_TEST

Suite *suite_audit(void)
{
	Suite *suite = suite_create("audit");
	TCase *tcase = tcase_create("file");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_head_that_is_behind_is_a_note);
	tcase_add_test(tcase, what_cannot_be_read_is_not_called_broken);
	tcase_add_test(tcase, two_runs_may_write_to_one_file);
	tcase_add_test(tcase, hostile_text_is_one_line);
	tcase_add_test(tcase, denials_by_the_thousand_are_counted);
	tcase_add_test(tcase, refused_programs_are_recorded_and_bounded);
	suite_add_tcase(suite, tcase);
	return suite;
}
