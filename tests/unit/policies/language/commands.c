#include "policies/commands/commands.h"

#include <string.h>

#include "base/mem.h"
#include "tests/unit/policies/policies_test.h"

#define ARGV_MAX 8

static void load(struct policy *policy, const char *name, const char *text, enum policy_layer layer)
{
	if (!text)
		return;
	ck_assert_msg(policy_load_text_layer(policy, name, text, layer) == 0, "%s",
		      policy_errors(policy));
}

/* Each file by its layer; what is decided about @command, words apart by one blank. */
static const struct {
	const char *managed, *user, *project, *trusted;
	const char *command;
	enum policy_action want;
	const char *rule; /* that says so; "" for none */
} layered[] = {
	{ NULL, "command allow git", NULL, NULL, "git push", POLICY_ALLOW,
	  "<user>:1: command allow git" },
	{ NULL, "command allow git\ncommand ask git push", NULL, NULL, "git push -f", POLICY_ASK,
	  "<user>:2: command ask git push" },
	/* deny beats ask beats allow, in every layer */
	{ "command deny git push", "command allow git", NULL, NULL, "git push", POLICY_DENY,
	  "<managed>:1: command deny git push" },
	{ "command allow git", "command deny git push", NULL, NULL, "git push", POLICY_DENY,
	  "<user>:1: command deny git push" },
	{ "command ask git", "command allow git push", NULL, NULL, "git push", POLICY_ASK,
	  "<managed>:1: command ask git" },
	/* a project only narrows until it is trusted */
	{ NULL, NULL, "command allow git", NULL, "git log", POLICY_ASK, "" },
	{ NULL, "command allow git", "command deny git push", NULL, "git push", POLICY_DENY,
	  "<project>:1: command deny git push" },
	{ NULL, "command allow git", "command ask git push", NULL, "git push", POLICY_ASK,
	  "<project>:1: command ask git push" },
	{ NULL, NULL, NULL, "command allow git", "git log", POLICY_ALLOW,
	  "<trusted>:1: command allow git" },
	{ NULL, "command allow git", "program git /srv/git", NULL, "/srv/git log", POLICY_ASK, "" },
	{ NULL, "command allow git", NULL, "program git /srv/git", "/srv/git log", POLICY_ALLOW,
	  "<user>:1: command allow git" },
	/* out of the sandbox: not for a project to say */
	{ NULL, "command allow git unconfined", NULL, NULL, "git log", POLICY_ALLOW,
	  "<user>:1: command allow git unconfined" },
	{ NULL, NULL, NULL, "command allow git unconfined", "git log", POLICY_ASK, "" },
	/* no rule: the default, and no file loosens the managed one */
	{ NULL, "default deny\ncommand allow git", NULL, NULL, "make", POLICY_DENY, "" },
	{ NULL, "default allow\ncommand ask git", NULL, NULL, "make", POLICY_ALLOW, "" },
	{ "default deny", "default allow", NULL, NULL, "make", POLICY_DENY, "" },
	{ NULL, "default ask", "default allow", NULL, "make", POLICY_ASK, "" },
	/* nobody may be asked */
	{ NULL, "command ask git", "approvals never", NULL, "git log", POLICY_DENY,
	  "<user>:1: command ask git" },
	{ NULL, "command ask git", "approvals granular rules", NULL, "git log", POLICY_ASK,
	  "<user>:1: command ask git" },
	{ NULL, "command ask git", "approvals reject rules", NULL, "git log", POLICY_DENY,
	  "<user>:1: command ask git" },
	{ NULL, "command ask git", "approvals reject rules", NULL, "make", POLICY_ASK, "" },
	{ NULL, "command ask git", "approvals reject sandbox", NULL, "make", POLICY_DENY, "" },
	{ NULL, "command ask git", "approvals granular network", NULL, "make", POLICY_DENY, "" },
	/* what is not understood is asked at best */
	{ NULL, "default allow\ncommand allow git", NULL, NULL, "sh -c $X", POLICY_ASK, "" },
};

static void split(char *text, const char *argv[ARGV_MAX + 1])
{
	size_t count = 0;

	for (char *word; count < ARGV_MAX && (word = strsep(&text, " ")) != NULL;)
		argv[count++] = word;
	argv[count] = NULL;
}

