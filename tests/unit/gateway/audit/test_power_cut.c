/* What a machine that stopped leaves: files whose end was not on the disk. */
#include "gateway/audit/chain.h"
#include "tests/unit/gateway/fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "gateway/gateway_tools.h"

#define ASKED 6

static char *bytes;
static size_t len;

static char *line_at(size_t number)
{
	char *at = bytes;

	for (size_t i = 1; i < number; i++)
		at = strchr(at, '\n') + 1;
	return at;
}

static void read_bytes(const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	bytes = mem_new(1 << 20);
	len = (size_t)read(fd, bytes, (1 << 20) - 1);
}

/* Writes them back, as if the machine had been started again since. */
static void write_bytes(const char *path)
{
	auto_close int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	struct chain now;

	chain_stamp(&now);
	ck_assert_uint_eq(strlen(now.boot), CHAIN_BOOT_MAX - 1);
	for (char *at = bytes; (at = memmem(at, len - (size_t)(at - bytes), now.boot, 16)); at++)
		memset(at, '0', 16);
	ck_assert_int_eq(fd_write_all(fd, bytes, len), 0);
	free(take(bytes));
}

static void ask(void)
{
	for (int i = 0; i < ASKED; i++) {
		struct fixture_request request = { 0 };
		auto_free char *host = mem_printf("https://h%d.test:443", i);

		fixture_ask(&request, host, FIXTURE_EXEC);
		fixture_expect(&request, POLICY_ALLOW, POLICY_RULE_ALLOW);
	}
}

/* The number of the last line, which is `end`. */
#define LINES (ASKED + 4)

static void keep_all(void)
{
}
static void cut_at_a_line(void)
{
	len = (size_t)(line_at(LINES - 1) - bytes);
}
static void cut_in_a_line(void)
{
	len = (size_t)(line_at(LINES - 1) - bytes) + 30;
}
static void blank_the_end(void)
{
	char *from = line_at(LINES - 1) - 17;

	memset(from, 0, (size_t)(bytes + len - from));
}
static void cut_everything(void)
{
	len = 0;
}
static void blank_everything(void)
{
	memset(bytes, 0, len);
}

static const struct {
	void (*lose)(void);
	int lost; /* records; -1: no gap */
} losses[] = {
	{ keep_all, -1 },     { cut_at_a_line, 2 },      { cut_in_a_line, 2 },
	{ blank_the_end, 3 }, { cut_everything, LINES }, { blank_everything, LINES },
};

START_TEST(the_log_goes_on_and_shows_what_is_missing)
{
	auto_free char *head = NULL;
	struct err why = { 0 };
	uint64_t records;

	fixture_prepare("allow **.test");
	fixture_start();
	ask();
	gateway_free(fixture.gw);
	gateway_client_free(fixture.client);
	head = mem_printf("%s.head", fixture.audit);
	read_bytes(head);
	write_bytes(head);
	read_bytes(fixture.audit);
	losses[_i].lose();
	write_bytes(fixture.audit);
	if (losses[_i].lost > 0)
		ck_assert_int_lt(
			gateway_audit_verify(fixture.audit, fixture.segments, NULL, &records, &why),
			0);
	fixture_start();
	fixture_settle();
	if (losses[_i].lost > 0) {
		auto_free char *gap = fixture_record("gap");
		auto_free char *lost = mem_printf("\"lost\":%d,", losses[_i].lost);

		ck_assert_ptr_nonnull(strstr(gap, lost));
		ck_assert_ptr_nonnull(strstr(gap, "\"cause\":\"the machine stopped before"));
	}
	ck_assert_uint_eq(fixture_count_records("gap", NULL), losses[_i].lost > 0);
	ck_assert_int_eq(
		gateway_audit_verify(fixture.audit, fixture.segments, NULL, &records, &why), 0);
	ck_assert_int_eq(strstr(why.text, "1 records `gap` say") != NULL, losses[_i].lost > 0);
	fixture_close();
}
END_TEST

