#include "tests/unit/policies/commands/commands_test.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* Scripts of `sh -c`, what their pieces are (words by blanks, pieces by " / "), and whether all was
 * understood. In words that are not plain, ? stands for the word. */
static const struct {
	const char *script, *pieces;
	bool is_understood;
} rows[] = {
	{ "ls -1", "ls -1", true },
	{ "ls; pwd", "ls / pwd", true },
	{ "ls;pwd;", "ls / pwd", true },
	{ "ls && pwd || id", "ls / pwd / id", true },
	{ "ls | wc -l", "ls / wc -l", true },
	{ "ls |& wc", "ls / wc", true },
	{ "sleep 1 & ls", "sleep 1 / ls", true },
	{ "sleep 1 &", "sleep 1", true },
	{ "ls\npwd\n\n", "ls / pwd", true },
	{ "ls &&\npwd", "ls / pwd", true },
	{ "ls |\n\n wc", "ls / wc", true },
	{ "! ls", "ls", true },
	{ "ls # rm -rf /\npwd", "ls / pwd", true },
	{ "# only this", "", false },
	{ "echo a#b", "echo a#b", true },
	{ "echo 'a b' \"c d\"", "echo a b c d", true },
	{ "echo \"a\nb\"", "echo a\nb", true },
	{ "echo a'b'\"c\"d", "echo abcd", true },
	{ "head -n5 1 2", "head -n5 1 2", true },
	{ "rg -g\"*.c\" x", "rg -g*.c x", true },
	{ "rg -g'*.c' x", "rg -g*.c x", true },
	{ "rm\\ x", "rm x", true },
	{ "\\rm -rf x", "rm -rf x", true },
	{ "r\\\nm x", "rm x", true },
	{ "'rm' \"-rf\" x", "rm -rf x", true },
	{ "r''m -r\"f\" x", "rm -rf x", true },
	{ "echo \"a\\\"b\\$c\\d\"", "echo a\"b$c\\d", true },
	{ "grep a$ x", "grep a$ x", true },
	{ "grep \"a$\" x", "grep a$ x", true },
	{ "find . -exec ls {} ';'", "find . -exec ls {} ; / ls ?", true },
	{ "ls *.c", "ls ?", true },
	{ "ls ~/x", "ls ?", true },
	{ "(cd x && make); ls", "cd x / make / ls", true },
	{ "{ ls; pwd; } | wc", "ls / pwd / wc", true },
	{ "(ls)", "ls", true },
	{ "LANG=C ls", "ls", true },
	{ "X=1 ls", "ls", true },
	{ "X=1", "", true },
	/* Redirections. */
	{ "ls > x", "ls", true },
	{ "ls 2>&1 >x", "ls", true },
	{ "> x ls", "ls", true },
	{ "ls &>x", "ls", true },
	{ "cat < x", "cat", true },
	{ "echo 2 >x", "echo 2", true },
	{ "cat <<< hello", "cat", true },
	{ "cat <<EOF\nrm -rf /\nEOF", "cat", true },
	{ "cat <<EOF | wc\nrm -rf /\nEOF\nls", "cat / wc / ls", true },
	{ "cat <<'EOF'\n$(rm x) $y `z`\nEOF", "cat", true },
	{ "cat <<-E\n\tx\n\tE\nls", "cat / ls", true },
	{ "cat <<A <<B\n1\nA\n2\nB\nls", "cat / ls", true },
	{ "cat <<EOF\n\\$x\nEOF", "cat", true },
	{ "bash <<EOF\nrm -rf /\nEOF", "bash / rm -rf /", false },
	{ "cat <<EOF\n$x\nEOF", "cat", false },
	{ "cat <<EOF\n$(rm -rf x)\nEOF", "cat / rm -rf x", false },
	{ "cat <<EOF\nx", "cat", false },
	{ "ls >", "ls", false },
	{ "ls > $x", "ls", false },
	{ "ls > *", "ls", false },
	{ "cat < /dev/tcp/a.test/80", "cat", false },
	{ "ls >! x", "ls x", false },
	{ "cat <(rm -rf x)", "cat ? / rm -rf x", false },
	{ "tee >(sh)", "tee ? / sh", false },
	{ "cat <<E\nx\\\nE\nls <<'Z'\nE\nrm x\nZ", NULL, false },
	{ "cat <<E 'a\nb'\nx\nE", NULL, false },
	{ "cat <<'E'\nx\\\nE\nls", "cat / ls", true },
	{ "((ls))", NULL, false },
	{ "( (ls) )", "ls", true },
	{ "ls }", "ls }", false },
	{ "ls '}'", "ls }", true },
	{ "test -v 'a[$(rm -rf x)]'", NULL, false },
	{ "[ 'a[`id`]' -eq 1 ]", NULL, false },
	{ "test -f x", "test -f x", true },
	{ "find *", "find ?", false },
	{ "find ./*", "find ?", true },
	{ "ls | xargs find", NULL, false },
	/* Not understood: what can be seen of it is still there. */
	{ "echo $x", "echo ?", false },
	{ "echo \"$x\"", "echo ?", false },
	{ "echo ${x}", "echo ?", false },
	{ "echo $'x'", "echo ?", false },
	{ "echo $\"x\"", "echo ?", false },
	{ "echo a$x", "echo ?", false },
	{ "rg -g\"$x\"", "rg ?", false },
	{ "echo `rm -rf x`", "echo ? / rm -rf x", false },
	{ "echo $(rm -rf x)", "echo ? / rm -rf x", false },
	{ "echo \"a $(rm -rf \")\") b\"", "echo ? / rm -rf )", false },
	{ "echo $((1+2))", NULL, false },
	{ "echo ${x:-$(rm -rf y)}", "echo ? / rm -rf y", false },
	{ "$x -rf y", NULL, false },
	{ "*", NULL, false },
	{ "ls {a,b}", "ls ?", false },
	{ "=ls x", NULL, false },
	{ "if true; then rm -rf x; fi", "true / rm -rf x", false },
	{ "for i in a b; do rm -rf x; done", "rm -rf x", false },
	{ "while true; do rm -rf x; done", "true / rm -rf x", false },
	{ "case x in a) rm -rf x;; esac", NULL, false },
	{ "f() { rm -rf x; }; f", NULL, false },
	{ "function f { rm -rf x; }", NULL, false },
	{ "[[ -f x ]] && rm -rf x", "rm -rf x", false },
	{ "eval rm x", "eval rm x", false },
	{ "source x", "source x", false },
	{ ". x", ". x", false },
	{ "alias ls=rm; ls x", NULL, false },
	{ "export PATH=/x; ls", NULL, false },
	{ "trap 'rm x' EXIT", NULL, false },
	{ "set -- a", "set -- a", false },
	{ "set -euo pipefail; ls", "set -euo pipefail / ls", true },
	{ "a=(x y)", NULL, false },
	{ "ls *(e:x:)", NULL, false },
	{ "ls 'x", NULL, false },
	{ "ls \"x", NULL, false },
	{ "ls \\", NULL, false },
	{ "ls &&", "ls", false },
	{ "ls |", "ls", false },
	{ "&& ls", "ls", false },
	{ "| ls", "ls", false },
	{ "; ls", "ls", false },
	{ "ls ;; pwd", "ls / pwd", false },
	{ "ls && && pwd", "ls / pwd", false },
	{ "ls | | wc", "ls / wc", false },
	{ "(ls", "ls", false },
	{ "ls)", "ls", false },
	{ "()", "", false },
	{ "{ ls; ", "ls", false },
	{ "(ls) pwd", "ls / pwd", false },
	{ "", "", false },
	{ "   ", "", false },
	{ "\n\n", "", false },
	{ "ls \x01", "ls ?", false },
	{ "''", NULL, false },
};

