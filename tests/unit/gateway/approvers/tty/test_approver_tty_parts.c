#include "tests/unit/gateway/approvers/screen/test_approver_screen.h"

#include <event2/buffer.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/approvers/tty/tty_hold.h"
#include "gateway/approvers/tty/tty_list.h"
#include "gateway/approvers/tty/tty_prompt.h"
#include "gateway/approvers/tty/tty_self.h"

static const struct {
	const char *bytes, *keys; /* what is left of them */
	unsigned int ready;
} inputs[] = {
	{ "y\r", "y\r", 0 },           { "\x1b[0n", "", 1 },
	{ "\x1b[0ny", "y", 1 },        { "a\x1b[0nb\x1b[0nc", "abc", 2 },
	{ "\2330ny", "y", 1 }, /* CSI in eight bits */
	{ "\302\2330ny", "y", 1 },     { "\x1b[3ny", "y", 0 },
	{ "\x1b[?0ny", "y", 0 },       { "\x1b[ny", "y", 0 },
	{ "\x1b[0;0ny", "y", 0 },      { "\x1b[00000000000000000000000000000ny", "y", 0 },
	{ "\x1b\x1b[0ny", "y", 1 },    { "\x1b[1\x1b[0ny", "y", 1 },
	{ "\x1b]0;\x1b[0ny", "y", 1 }, /* a sequence ends the string it cuts */
	{ "\x1b]0;yes\x07n", "n", 0 }, { "\x1b]0;yes\x1b\\n", "n", 0 },
	{ "\x1bPyes\x9cn", "n", 0 },   { "\x1bPyes\x18n", "n", 0 },
	{ "\x1bXyes\rn\r", "n\r", 0 }, { "\x1b_y\x1b\\n", "n", 0 },
	{ "\x1b^y\x1b\\n", "n", 0 },   { "\x1bOyn", "n", 0 },
	{ "\x8fyn", "n", 0 },          { "\x1byn", "n", 0 },
	{ "\x1b[<0;1;1Mn", "n", 0 },   { "\x1b[200~y\r\x1b[0n\x1b[201~n", "n", 1 },
	{ "\x1b[201~n", "n", 0 },      { "\xc3\xa4n", "n", 0 },
};

START_TEST(input)
{
	struct tty_input parser = { 0 };
	char keys[64] = "";
	size_t len = 0;
	unsigned int ready = 0;

	for (const char *at = inputs[_i].bytes; *at; at++) {
		enum tty_event event = tty_input_feed(&parser, (unsigned char)*at);

		if (event == TTY_KEY)
			keys[len++] = *at;
		ready += event == TTY_READY;
	}
	ck_assert_str_eq(keys, inputs[_i].keys);
	ck_assert_uint_eq(ready, inputs[_i].ready);
}
END_TEST

#define LABEL_63  "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff123"
#define LONG_HOST LABEL_63 "." LABEL_63 ".evil.example.org"

static const struct {
	const char *host;
	enum policy_protocol protocol;
	uint16_t port;
	unsigned int width;
	const char *want;
} destinations[] = {
	{ "a.test", POLICY_HTTPS, 443, 68, "https://a.test:443" },
	{ "a.test", POLICY_TCP, 22, 68, "tcp://a.test:22" },
	{ "::1", POLICY_HTTP, 80, 68, "http://[::1]:80" },
	{ LONG_HOST, POLICY_HTTPS, 443, 68,
	  "https://aaa...eeeeeeeeffffffffff123.evil.example.org:443" },
	{ LONG_HOST, POLICY_HTTPS, 443, 28, "https://...xample.org:443" },
	{ "a\x1b[31m\\.test", POLICY_HTTPS, 443, 68, "https://a\\x1b[31m\\\\.test:443" },
};

START_TEST(destination)
{
	struct policy_destination dst = { .protocol = destinations[_i].protocol,
					  .port = destinations[_i].port };
	char out[1200];

	(void)snprintf(dst.host, sizeof(dst.host), "%s", destinations[_i].host);
	tty_prompt_destination(out, sizeof(out), &dst, "", destinations[_i].width);
	ck_assert_uint_le(strlen(out), destinations[_i].width);
	if (!strstr(destinations[_i].want, "..."))
		ck_assert_str_eq(out, destinations[_i].want);
	ck_assert_ptr_nonnull(strrchr(out, ':'));
	/* the end of the host is there, as much of it as fits */
	size_t len = strlen(dst.host);
	size_t tail = len > TTY_HOST_TAIL ? TTY_HOST_TAIL : len;
	if (destinations[_i].width > 64 && len > tail)
		ck_assert_ptr_nonnull(strstr(out, dst.host + len - tail));
}
END_TEST

static const unsigned int widths[] = { 40, 41, 60, 76, 77, 80, 100, 160 };

/* No line reaches the last column, whatever is asked: a terminal that wraps would count other lines
 * than we do. */
