#include "tests/unit/policies/commands/commands_test.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define ROUNDS 3000

static uint32_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525U + 1013904223U;
	return (seed >> 16) % below;
}

static void append(char *out, size_t size, const char *text)
{
	strncat(out, text, size - strlen(out) - 1);
}

static void draw_rule(char *out, size_t size, const char *action)
{
	static const char *const words[] = { " a",  " b",    " (a|b)", " (c|sh)",
					     " -x", " nice", " xargs" };

	out[0] = '\0';
	append(out, size, action);
	for (uint32_t i = 0, count = 1 + draw(3); i < count; i++)
		append(out, size, words[draw(ARRAY_SIZE(words))]);
}

static void draw_script(char *out, size_t size)
{
	static const char *const words[] = { "a",      "b",           "c",
					     "-x",     "'a'",         "\\b",
					     "nice a", "xargs b",     "*",
					     "X=1",    "LANG=C",      ">y",
					     "2>&1",   ">out/x",      "(a)",
					     "$x",     "sh -c 'a;b'", "env a -x",
					     "sudo a", "'",           "find . -exec a -x ';'" };
	static const char *const glue[] = { " ", " ", " ", " ", "; ", " && ", " | ", "\n", " & " };

	out[0] = '\0';
	for (uint32_t i = 0, count = 1 + draw(6); i < count; i++) {
		append(out, size, i > 0 ? glue[draw(ARRAY_SIZE(glue))] : "");
		append(out, size, words[draw(ARRAY_SIZE(words))]);
	}
}

static struct command_rules *draw_rules(void)
{
	static const char *const actions[] = { "allow", "allow", "allow", "ask", "deny" };
	struct command_rules *rules = command_rules_new();

	for (uint32_t i = 0, count = 1 + draw(5); i < count; i++) {
		char line[256];

		draw_rule(line, sizeof(line), actions[draw(ARRAY_SIZE(actions))]);
		ck_assert_int_eq(rules_add_line(rules, line, NULL), 0);
	}
	return rules;
}

/* An allow rule added never turns a denial into anything else, nor a question into an allow where a
 * rule asks. */
START_TEST(allow_never_weakens)
{
	size_t denied = 0;

	seed = 1 + (uint32_t)_i;
	for (size_t round = 0; round < ROUNDS; round++) {
		char script[512], line[256];
		const char *argv[] = { "sh", "-c", script, NULL };
		struct command_rules *rules = draw_rules();
		struct command_verdict before, after;

		draw_script(script, sizeof(script));
		draw_rule(line, sizeof(line), "allow");
		command_rules_decide(rules, &world, argv, &before);
		ck_assert_int_eq(rules_add_line(rules, line, NULL), 0);
		command_rules_decide(rules, &world, argv, &after);
		denied += before.action == COMMAND_DENY;
		ck_assert(before.action > COMMAND_ASK || after.action == before.action);
		ck_assert(after.action >= before.action);
		command_rules_free(rules);
	}
	ck_assert_uint_gt(denied, ROUNDS / 50);
}
END_TEST

/* Allowed as a whole: every piece that is a command of its own, given alone, is allowed as well, or
 * is a launcher that only passes on. */
START_TEST(whole_means_every_piece)
{
	size_t allowed = 0;

	seed = 77 + (uint32_t)_i;
	for (size_t round = 0; round < ROUNDS; round++) {
		char script[512];
		const char *argv[] = { "sh", "-c", script, NULL };
		struct command_rules *rules = draw_rules();
		struct command_verdict whole, alone;

		draw_script(script, sizeof(script));
		command_rules_decide(rules, &world, argv, &whole);
		struct command_pieces *pieces = command_pieces_new(argv);

		for (size_t i = 0; i < command_pieces_count(pieces); i++) {
			const struct command_piece *piece = command_pieces_get(pieces, i);

			if (whole.action != COMMAND_ALLOW || piece->argc == 0 ||
			    piece->flags & COMMAND_PASSES_ON)
				continue;
			command_rules_decide(rules, &world, piece->argv, &alone);
			ck_assert_msg(alone.action == COMMAND_ALLOW, "%s: %s", script,
				      alone.piece_text);
			allowed++;
		}
		command_pieces_free(pieces);
		command_rules_free(rules);
	}
	ck_assert_uint_gt(allowed, 20);
}
END_TEST

TCase *properties_cases(void)
{
	TCase *cases = tcase_create("properties");

	tcase_set_timeout(cases, 60);
	tcase_add_loop_test(cases, allow_never_weakens, 0, 4);
	tcase_add_loop_test(cases, whole_means_every_piece, 0, 4);
	return cases;
}