START_TEST(layers_of_commands)
{
	struct policy *policy = policy_new();
	auto_free char *text = mem_strdup(layered[_i].command);
	const char *argv[ARGV_MAX + 1];
	struct command_verdict verdict;
	enum policy_action written;
	enum policy_layer layer;

	split(text, argv);
	load(policy, "<managed>", layered[_i].managed, POLICY_MANAGED);
	load(policy, "<user>", layered[_i].user, POLICY_USER);
	load(policy, "<project>", layered[_i].project, POLICY_PROJECT);
	load(policy, "<trusted>", layered[_i].trusted, POLICY_TRUSTED);
	if (!policy_get_default(policy, &written))
		policy_set_default(policy, POLICY_ASK);
	ck_assert_msg(policy_finish(policy) == 0, "%s", policy_errors(policy));
	ck_assert_msg(policy_decide_command(policy, NULL, argv, &verdict, &layer) ==
			      layered[_i].want,
		      "%d: %s", _i, verdict.rule);
	ck_assert_str_eq(verdict.rule, layered[_i].rule);
	if (strncmp(verdict.rule, "<managed>", 9) == 0)
		ck_assert_int_eq(layer, POLICY_MANAGED);
	if (strncmp(verdict.rule, "<project>", 9) == 0)
		ck_assert_int_eq(layer, POLICY_PROJECT);
	policy_free(policy);
}
END_TEST

/* Before all is read, and with errors, nothing may run. */
START_TEST(nothing_before_all_is_read)
{
	struct policy *policy = policy_new();
	const char *argv[] = { "git", NULL };
	struct command_verdict verdict;
	enum policy_layer layer;

	policy_set_default(policy, POLICY_ALLOW);
	load(policy, "<user>", "command allow git", POLICY_USER);
	ck_assert_ptr_null(policy_commands(policy));
	ck_assert_int_eq(policy_decide_command(policy, NULL, argv, &verdict, &layer), POLICY_DENY);
	ck_assert_int_lt(policy_load_text(policy, "<bad>", "nonsense"), 0);
	ck_assert_int_lt(policy_finish(policy), 0);
	ck_assert_int_eq(policy_decide_command(policy, NULL, argv, &verdict, &layer), POLICY_DENY);
	policy_free(policy);
}
END_TEST

/* NULL: it holds; else the words of the error. */
static const struct {
	const char *text, *words;
} expected[] = {
	{ "command ask git push\nexpect ask command git push origin main", NULL },
	{ "command allow git (status|log)\nprogram git /usr/bin/git\nexpect allow command git log",
	  NULL },
	{ "command deny rm -rf\nexpect deny command sh -c \"cd /tmp && rm -rf x\"", NULL },
	{ "default deny\nexpect deny command make", NULL },
	{ "default deny\nexpect ask command sh -c \"$X\"", NULL },
	{ "expect allow command git log\ncommand allow git", NULL }, /* order says nothing */
	{ "command allow \"(a|b)\"\nexpect allow command (a|b)", NULL },
	{ "command allow echo \"a \\\"b\\\"\"\nexpect allow command echo \"a \\\"b\\\"\" c", NULL },
	{ "command allow git\nexpect deny command git log",
	  "<test>:2:8: error: this line expects deny, but the policy says allow: <test>:1: command "
	  "allow git" },
	{ "default deny\nexpect allow command make",
	  "this line expects allow, but the policy says deny: no rule matches it" },
	{ "default allow\nexpect allow command sh -c \"$X\"",
	  "this line expects allow, but the policy says ask: not understood" },
};

START_TEST(expectation_of_a_command)
{
	struct policy *policy = policy_new();

	ck_assert_msg(policy_load_text(policy, "<test>", expected[_i].text) == 0, "%s",
		      policy_errors(policy));
	ck_assert_uint_eq(policy_expect_count(policy), 1);
	int r = policy_finish(policy);

	ck_assert_msg((r == 0) == !expected[_i].words, "%d: %s", _i, policy_errors(policy));
	if (expected[_i].words)
		ck_assert_msg(strstr(policy_errors(policy), expected[_i].words), "%s",
			      policy_errors(policy));
	policy_free(policy);
}
END_TEST

