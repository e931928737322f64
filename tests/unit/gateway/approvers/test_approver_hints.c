#include "tests/unit/gateway/approvers/test_approver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crypto/digest.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "gateway/approvers/remote/answer_link.h"
#include "gateway/approvers/programs/subprocess.h"

#define WAIT_MS 20000

/* The programs write down what they are told. */
static struct {
	struct gateway gw;
	char dir[64], program[96], told[96];
	struct gateway_program notify;
	struct gateway_webhook webhook;
	struct gateway_helpers helpers;
} stage;

static const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };
static const char key[] = "0123456789abcdef0123456789abcdef";

static void stage_open(const struct approver_ops *ops, const char *script)
{
	static const char *const argv[] = { "notify-send", "--", NULL };
	auto_free char *text = NULL;

	(void)snprintf(stage.dir, sizeof(stage.dir), "%s", "/tmp/test-hints-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(stage.dir));
	(void)snprintf(stage.program, sizeof(stage.program), "%s/program", stage.dir);
	(void)snprintf(stage.told, sizeof(stage.told), "%s/told", stage.dir);
	text = mem_printf("#!/bin/sh\ncd '%s'\n%s\n", stage.dir, script);
	int fd = open(stage.program, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);

	ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
	fd_close(fd);
	stage.notify = (struct gateway_program){ stage.program, argv, environment };
	stage.webhook = (struct gateway_webhook){
		.curl = { stage.program, NULL, environment },
		.url = "https://hook.example.org/a?b=\"c\\",
		.key = key,
	};
	if (ops == &notify_approver)
		stage.helpers.notify = &stage.notify;
	else
		stage.helpers.webhook = &stage.webhook;
	stage.gw.config.helpers = &stage.helpers;
	fake_open(&stage.gw, ops);
	ck_assert_int_eq(ops->is_attached(stage.gw.approver), stage.gw.config.web != NULL);
}

static void stage_close(void)
{
	fake_close(&stage.gw);
	(void)unlink(stage.told);
	ck_assert_int_eq(unlink(stage.program), 0);
	ck_assert_int_eq(rmdir(stage.dir), 0);
}

/* All that was told so far. Returned owned. */
static char *told(void)
{
	auto_close int fd = open(stage.told, O_RDONLY | O_CLOEXEC);
	char *text = NULL;

	if (fd < 0)
		return mem_strdup("");
	ck_assert_int_eq(fd_read_all(fd, 1 << 20, &text, NULL, NULL), 0);
	return text;
}

static bool has_child(void)
{
	auto_free char *path = mem_printf("/proc/self/task/%d/children", (int)getpid());
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	char bytes[16];

	ck_assert_int_ge(fd, 0);
	return read(fd, bytes, sizeof(bytes)) > 0;
}

/* Until the program has ended and the approver knows. */
static void let_it_end(void)
{
	for (int i = 0; i < WAIT_MS && has_child(); i++) {
		(void)poll(NULL, 0, 1);
		fake_settle(&stage.gw);
	}
	ck_assert(!has_child());
}

static void grow_older(int64_t ms)
{
	for (size_t i = 0; i < stage.gw.question_count; i++)
		stage.gw.questions[i].age_ms += ms;
	loop_advance(stage.gw.loop, ms);
	let_it_end();
}

START_TEST(a_notice_comes_after_a_while)
{
	stage_open(&notify_approver, "printf '%s|' \"$@\" >>told");
	fake_ask(&stage.gw, "7f3a-1", "a.test");
	grow_older(1999);
	auto_free char *before = told();

	ck_assert_str_eq(before, "");
	grow_older(1);
	auto_free char *after = told();

	ck_assert_str_eq(after, "--|sallyport asks|https://a.test:443 for: curl -sS "
				"https://example.org/|");
	stage_close();
}
END_TEST

START_TEST(what_is_answered_at_once_is_not_told)
{
	stage_open(&notify_approver, "printf '%s|' \"$@\" >>told");
	fake_ask(&stage.gw, "7f3a-1", "a.test");
	grow_older(1000);
	fake_retract(&stage.gw, "7f3a-1", "denied once");
	grow_older(20000);
	auto_free char *text = told();

	ck_assert_str_eq(text, "");
	stage_close();
}
END_TEST

START_TEST(many_are_one_notice)
{
	char id[24];

	stage_open(&notify_approver, "printf '%s|' \"$@\" >>told");
	fake_ask(&stage.gw, "7f3a-1", "a.test");
	grow_older(2000);
	for (int i = 2; i < 6; i++) {
		(void)snprintf(id, sizeof(id), "7f3a-%d", i);
		fake_ask(&stage.gw, id, "b.test");
	}
	grow_older(9999);
	auto_free char *one = told();

	ck_assert_ptr_null(strstr(one, "b.test"));
	grow_older(1);
	auto_free char *two = told();

	ck_assert_ptr_nonnull(
		strstr(two, "4 questions are waiting; the first: https://b.test:443|"));
	grow_older(60000);
	auto_free char *three = told();

	ck_assert_str_eq(two, three); /* each is told of once */
	stage_close();
}
END_TEST

START_TEST(a_notice_is_plain_text)
{
	stage_open(&notify_approver, "printf '%s|' \"$@\" >>told");
	struct approver_question *question = fake_ask(&stage.gw, "7f3a-1", "a.test");

	question->commands[0] = "<b>& \x1b[2J\xff";
	grow_older(2000);
	auto_free char *text = told();

	ck_assert_ptr_nonnull(strstr(text, "for: &lt;b&gt;&amp; \\x1b[2J\\xff|"));
	stage_close();
}
END_TEST

START_TEST(a_webhook_is_told_and_signed)
{
	char signature[DIGEST_TEXT_MAX];

	stage_open(&webhook_approver, "cat >>told; printf 204");
	fake_ask(&stage.gw, "7f3a-1", "a.test");
	fake_ask(&stage.gw, "7f3a-2", "b.test");
	let_it_end();
	auto_free char *text = told();

	ck_assert_ptr_nonnull(strstr(text, "url = \"https://hook.example.org/a?b=\\\"c\\\\\"\n"));
	ck_assert_ptr_nonnull(strstr(text, "b.test"));
	ck_assert_ptr_null(strstr(text, key));
	/* The body as curl reads it. */
	char *data = strstr(text, "data-raw = \"") + strlen("data-raw = \"");
	auto_free char *signed_text =
		mem_printf("%lld.", strtoll(strstr(text, "x-sallyport-time: ") + 18, NULL, 10));
	size_t len = strlen(signed_text);

	signed_text = mem_grow(signed_text, len + strlen(data) + 1, 1);
	for (; *data != '"'; data++) {
		data += *data == '\\';
		signed_text[len++] = *data;
	}
	ck_assert_int_eq(digest_hmac(key, strlen(key), signed_text, len, signature), 0);
	ck_assert_ptr_nonnull(strstr(text, signature));
	signed_text[len] = '\0';
	ck_assert_ptr_nonnull(strstr(signed_text, "\"id\":\"7f3a-1\""));
	ck_assert_ptr_nonnull(strstr(signed_text, "\"event\":\"asked\""));
	stage_close();
}
END_TEST

/* The link in it is the page's own, and ends when the question does. */
START_TEST(a_webhook_carries_an_answer_link)
{
	struct gateway_web web = { .answer_origin = "https://gate.example.org",
				   .link_key = "0123456789abcdef" };
	char id[APPROVER_ID_MAX], link[ANSWER_LINK_MAX];
	int64_t until_s = 0;

	stage.gw.config.web = &web;
	stage_open(&webhook_approver, "cat >>told; printf 204");
	ck_assert(webhook_approver.is_attached(stage.gw.approver)); /* so it is waited for */
	fake_ask(&stage.gw, "7f3a-1", "a.test");
	int64_t left_ms = stage.gw.questions[0].left_ms,
		now_s = loop_wall_us(stage.gw.loop) / 1000000;

	let_it_end();
	auto_free char *text = told();
	const char *at = strstr(text, "https://gate.example.org/once.html#");

	ck_assert_ptr_nonnull(at);
	at = strchr(at, '#') + 1;
	(void)snprintf(link, sizeof(link), "%.*s", (int)strcspn(at, "\\\""), at);
	ck_assert_int_eq(answer_link_read(web.link_key, link, now_s, id, &until_s), 0);
	ck_assert_str_eq(id, "7f3a-1");
	ck_assert_int_eq(until_s, now_s + (left_ms + 999) / 1000);
	ck_assert_int_eq(answer_link_read("another key", link, now_s, id, &until_s), -EBADMSG);
	stage_close();
}
END_TEST

/* Whatever its result, the next hint is sent, and a hint never answers. */
static const char *const bad_hooks[] = {
	"cat >>told; printf 500",
	"cat >>told; printf 000",
	"cat >>told; exit 7",
	"cat >>told; yes | head -c 100000",
};
START_TEST(a_webhook_that_fails_changes_nothing)
{
	stage_open(&webhook_approver, bad_hooks[_i]);
	fake_ask(&stage.gw, "7f3a-1", "a.test");
	fake_ask(&stage.gw, "7f3a-2", "b.test");
	let_it_end();
	auto_free char *text = told();

	ck_assert_ptr_nonnull(strstr(text, "b.test"));
	ck_assert_uint_eq(stage.gw.answer_count, 0);
	stage_close();
}
END_TEST

START_TEST(what_hangs_is_killed)
{
	stage_open(&webhook_approver, "exec sleep 1000");
	fake_ask(&stage.gw, "7f3a-1", "a.test");
	ck_assert(has_child());
	loop_advance(stage.gw.loop, SUBPROCESS_MS);
	let_it_end();
	stage_close();
}
END_TEST

Suite *suite_hints(void)
{
	Suite *suite = suite_create("approver: hints");
	TCase *tcase = tcase_create("hints");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_notice_comes_after_a_while);
	tcase_add_test(tcase, what_is_answered_at_once_is_not_told);
	tcase_add_test(tcase, many_are_one_notice);
	tcase_add_test(tcase, a_notice_is_plain_text);
	tcase_add_test(tcase, a_webhook_is_told_and_signed);
	tcase_add_test(tcase, a_webhook_carries_an_answer_link);
	tcase_add_loop_test(tcase, a_webhook_that_fails_changes_nothing, 0, ARRAY_SIZE(bad_hooks));
	tcase_add_test(tcase, what_hangs_is_killed);
	suite_add_tcase(suite, tcase);
	return suite;
}
