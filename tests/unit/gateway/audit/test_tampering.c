#include "tests/unit/gateway/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/crypto/digest.h"
#include "gateway/gateway_open.h"
#include "gateway/gateway_tools.h"

#define RECORDS 10 /* start, two exec_starts, six decisions, end */

/* The log in memory, by lines; a test changes it and writes it back. */
static char *lines[32];
static size_t line_count;
static char *head_path;

static void log_make(void)
{
	fixture_open("allow **.test");
	for (int i = 0; i < 6; i++) {
		struct fixture_request request = { 0 };
		char destination[64];

		(void)snprintf(destination, sizeof(destination), "https://h%d.test:443", i);
		fixture_ask(&request, destination, FIXTURE_EXEC);
	}
	gateway_free(fixture.gw);
	fixture.gw = NULL;
	head_path = mem_printf("%s.head", fixture.audit);
}

static void log_read(void)
{
	FILE *file = fopen(fixture.audit, "r");
	char line[16384];

	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file))
		lines[line_count++] = mem_strdup(line);
	(void)fclose(file);
	ck_assert_uint_eq(line_count, RECORDS);
}

static void log_write(void)
{
	FILE *file = fopen(fixture.audit, "w");

	ck_assert_ptr_nonnull(file);
	for (size_t i = 0; i < line_count; i++) {
		ck_assert_int_ge(fputs(lines[i], file), 0);
		free(lines[i]);
	}
	ck_assert_int_eq(fclose(file), 0);
}

static void log_remove(void)
{
	free(head_path);
	fixture_close();
}

static void nothing(void)
{
}
static void edit_host(void)
{
	*strstr(lines[4], "h1.test") = 'x';
}
static void edit_first(void)
{
	*strstr(lines[0], "7f3a") = '8';
}
static void edit_last(void)
{
	*strstr(lines[9], "7f3a") = '8';
}
static void edit_own_hash(void)
{
	char *hash = lines[4] + strlen(lines[4]) - 10;

	*hash = *hash == '0' ? '1' : '0';
}
static void edit_number(void)
{
	*strstr(lines[4], ":5,") = '\n';
	memcpy(strstr(lines[4], "\n5,"), ":6,", 3);
}
/* Edited, and its own hash made anew by somebody who has read the manual. */
static void forge(size_t at, const char *from, char to)
{
	char *line = lines[at], hash[DIGEST_TEXT_MAX], prev[DIGEST_TEXT_MAX] = "";
	size_t body = strlen(line) - 1 - 75;

	*strstr(line, from) = to;
	line[body] = '}';
	memcpy(prev, line + body - 65, 64);
	ck_assert_int_eq(digest_text(prev, 64, line, body + 1, hash), 0);
	line[body] = ',';
	memcpy(line + strlen(line) - 67, hash, 64);
}
static void forge_one(void)
{
	forge(4, "h1.test", 'x');
}
static void forge_last(void)
{
	forge(9, "7f3a", '8');
}
static void remove_at(size_t at)
{
	free(lines[at]);
	memmove(&lines[at], &lines[at + 1], (--line_count - at) * sizeof(lines[0]));
}
static void insert_at(size_t at, char *line)
{
	memmove(&lines[at + 1], &lines[at], (line_count++ - at) * sizeof(lines[0]));
	lines[at] = line;
}
static void remove_one(void)
{
	remove_at(4);
}
static void remove_first(void)
{
	remove_at(0);
}
static void remove_last(void)
{
	remove_at(9);
}
static void remove_all(void)
{
	while (line_count > 0)
		remove_at(0);
}
static void swap_two(void)
{
	char *line = lines[4];

	lines[4] = lines[5];
	lines[5] = line;
}
static void repeat_one(void)
{
	insert_at(5, mem_strdup(lines[4]));
}
static void insert_blank(void)
{
	insert_at(5, mem_strdup("\n"));
}
static void insert_noise(void)
{
	insert_at(5, mem_strdup("{\"seq\":6,\"event\":\"decision\"}\n"));
}
static void cut_half_a_line(void)
{
	lines[9][40] = '\0';
}
static void cut_the_newline(void)
{
	lines[9][strlen(lines[9]) - 1] = '\0';
}
static void add_half_a_line(void)
{
	insert_at(10, mem_strdup("{\"seq\":11"));
}
static void head_gone(void)
{
	ck_assert_int_eq(unlink(head_path), 0);
}
static void head_write(off_t at, const char *text)
{
	int fd = open(head_path, O_WRONLY | O_CLOEXEC);

	ck_assert_int_eq(pwrite(fd, text, strlen(text), at), (ssize_t)strlen(text));
	fd_close(fd);
}
static void head_noise(void)
{
	head_write(0, "x");
}
static void head_ahead(void)
{
	head_write(23, "00000000000000000012");
}
static void head_other_hash(void)
{
	head_write(65, "00000000");
}
static void head_other_size(void)
{
	head_write(44, "00000000000000000001");
}
static void head_cut(void)
{
	ck_assert_int_eq(truncate(head_path, 100), 0);
}