START_TEST(what_does_not_count_is_said)
{
	struct policy *policy = policy_new();
	struct policy_rule_look look;

	load(policy, "<project>", "command allow a\nprogram b /b\ncommand deny c", POLICY_PROJECT);
	load(policy, "<trusted>", "command allow d unconfined", POLICY_TRUSTED);
	ck_assert_int_eq(policy_finish(policy), 0);
	ck_assert_uint_eq(command_rules_count(policy_commands(policy)), 1);
	ck_assert_msg(strstr(policy_notes(policy), "<project>: warning: 2 lines of this project's "
						   "file do not count until you trust it"),
		      "%s", policy_notes(policy));
	ck_assert_msg(strstr(policy_notes(policy),
			     "<trusted>: warning: 1 line of this project's "
			     "file does not count: a project's file may not have write, "
			     "prompt-timeout, unconfined, approver, hook, reviewer, approvals "
			     "on-failure, secret, socket, read, cache shared, upstream, audit or a "
			     "higher limit"),
		      "%s", policy_notes(policy));
	ck_assert_uint_eq(policy_command_count(policy), 4);
	policy_command_look(policy, 2, &look);
	ck_assert_str_eq(look.word, "program");
	ck_assert_int_eq(look.match, POLICY_MATCH_UNTRUSTED);
	policy_command_look(policy, 3, &look);
	ck_assert_str_eq(look.rule, "<project>:3: command deny c");
	ck_assert_int_eq(look.match, POLICY_MATCHES);
	policy_free(policy);
}
END_TEST

/* Kept and shown: the code that runs a command reads them, and a project's do not count. */
START_TEST(what_nothing_enforces)
{
	struct policy *policy = policy_new();
	struct policy_rule_look look;

	load(policy, "<user>",
	     "secret TOKEN for api.test header authorization bearer # c\n"
	     "socket $SSH_AUTH_SOCK filter ssh-agent key \"SHA256:abc\"\nsocket /opt/s\n"
	     "socket $DOCKER\nsocket \"/opt/a b\"",
	     POLICY_USER);
	load(policy, "<project>",
	     "  socket /run/x filter ssh-agent key \"SHA256:a\"\nsocket /run/y", POLICY_TRUSTED);
	ck_assert_msg(policy_finish(policy) == 0, "%s", policy_errors(policy));
	ck_assert(policy_later_look(policy, 0, &look));
	ck_assert_str_eq(look.rule,
			 "<user>:1: secret TOKEN for api.test header authorization bearer # c");
	ck_assert_str_eq(look.word, "secret");
	ck_assert_int_eq(look.match, POLICY_MATCH_NOT_ENFORCED);
	ck_assert(policy_later_look(policy, 1, &look));
	ck_assert_str_eq(look.word, "socket");
	ck_assert(policy_later_look(policy, 2, &look));
	ck_assert_str_eq(look.rule, "<project>:1: socket /run/x filter ssh-agent key \"SHA256:a\"");
	ck_assert_int_eq(look.match, POLICY_MATCH_UNTRUSTED);
	ck_assert(!policy_later_look(policy, 3, &look));
	/* Those without a filter are held, and are not a project's to say. */
	ck_assert_str_eq(policy_get_path(policy, POLICY_PATH_SOCKET, 0), "/opt/s");
	ck_assert_str_eq(policy_get_path(policy, POLICY_PATH_SOCKET, 1), "$DOCKER");
	ck_assert_str_eq(policy_get_path(policy, POLICY_PATH_SOCKET, 2), "/opt/a b");
	ck_assert_ptr_null(policy_get_path(policy, POLICY_PATH_SOCKET, 3));
	ck_assert_ptr_nonnull(
		strstr(policy_notes(policy),
		       "<user>:2:1: warning: this version does not enforce `socket`"));
	ck_assert_ptr_null(strstr(policy_notes(policy), "<project>:1"));
	policy_free(policy);
}
END_TEST

TCase *commands_cases(void)
{
	TCase *cases = tcase_create("commands");

	tcase_add_loop_test(cases, layers_of_commands, 0, ARRAY_SIZE(layered));
	tcase_add_test(cases, nothing_before_all_is_read);
	tcase_add_loop_test(cases, expectation_of_a_command, 0, ARRAY_SIZE(expected));
	tcase_add_test(cases, what_does_not_count_is_said);
	tcase_add_test(cases, what_nothing_enforces);
	return cases;
}