/* The disk is full: the log is not continued without the record of its gap. */
START_TEST(a_gap_that_cannot_be_written_is_found_again)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	struct err why = { 0 };

	fixture_prepare("allow **.test");
	fixture_start();
	ask();
	gateway_free(fixture.gw);
	gateway_client_free(fixture.client);
	auto_free char *head = mem_printf("%s.head", fixture.audit);

	read_bytes(head);
	write_bytes(head);
	read_bytes(fixture.audit);
	cut_at_a_line();
	limit.rlim_cur = len + 10;
	write_bytes(fixture.audit);
	(void)signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_ptr_null(gateway_new(fixture.loop, &fixture.config, &why));
	limit.rlim_cur = RLIM_INFINITY;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	fixture_start();
	fixture_settle();
	auto_free char *gap = fixture_record("gap");

	ck_assert_ptr_nonnull(strstr(gap, "\"lost\":2,"));
	fixture_close();
}
END_TEST

/* Without a start of the machine in between, somebody has cut it. */
START_TEST(the_same_without_a_stop_is_refused)
{
	struct err why = { 0 };

	fixture_prepare("allow **.test");
	fixture_start();
	ask();
	gateway_free(fixture.gw);
	gateway_client_free(fixture.client);
	read_bytes(fixture.audit);
	cut_at_a_line();
	auto_close int fd = open(fixture.audit, O_WRONLY | O_TRUNC | O_CLOEXEC);

	ck_assert_int_eq(fd_write_all(fd, bytes, len), 0);
	free(bytes);
	ck_assert_ptr_null(gateway_new(fixture.loop, &fixture.config, &why));
	ck_assert_ptr_nonnull(strstr(why.text, "was truncated"));
	(void)unlink(fixture.audit);
	auto_free char *head = mem_printf("%s.head", fixture.audit);

	(void)unlink(head);
	fixture_start();
	fixture_close();
}
END_TEST

static void cut_in_the_last(void)
{
	len -= CHAIN_HEAD_BYTES + 20;
}
static void cut_to_the_heads(void)
{
	len = 2 * CHAIN_HEAD_BYTES;
}
static void blank_the_last(void)
{
	char *from = bytes + len - CHAIN_HEAD_BYTES - 20;

	memset(from, 0, CHAIN_HEAD_BYTES + 20);
}
static void cut_all_of_it(void)
{
	len = 0;
}
static void blank_all_of_it(void)
{
	memset(bytes, 0, len);
}

static const struct {
	void (*lose)(void);
	unsigned int left; /* decisions */
	bool is_torn;
} segment_losses[] = {
	{ keep_all, ASKED, false },          { cut_in_the_last, ASKED - 1, true },
	{ blank_the_last, ASKED - 1, true }, { cut_to_the_heads, 0, true },
	{ cut_all_of_it, 0, true },          { blank_all_of_it, 0, true },
};

/* And what a run had not merged is merged, as far as it is there. */
START_TEST(a_segment_gives_what_it_has)
{
	char path[FIXTURE_PATH_MAX];
	pid_t child;
	int status;

	fixture_prepare("allow **.test");
	child = fork();
	if (child == 0) {
		fixture.config.run = "dead";
		fixture_start();
		ask();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	fixture_segment(path);
	read_bytes(path);
	segment_losses[_i].lose();
	write_bytes(path);
	fixture_start();
	for (int i = 0; i < 10; i++)
		loop_advance(fixture.loop, 100);
	auto_free char *killed = fixture_record("killed");

	ck_assert_ptr_nonnull(strstr(killed, "\"run\":\"dead\""));
	ck_assert_int_eq(strstr(killed, "the machine stopped") != NULL, segment_losses[_i].is_torn);
	ck_assert_uint_eq(fixture_count_records("decision", NULL), segment_losses[_i].left);
	ck_assert_uint_eq(fixture_count_records("killed", NULL), 1);
	fixture_close();
}
END_TEST

Suite *suite_power_cut(void)
{
	Suite *suite = suite_create("power cut");
	TCase *tcase = tcase_create("power cut");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, the_log_goes_on_and_shows_what_is_missing, 0,
			    sizeof(losses) / sizeof(losses[0]));
	tcase_add_test(tcase, a_gap_that_cannot_be_written_is_found_again);
	tcase_add_test(tcase, the_same_without_a_stop_is_refused);
	tcase_add_loop_test(tcase, a_segment_gives_what_it_has, 0,
			    sizeof(segment_losses) / sizeof(segment_losses[0]));
	suite_add_tcase(suite, tcase);
	return suite;
}