static void show(const struct command_pieces *pieces, size_t from, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = from; i < command_pieces_count(pieces); i++) {
		const struct command_piece *piece = command_pieces_get(pieces, i);

		for (size_t w = 0; w < piece->argc && used < size; w++)
			used += (size_t)snprintf(
				out + used, size - used, "%s%s",
				used == 0 ? ""
				: w == 0  ? " / "
					  : " ",
				piece->words[w] == COMMAND_WORD_PLAIN ? piece->argv[w] : "?");
	}
}

START_TEST(cuts)
{
	const char *argv[] = { "sh", "-c", rows[_i].script, NULL };
	struct command_pieces *pieces = command_pieces_new(argv);
	char shown[1024];

	show(pieces, 1, shown, sizeof(shown));
	if (rows[_i].pieces)
		ck_assert_msg(strcmp(shown, rows[_i].pieces) == 0, "%s: %s", rows[_i].script,
			      shown);
	ck_assert_msg(!command_pieces_why(pieces) == rows[_i].is_understood, "%s: %s",
		      rows[_i].script, command_pieces_why(pieces));
	command_pieces_free(pieces);
}
END_TEST

/* Whatever is not understood is never allowed, and a denial in it is seen. */
START_TEST(never_allowed)
{
	static const char all[] =
		"allow (ls|pwd|echo|rm|cat|sh|bash|true|make|eval|source|.|set|id|wc)";
	const char *argv[] = { "sh", "-c", rows[_i].script, NULL };
	struct command_rules *allow = rules_of(all), *deny = rules_of("allow sh\ndeny rm -rf");
	struct command_verdict verdict;

	command_rules_decide(allow, &world, argv, &verdict);
	if (!rows[_i].is_understood)
		ck_assert_int_eq(verdict.action, COMMAND_ASK);
	ck_assert_int_eq(verdict.is_understood, rows[_i].is_understood);
	command_rules_decide(deny, &world, argv, &verdict);
	if (rows[_i].pieces && strstr(rows[_i].pieces, "rm -rf"))
		ck_assert_int_eq(verdict.action, COMMAND_DENY);
	ck_assert(verdict.is_understood || !verdict.is_safe);
	ck_assert(rows[_i].is_understood || !command_is_safe(argv));
	command_rules_free(allow);
	command_rules_free(deny);
}
END_TEST

