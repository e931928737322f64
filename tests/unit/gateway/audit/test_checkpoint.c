/* The signed records of the log: what is read as one, and when a gateway writes them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "gateway/audit/checkpoint.h"
#include "tests/unit/gateway/fixture.h"

#define MINUTE 60000

static struct sign_key key;
static char line[CHAIN_LINE_MAX];
static size_t line_len;

/* One after another checkpoint, in a log that replaced one. */
static void make_line(void)
{
	struct checkpoint_past past = { .first = 3, .last.seq = 7 };
	struct chain chain;

	chain_begin(&chain);
	chain.seq = 8;
	memset(past.log, 'a', DIGEST_TEXT_MAX - 1);
	memset(past.last.hash, 'b', DIGEST_TEXT_MAX - 1);
	ck_assert_int_eq(sign_key_make(&key, NULL), 0);
	ssize_t len = checkpoint_seal(&chain, &key, &past, past.log, line, NULL);

	ck_assert_int_gt(len, 0);
	ck_assert_uint_eq(chain.seq, 9);
	line_len = (size_t)len - 1;
	line[line_len] = '\0';
}

static const struct {
	const char *from, *to; /* what is replaced in the line */
	int read, check;
} lines[] = {
	{ "", "", 0, 0 },
	{ "\"seq\":9", "\"seq\":8", 0, -EBADMSG },
	{ "\"oldest\":3", "\"oldest\":4", 0, -EBADMSG },
	{ "\"after\":7", "\"after\":6", 0, -EBADMSG },
	{ "\"mono\":", "\"mono\":1", 0, -EBADMSG },
	{ "\"log\":\"a", "\"log\":\"b", 0, -EBADMSG },
	{ "\"digest\":\"b", "\"digest\":\"c", 0, -EBADMSG },
	{ "\"replaces\":\"a", "\"replaces\":\"b", 0, -EBADMSG },
	{ "\"event\":\"checkpoint\"", "\"event\":\"end\"", 1, 0 },
	{ "\"event\":\"checkpoint\"", "\"cause\":\"\\\"event\\\":\\\"checkpoint\\\",\"", 1, 0 },
	{ "\"event\":\"checkpoint\",", "\"event\":\"checkpoint\"", 1, 0 },
	{ "\"oldest\":3", "\"oldest\":0", -EBADMSG, 0 },
	{ "\"oldest\":3", "\"oldest\":", -EBADMSG, 0 },
	{ "\"oldest\":3", "\"oldest\":-3", -EBADMSG, 0 },
	{ "\"oldest\":3", "\"oldest\":99999999999999999999", -EBADMSG, 0 },
	{ "\"oldest\":3", "\"second\":3", -EBADMSG, 0 },
	{ ",\"oldest\":3", "", -EBADMSG, 0 },
	{ "\"after\":7", "\"after\":0", -EBADMSG, 0 },
	{ ",\"after\":7", "", -EBADMSG, 0 },
	{ "\"log\":\"a", "\"log\":\"", -EBADMSG, 0 },
	{ "\"log\":\"a", "\"log\":\"A", -EBADMSG, 0 },
	{ "\"log\":\"a", "\"log\":\"aa", -EBADMSG, 0 },
	{ "\"digest\":\"b", "\"digest\":\"", -EBADMSG, 0 },
	{ ",\"digest\":", ",\"digests\":", -EBADMSG, 0 },
	{ "\"key\":\"ed25519:", "\"key\":\"ed25518:", -EBADMSG, 0 },
	{ "\"key\":\"ed25519:", "\"key\":\"ed25519:A", -EBADMSG, 0 },
	{ "\"key\":\"ed25519:", "\"key\":\"", -EBADMSG, 0 },
	{ "\"signature\":\"", "\"signature\":\"A", -EBADMSG, 0 },
	{ "\"signature\":\"", "\"signatures\":\"", -EBADMSG, 0 },
	{ ",\"signature\":\"", ",\"x\":1,\"signature\":\"", -EBADMSG, 0 },
	{ "==\",\"prev\"", "=\",\"prev\"", -EBADMSG, 0 },
	{ "==\",\"prev\"", "==\",\"x\":1,\"prev\"", -EBADMSG, 0 },
};