START_TEST(lines_fit)
{
	struct tty_look look = { .width = widths[_i], .rows = 500, .may_always = true };
	struct approver_question question = {
		.dst = { .host = LONG_HOST, .protocol = POLICY_HTTPS, .port = 65535 },
		.waiting = 4000000000U,
		.command_count = 4000000000U,
		.rule = "/etc/sallyport/policy:12345: ask https://" LONG_HOST,
		.because = LONG_HOST LONG_HOST LONG_HOST LONG_HOST,
		.left_ms = INT64_MAX - 999,
		.is_private = true,
		.warning = LONG_HOST LONG_HOST,
		.program = LONG_HOST LONG_HOST LONG_HOST LONG_HOST,
		.chain = LONG_HOST LONG_HOST LONG_HOST LONG_HOST,
	};
	struct evbuffer *out = evbuffer_new();
	struct tty_draft draft = { .letter = 'a', .has_program = true, .is_typing = true };
	unsigned int lines, count = 0;
	bool is_whole;

	for (size_t i = 0; i < APPROVER_COMMANDS_MAX; i++)
		question.commands[i] = LONG_HOST LONG_HOST LONG_HOST LONG_HOST LONG_HOST;
	memset(draft.covers, 'c', sizeof(draft.covers) - 1);
	memset(draft.note, 'n', sizeof(draft.note) - 1);
	(void)snprintf(question.typed, sizeof(question.typed), "%s", LONG_HOST);
	lines = tty_prompt_write(out, &look, &question, &draft, 4000000000U, &is_whole);
	for (;;) {
		auto_free char *line = evbuffer_readln(out, NULL, EVBUFFER_EOL_CRLF_STRICT);

		if (!line)
			break;
		ck_assert_uint_lt(strlen(line), look.width);
		count++;
	}
	ck_assert_uint_eq(count, lines);
	ck_assert_uint_eq(evbuffer_get_length(out), 0);
	ck_assert(is_whole);
	evbuffer_free(out);
}
END_TEST

/* A warning is seen at once, and what is merely new is told from it; without colours each is a line
 * as any other. */
static const struct {
	unsigned int risk;
	const char *line, *style;
} warnings[] = {
	{ APPROVER_FIRST_SEEN, "  NEW       it says why", "\x1b[1;33m" },
	{ APPROVER_LISTED, "  warning   it says why", "\x1b[1;31m" },
	{ APPROVER_LISTED | APPROVER_FIRST_SEEN, "  warning   it says why", "\x1b[1;31m" },
	{ APPROVER_RAW_TCP, "  warning   it says why", "\x1b[1;31m" },
};

START_TEST(warning_has_a_colour)
{
	static const struct {
		bool has_escapes, has_colour;
		const char *style, *end; /* style NULL: the colour */
	} looks[] = { { true, true, NULL, "\x1b[0m" },
		      { true, false, "\x1b[1m", "\x1b[0m" },
		      { false, false, "", "" } };
	const int of = _i % (int)ARRAY_SIZE(looks), which = _i / (int)ARRAY_SIZE(looks);
	struct tty_look look = { .width = 80,
				 .rows = 24,
				 .has_escapes = looks[of].has_escapes,
				 .has_colour = looks[of].has_colour };
	struct approver_question question = {
		.dst = { .host = "a.test", .protocol = POLICY_HTTPS, .port = 443 },
		.waiting = 1,
		.risk = warnings[which].risk,
		.warning = "it says why",
		.typed = "a.test",
	};
	struct tty_draft draft = { .covers = "https://a.test:443" };
	struct evbuffer *out = evbuffer_new();
	auto_free char *styled =
		mem_printf("%s%s%s\r\n", looks[of].style ? looks[of].style : warnings[which].style,
			   warnings[which].line, looks[of].end);
	bool is_whole;

	(void)tty_prompt_write(out, &look, &question, &draft, 0, &is_whole);
	ck_assert_int_eq(evbuffer_add(out, "", 1), 0);
	const char *text = (const char *)evbuffer_pullup(out, -1);
	ck_assert_ptr_nonnull(strstr(text, styled));
	ck_assert_int_eq(strchr(text, '\x1b') != NULL, look.has_escapes);
	evbuffer_free(out);
}
END_TEST

/* A note never takes the room of what has to be seen. */
START_TEST(note_gives_way)
{
	struct tty_look look = { .width = 80, .rows = 24 };
	struct approver_question question = {
		.dst = { .host = "a.test", .protocol = POLICY_HTTPS, .port = 443 },
		.typed = "a.test",
	};
	struct tty_draft draft = { .covers = "https://a.test:443", .note = "look again" };
	bool is_whole = true;
	unsigned int lines = 0;

	while (is_whole) { /* the lowest window that has room */
		struct evbuffer *out = evbuffer_new();
		unsigned int now;

		look.rows--;
		now = tty_prompt_write(out, &look, &question, &draft, 0, &is_whole);
		lines = is_whole ? now : lines;
		evbuffer_free(out);
	}
	ck_assert_uint_eq(look.rows, 5);
	ck_assert_uint_eq(lines, 4);
}
END_TEST

START_TEST(time_that_is_left_is_redrawn)
{
	fake_ask(&screen.gw, "7f3a-1", "a.test");
	screen_until_open();
	screen_type("s");
	screen_look();
	screen.gw.questions[0].left_ms = 100000;
	loop_advance(screen.gw.loop, TTY_TICK_MS);
	ck_assert_ptr_nonnull(strstr(screen_look(), "denied in 1m40s"));
	ck_assert_ptr_nonnull(strstr(screen.text, TTY_LABEL "s"));
	screen_type("\r"); /* it is still the same question */
	ck_assert_uint_eq(screen.gw.answer_count, 1);
}
END_TEST

Suite *suite_tty_parts(void)
{
	Suite *suite = suite_create("tty-parts");
	TCase *tcase = tcase_create("tty-parts"), *drawn = tcase_create("drawn");

	tcase_add_loop_test(tcase, input, 0, (int)ARRAY_SIZE(inputs));
	tcase_add_loop_test(tcase, destination, 0, (int)ARRAY_SIZE(destinations));
	tcase_add_loop_test(tcase, lines_fit, 0, (int)ARRAY_SIZE(widths));
	tcase_add_loop_test(tcase, warning_has_a_colour, 0, 3 * (int)ARRAY_SIZE(warnings));
	tcase_add_test(tcase, note_gives_way);
	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(drawn, screen_setup, screen_teardown);
	tcase_add_test(drawn, time_that_is_left_is_redrawn);
	suite_add_tcase(suite, drawn);
	return suite;
}