static const struct {
	void (*change)(void);
	size_t line; /* 0: unbroken */
	const char *words;
} tamperings[] = {
	{ nothing, 0, "" },
	{ edit_host, 5, "edited" },
	{ edit_first, 1, "edited" },
	{ edit_last, 10, "edited" },
	{ edit_own_hash, 5, "edited" },
	{ edit_number, 5, "edited" },
	{ forge_one, 6, "replaced" },
	{ forge_last, 10, "head does not fit" },
	{ remove_one, 5, "removed" },
	{ remove_first, 1, "removed" },
	{ remove_last, 10, "tail was cut: 1 more" },
	{ remove_all, 1, "tail was cut: 10 more" },
	{ swap_two, 5, "reordered" },
	{ repeat_one, 6, "repeated" },
	{ insert_blank, 6, "not an audit record" },
	{ insert_noise, 6, "not an audit record" },
	{ cut_half_a_line, 10, "not whole" },
	{ cut_the_newline, 10, "not whole" },
	{ add_half_a_line, 11, "not whole" },
	{ head_gone, 11, "missing" },
	{ head_noise, 11, "damaged" },
	{ head_cut, 11, "damaged" },
	{ head_ahead, 11, "tail was cut: 2 more" },
	{ head_other_hash, 10, "head does not fit" },
	{ head_other_size, 10, "head does not fit" },
};

START_TEST(each_tampering_is_found_at_its_line)
{
	auto_free char *place = NULL;
	struct err why = { 0 };
	uint64_t records = 77;
	int r;

	log_make();
	log_read();
	place = mem_printf("%s:%zu: ", fixture.audit, tamperings[_i].line);
	tamperings[_i].change();
	log_write();
	r = gateway_audit_verify(fixture.audit, fixture.segments, NULL, &records, &why);
	if (tamperings[_i].line == 0) {
		ck_assert_int_eq(r, 0);
		ck_assert_uint_eq(records, RECORDS);
		ck_assert_str_eq(why.text, "");
	} else {
		ck_assert_int_eq(r, -EBADMSG);
		ck_assert_uint_eq(records, 77);
		ck_assert_msg(strncmp(why.text, place, strlen(place)) == 0, "%s", why.text);
		ck_assert_msg(strstr(why.text, tamperings[_i].words) != NULL, "%s", why.text);
	}
	log_remove();
}
END_TEST

/* Nobody continues what is broken: no run begins. A break in the middle is verify's to find. */
static const struct {
	void (*change)(void);
	bool begins;
	enum policy_reason reason;
} continuations[] = {
	{ nothing, true, POLICY_RULE_ALLOW },         { edit_last, false, POLICY_NONE },
	{ forge_last, false, POLICY_NONE },           { remove_last, false, POLICY_NONE },
	{ remove_all, false, POLICY_NONE },           { cut_the_newline, false, POLICY_NONE },
	{ add_half_a_line, true, POLICY_RULE_ALLOW }, { head_gone, false, POLICY_NONE },
	{ head_noise, false, POLICY_NONE },           { head_other_hash, false, POLICY_NONE },
	{ head_other_size, false, POLICY_NONE },
};

static const struct approver_ops *const no_approvers[] = { NULL };

START_TEST(a_broken_log_is_not_continued)
{
	struct fixture_request request = { 0 };
	struct err why = { 0 };

	log_make();
	log_read();
	continuations[_i].change();
	log_write();
	fixture.gw = gateway_open_with(fixture.loop, &fixture.config, no_approvers, &why);
	ck_assert_msg((fixture.gw != NULL) == continuations[_i].begins, "%s", why.text);
	if (!fixture.gw) {
		ck_assert_msg(strstr(why.text, "aside") != NULL, "%s", why.text);
		log_remove();
		return;
	}
	gateway_client_free(fixture.client);
	fixture.client = gateway_client_new(fixture.gw);
	gateway_exec_begin(fixture.gw, FIXTURE_EXEC, "again");
	fixture_ask(&request, "https://h1.test:443", FIXTURE_EXEC);
	ck_assert_str_eq(policy_reason_code(request.verdict.reason),
			 policy_reason_code(continuations[_i].reason));
	log_remove();
}
END_TEST

/* The definition in sallyport-audit(1), by other means: python's hashlib and json. */
START_TEST(the_chain_is_what_the_manual_says)
{
	static const char script[] =
		"import sys, json, hashlib\n"
		"prev = b'0' * 64\n"
		"n = 0\n"
		"for line in open(sys.argv[1], 'rb'):\n"
		"    line = line.rstrip(b'\\n')\n"
		"    body = line[:-75] + b'}'\n"
		"    assert body[-66:-2] == prev, n\n"
		"    digest = hashlib.sha256(prev + body).hexdigest().encode()\n"
		"    record = json.loads(line)\n"
		"    n += 1\n"
		"    assert line[-66:-2] == digest and record['hash'].encode() == digest\n"
		"    assert record['prev'].encode() == prev and record['seq'] == n\n"
		"    prev = digest\n"
		"head = open(sys.argv[1] + '.head').read().split()\n"
		"assert head[:2] == ['sallyport-audit-head', '1'] and int(head[2]) == n == 10\n"
		"assert head[4].encode() == prev\n";
	int status;
	pid_t child;

	log_make();
	child = fork();
	if (child == 0) {
		execlp("python3", "python3", "-c", script, fixture.audit, (char *)NULL);
		_exit(127);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	log_remove();
}
END_TEST

Suite *suite_tampering(void)
{
	Suite *suite = suite_create("tampering");
	TCase *tcase = tcase_create("chain");

	tcase_add_loop_test(tcase, each_tampering_is_found_at_its_line, 0,
			    sizeof(tamperings) / sizeof(tamperings[0]));
	tcase_add_loop_test(tcase, a_broken_log_is_not_continued, 0,
			    sizeof(continuations) / sizeof(continuations[0]));
	tcase_add_test(tcase, the_chain_is_what_the_manual_says);
	suite_add_tcase(suite, tcase);
	return suite;
}