static const struct {
	const char *command;
	bool is_understood;
} shells[] = {
	{ "bash -c ls", true },
	{ "bash -lc ls", true },
	{ "zsh -lc ls", true },
	{ "dash -c ls", true },
	{ "/bin/sh -ec ls", true },
	{ "bash -euo pipefail -c ls", true },
	{ "bash -o pipefail -c ls", true },
	{ "sh -c ls x y", true },
	{ "sh -x -c ls", true },
	{ "bash x.sh", true },
	{ "bash -ic ls", false },
	{ "bash -i -c ls", false },
	{ "bash --rcfile x -c ls", false },
	{ "bash -O extglob -c ls", false },
	{ "bash", false },
	{ "bash -s", false },
	{ "sh -", false },
	{ "sh -c", false },
	{ "bash -o posix -c ls", false },
	{ "fish -c ls", false },
	{ "ksh -c ls", false },
};

START_TEST(shell)
{
	struct line line;

	line_split(&line, shells[_i].command);
	struct command_pieces *pieces = command_pieces_new(line.argv);

	ck_assert_msg(!command_pieces_why(pieces) == shells[_i].is_understood, "%s: %s",
		      shells[_i].command, command_pieces_why(pieces));
	command_pieces_free(pieces);
}
END_TEST

static const struct {
	const char *script;
	enum command_action want; /* with `ls`, `cd`, `./x` allowed */
} effects[] = {
	{ "ls > /dev/null 2>&1", COMMAND_ALLOW },
	{ "ls 2>/dev/null", COMMAND_ALLOW },
	{ "ls < in", COMMAND_ALLOW },
	{ "ls > out/x", COMMAND_ALLOW },
	{ "ls >> out/x", COMMAND_ALLOW },
	{ "ls > other", COMMAND_UNMATCHED },
	{ "ls >| other", COMMAND_UNMATCHED },
	{ "ls <> other", COMMAND_UNMATCHED },
	{ "ls &> other", COMMAND_UNMATCHED },
	{ "ls >& other", COMMAND_UNMATCHED },
	{ "cd x; ls > out/x", COMMAND_UNMATCHED },
	{ "ls; > other", COMMAND_UNMATCHED },
	{ "cd x && ls", COMMAND_ALLOW },
	{ "./x", COMMAND_ALLOW },
	{ "cd y && ./x", COMMAND_UNMATCHED },
	{ "LANG=C NO_COLOR=1 ls", COMMAND_ALLOW },
	{ "LANG=/tmp/evil ls", COMMAND_UNMATCHED },
	{ "PATH=/evil ls", COMMAND_UNMATCHED },
	{ "PATH=/evil:$PATH ls <<E > f\nE", COMMAND_ASK },
	{ "LD_PRELOAD=x ls", COMMAND_UNMATCHED },
	{ "PATH=/evil; ls", COMMAND_UNMATCHED },
	{ "PATH+=/evil; ls", COMMAND_UNMATCHED },
	{ "LANG=C", COMMAND_UNMATCHED },
	{ "ls *", COMMAND_ALLOW },
};