START_TEST(a_changed_checkpoint_is_refused)
{
	struct checkpoint read;
	char prev[DIGEST_TEXT_MAX];

	make_line();
	const char *at = strstr(line, lines[_i].from);

	ck_assert_ptr_nonnull(at);
	auto_free char *changed = mem_printf("%.*s%s%s", (int)(at - line), line, lines[_i].to,
					     at + strlen(lines[_i].from));

	memset(prev, '0', sizeof(prev));
	ck_assert_int_eq(checkpoint_read(changed, strlen(changed), &read), lines[_i].read);
	if (lines[_i].read != 0)
		return;
	ck_assert_int_eq(checkpoint_check(&read, changed, prev), lines[_i].check);
	prev[5] = '1';
	ck_assert_int_eq(checkpoint_check(&read, changed, prev), -EBADMSG);
}
END_TEST

/* Any part of the line, in memory of its own, whose end a sanitizer watches. */
START_TEST(a_part_of_a_checkpoint_is_none)
{
	struct checkpoint read;

	make_line();
	for (size_t from = 0; from < line_len; from += 7) {
		for (size_t len = 0; from + len < line_len; len++) {
			auto_free char *part = mem_new(len + 1);

			memcpy(part, line + from, len);
			ck_assert_int_ne(checkpoint_read(part, len, &read), 0);
		}
	}
}
END_TEST

static void expect_signed(unsigned int count)
{
	ck_assert_uint_eq(fixture_count_records("checkpoint", NULL), count);
}

static void begin(void)
{
	fixture_prepare("allow **.test");
	fixture.config.key_dir = fixture.dir;
	fixture_start();
}

static void ask(const char *destination)
{
	struct fixture_request request = { 0 };

	fixture_ask(&request, destination, FIXTURE_EXEC);
	fixture_expect(&request, POLICY_ALLOW, POLICY_RULE_ALLOW);
	fixture_publish();
}

/* Also removes what fixture_close() does not know. */
static void end(void)
{
	auto_free char *key_path = mem_printf("%s/bundle.key", fixture.dir);
	auto_free char *past = checkpoint_past_path(fixture.audit, fixture.segments);

	ck_assert_int_eq(unlink(key_path), 0);
	ck_assert(unlink(past) == 0 || errno == ENOENT);
	fixture_close();
}

/* A minute after the first record that is not signed, and not again before there are others. */
START_TEST(a_long_session_is_signed_each_minute)
{
	begin();
	ask("https://a.test:443");
	loop_advance(fixture.loop, MINUTE - 1000);
	fixture_settle();
	expect_signed(0);
	for (unsigned int round = 1; round < 4; round++) {
		loop_advance(fixture.loop, round == 1 ? 1000 : MINUTE);
		for (int i = 0; i < 100 && fixture_count_records("checkpoint", NULL) < round; i++) {
			fixture_settle();
			(void)usleep(20000);
		}
		expect_signed(round);
		loop_advance(fixture.loop, 10 * MINUTE);
		fixture_settle();
		expect_signed(round);
		ask("https://b.test:443"); /* the process that signs is not waited for */
	}
	gateway_free(fixture.gw);
	fixture.gw = NULL;
	end();
}
END_TEST

/* At the end, without another process, and only if there is something to sign. */
START_TEST(the_end_of_a_run_is_signed)
{
	begin();
	ask("https://a.test:443");
	gateway_free(fixture.gw);
	fixture.gw = NULL;
	auto_free char *last = fixture_record("checkpoint");

	ck_assert_ptr_nonnull(strstr(last, "\"oldest\":1,\"signature\":"));
	end();
}
END_TEST

Suite *suite_checkpoint(void)
{
	Suite *suite = suite_create("checkpoint");
	TCase *one = tcase_create("checkpoint");

	tcase_set_timeout(one, 120);
	tcase_add_loop_test(one, a_changed_checkpoint_is_refused, 0, ARRAY_SIZE(lines));
	tcase_add_test(one, a_part_of_a_checkpoint_is_none);
	tcase_add_test(one, a_long_session_is_signed_each_minute);
	tcase_add_test(one, the_end_of_a_run_is_signed);
	suite_add_tcase(suite, one);
	return suite;
}