START_TEST(effect)
{
	const char *argv[] = { "sh", "-c", effects[_i].script, NULL };
	struct command_rules *rules = rules_of("allow ls\nallow cd\nallow ./x");
	struct command_verdict verdict;

	command_rules_decide(rules, &world, argv, &verdict);
	ck_assert_msg(verdict.action == effects[_i].want, "%s: %s (%s)", effects[_i].script,
		      command_action_name(verdict.action), verdict.why);
	command_rules_free(rules);
}
END_TEST

START_TEST(too_much)
{
	auto_free char *script = mem_new(COMMAND_SCRIPT_MAX * 2);
	const char *argv[] = { "sh", "-c", script, NULL };
	static const char *const repeated[] = { "x",   "x;",   "x ",         "'x' ", "(",
						"$(",  "{ ",   "sh -c ",     "`",    "x<<E ",
						">a ", "env ", "nice xargs " };

	for (size_t i = 0; i < ARRAY_SIZE(repeated); i++) {
		size_t len = strlen(repeated[i]);

		for (size_t at = 0; at + len < COMMAND_SCRIPT_MAX * 2; at += len)
			memcpy(script + at, repeated[i], len + 1);
		struct command_pieces *pieces = command_pieces_new(argv);

		ck_assert_ptr_nonnull(command_pieces_why(pieces));
		command_pieces_free(pieces);
		script[COMMAND_SCRIPT_MAX] = '\0';
		pieces = command_pieces_new(argv);
		ck_assert_msg(command_pieces_why(pieces) || i == 0, "%s", repeated[i]);
		command_pieces_free(pieces);
	}
}
END_TEST

START_TEST(nothing)
{
	static const char *const argv[] = { NULL };
	struct command_rules *rules = rules_of("allow ls");
	struct command_verdict verdict;

	command_rules_decide(rules, NULL, argv, &verdict);
	ck_assert_int_eq(verdict.action, COMMAND_ASK);
	ck_assert(!command_is_safe(argv));
	ck_assert(!command_is_dangerous(argv, NULL));
	command_rules_free(rules);
}
END_TEST

TCase *pieces_cases(void)
{
	TCase *cases = tcase_create("pieces");

	tcase_add_loop_test(cases, cuts, 0, ARRAY_SIZE(rows));
	tcase_add_loop_test(cases, never_allowed, 0, ARRAY_SIZE(rows));
	tcase_add_loop_test(cases, shell, 0, ARRAY_SIZE(shells));
	tcase_add_loop_test(cases, effect, 0, ARRAY_SIZE(effects));
	tcase_add_test(cases, too_much);
	tcase_add_test(cases, nothing);
	return cases;
}
