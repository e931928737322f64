/* Commands: the combined effect of the rules, the mode and the sandbox. */
#include <string.h>

#include "tests/unit/exec/orchestrator/rig.h"
#include "tests/unit/exec/words.h"

static struct rig rig;

#define NEVER          ORCHESTRATOR_NEVER
#define UNTRUSTED      ORCHESTRATOR_UNTRUSTED
#define REQUEST        ORCHESTRATOR_ON_REQUEST
#define FAILURE        ORCHESTRATOR_ON_FAILURE
#define GRANULAR       ORCHESTRATOR_GRANULAR
#define USUAL          ORCHESTRATOR_USUAL
#define ACCESS         ORCHESTRATOR_WITH_ACCESS
#define ESCALATED      ORCHESTRATOR_ESCALATED
#define READ_ONLY      EXEC_MODE_READ_ONLY
#define FULL           EXEC_MODE_FULL_ACCESS
#define EXTERNAL       EXEC_MODE_EXTERNAL
#define NO_SANDBOX     (ORCHESTRATOR_MAY_ASK_ALL & ~ORCHESTRATOR_MAY_ASK_SANDBOX)
#define NO_RULES       (ORCHESTRATOR_MAY_ASK_ALL & ~ORCHESTRATOR_MAY_ASK_RULES)
#define NO_PERMISSIONS (ORCHESTRATOR_MAY_ASK_ALL & ~ORCHESTRATOR_MAY_ASK_PERMISSIONS)
#define NO_NETWORK     (ORCHESTRATOR_MAY_ASK_ALL & ~ORCHESTRATOR_MAY_ASK_NETWORK)
#define ALL            ORCHESTRATOR_MAY_ASK_ALL

/* What comes: "run" confined, "open" unconfined, "ask" to run confined, "ask open", "no". */
static const struct {
	const char *rules, *command;
	enum orchestrator_mode mode;
	unsigned int categories;
	enum exec_mode sandbox;
	const char *denied;
	enum orchestrator_confinement confinement;
	const char *want, *reason, *proposal; /* reason: part of it; NULL: any */
} rows[] = {
	/* exec_approval_requirement_prefers_execpolicy_match; justification_is_included_... */
	{ "deny rm because \"no rm\"", "rm x", REQUEST, ALL, READ_ONLY, NULL, USUAL, "no", "no rm",
	  "" },
	{ "ask rm because \"think\"", "rm x", REQUEST, ALL, READ_ONLY, NULL, USUAL, "ask", "think",
	  "" },
	{ "allow cargo", "cargo build", UNTRUSTED, ALL, READ_ONLY, NULL, USUAL, "run", NULL, "" },
	/* evaluates_bash_lc_inner_commands, heredocs */
	{ "deny rm", "bash -lc 'rm x'", REQUEST, ALL, READ_ONLY, NULL, USUAL, "no", NULL, "" },
	{ "allow cat", "bash -lc 'cat <<E\nrm x\nE\n'", UNTRUSTED, ALL, READ_ONLY, NULL, USUAL,
	  "run", NULL, "" },
	{ "allow cat", "bash -lc 'PATH=/evil cat <<E\nE\n'", UNTRUSTED, ALL, READ_ONLY, NULL, USUAL,
	  "ask", NULL, "" },
	/* heredoc_redirect_without_escalation_runs_inside_sandbox, ..._with_escalation_... */
	{ "allow cat", "bash -lc 'cat <<E > f\nE\n'", REQUEST, ALL, READ_ONLY, NULL, USUAL, "run",
	  NULL, "" },
	{ "allow cat", "bash -lc 'cat <<E > f\nE\n'", REQUEST, ALL, READ_ONLY, NULL, ESCALATED,
	  "ask open", NULL, "" },
	/* absolute paths: only the file that a rule means */
	{ "allow git", "/usr/bin/git status", UNTRUSTED, ALL, READ_ONLY, NULL, USUAL, "run", NULL,
	  "" },
	{ "allow cargo\nprogram cargo /opt/cargo", "/usr/bin/cargo build", UNTRUSTED, ALL,
	  READ_ONLY, NULL, USUAL, "ask", NULL, "" },
	/* exec_approval_requirement_respects_approval_policy */
	{ "ask rm", "rm x", NEVER, ALL, READ_ONLY, NULL, USUAL, "no", "asks no questions", "" },
	{ "ask rm", "rm x", NEVER, ALL, FULL, NULL, USUAL, "no", "asks no questions", "" },
	{ "ask rm", "rm x", FAILURE, ALL, READ_ONLY, NULL, USUAL, "ask", "a rule asks", "" },
	/* unmatched_granular_policy_still_prompts_for_restricted_sandbox_escalation */
	{ "", "cargo build", GRANULAR, ALL, READ_ONLY, NULL, ESCALATED, "ask open", NULL, "" },
	/* ..._rejects_unmatched_sandbox_escalation_when_granular_sandbox_is_disabled */
	{ "", "cargo build", GRANULAR, NO_SANDBOX, READ_ONLY, NULL, ESCALATED, "no", NULL, "" },
	{ "", "cargo build", GRANULAR, NO_SANDBOX, READ_ONLY, NULL, USUAL, "run", NULL, "" },
	/* Leaving the sandbox is leaving the gate. */
	{ "", "cargo build", GRANULAR, NO_NETWORK, READ_ONLY, NULL, ESCALATED, "no", NULL, "" },
	/* unmatched_on_request_uses_permission_profile_file_system_policy_for_escalation_prompts */
	{ "", "cargo build", REQUEST, ALL, READ_ONLY, NULL, ESCALATED, "ask open", NULL, "" },
	{ "", "cargo build", REQUEST, ALL, FULL, NULL, ESCALATED, "open", NULL, "" },
	{ "", "cargo build", REQUEST, ALL, FULL, NULL, USUAL, "open", NULL, "" },
	/* Even if another program confines the files, running without the gate is wider. */
	{ "", "cargo build", REQUEST, ALL, EXTERNAL, NULL, USUAL, "run", NULL, "" },
	{ "", "cargo build", REQUEST, ALL, EXTERNAL, NULL, ESCALATED, "ask open", NULL, "" },
	/* known_safe_on_request_still_prompts_for_restricted_sandbox_escalation */
	{ "", "echo x", REQUEST, ALL, READ_ONLY, NULL, ESCALATED, "ask open", NULL, "" },
	{ "", "echo x", GRANULAR, NO_SANDBOX, READ_ONLY, NULL, ESCALATED, "no", NULL, "" },
	{ "", "echo x", UNTRUSTED, ALL, READ_ONLY, NULL, USUAL, "run", NULL, "" },
	{ "", "echo x", UNTRUSTED, ALL, READ_ONLY, NULL, ESCALATED, "ask open", NULL, "" },
	{ "", "cargo build", UNTRUSTED, ALL, READ_ONLY, NULL, USUAL, "ask", NULL,
	  "command allow cargo build" },
	{ "", "cargo build", UNTRUSTED, ALL, FULL, NULL, USUAL, "ask open", NULL, "" },
	{ "", "cargo build", FAILURE, ALL, READ_ONLY, NULL, USUAL, "run", NULL, "" },
	{ "", "cargo build", NEVER, ALL, READ_ONLY, NULL, USUAL, "run", NULL, "" },
	{ "", "cargo build", FAILURE, ALL, READ_ONLY, NULL, ESCALATED, "ask open", NULL, "" },
	/* Nobody to ask, so nothing is widened. */
	{ "", "cargo build", NEVER, ALL, READ_ONLY, NULL, ESCALATED, "no", NULL, "" },
	{ "allow cargo", "cargo build", NEVER, ALL, READ_ONLY, NULL, ESCALATED, "no", NULL, "" },
	{ "", "cargo build", NEVER, ALL, READ_ONLY, NULL, ACCESS, "no", NULL, "" },
	/* exec_approval_requirement_prompts_for_inline_additional_permissions_under_on_request */
	{ "", "cargo build", REQUEST, ALL, READ_ONLY, NULL, ACCESS, "ask", "more access than", "" },
	{ "allow cargo", "cargo build", REQUEST, ALL, READ_ONLY, NULL, ACCESS, "ask",
	  "more access than", "" },
	{ "", "cargo build", GRANULAR, NO_PERMISSIONS, READ_ONLY, NULL, ACCESS, "no", NULL, "" },
	{ "", "cargo build", GRANULAR, NO_SANDBOX, READ_ONLY, NULL, ACCESS, "no", NULL, "" },
	{ "allow cargo", "cargo build", GRANULAR, NO_PERMISSIONS, READ_ONLY, NULL, ACCESS, "no",
	  NULL, "" },
	{ "", "cargo build", REQUEST, ALL, FULL, NULL, ACCESS, "open", NULL, "" },
	/* mixed_rule_and_sandbox_prompt_...: the rule's category decides */
	{ "ask git", "sh -c 'git push && rm -rf x'", GRANULAR, NO_RULES, READ_ONLY, NULL, USUAL,
	  "no", NULL, "" },
	{ "ask git", "sh -c 'git push && rm -rf x'", GRANULAR, NO_SANDBOX, READ_ONLY, NULL, USUAL,
	  "ask", NULL, "" },
	/* dangerous_rm_rf_requires_approval_in_danger_full_access, ..._forbidden_when_... */
	{ "", "rm -rf x", REQUEST, ALL, FULL, NULL, USUAL, "ask open", "dangerous", "" },
	{ "", "rm -rf x", REQUEST, ALL, EXTERNAL, NULL, USUAL, "ask", "dangerous", "" },
	{ "", "rm -rf x", NEVER, ALL, FULL, NULL, USUAL, "no", "dangerous", "" },
	{ "deny rm", "rm -rf x", NEVER, ALL, EXTERNAL, NULL, USUAL, "no", "rule", "" },
	{ "", "rm -rf x", GRANULAR, NO_SANDBOX, READ_ONLY, NULL, USUAL, "no", "dangerous", "" },
	/* heuristics_apply_when_other_commands_match_policy */
	{ "allow cargo", "sh -c 'cargo build; npm ci'", UNTRUSTED, ALL, READ_ONLY, NULL, USUAL,
	  "ask", NULL, "command allow npm ci" },
	/* multi_segment_shell_requires_policy_allow_for_every_segment_to_bypass_sandbox: and it has
	 * to say so, for each */
	{ "allow cargo unconfined", "cargo build", REQUEST, ALL, READ_ONLY, NULL, USUAL, "open",
	  NULL, "" },
	{ "allow cargo unconfined", "cargo build", NEVER, ALL, READ_ONLY, NULL, USUAL, "open", NULL,
	  "" },
	{ "allow cargo unconfined", "cargo build", UNTRUSTED, ALL, READ_ONLY, NULL, ESCALATED,
	  "open", NULL, "" },
	{ "allow cargo unconfined", "cargo build", REQUEST, ALL, READ_ONLY, NULL, ACCESS, "open",
	  NULL, "" },
	{ "allow cargo unconfined\nallow git", "sh -c 'cargo build && git status'", REQUEST, ALL,
	  READ_ONLY, NULL, USUAL, "run", NULL, "" },
	{ "allow cargo unconfined\nallow git unconfined", "sh -c 'cargo build && git status'",
	  REQUEST, ALL, READ_ONLY, NULL, USUAL, "open", NULL, "" },
	{ "allow cargo unconfined", "sh -c 'cargo build && npm ci'", REQUEST, ALL, READ_ONLY, NULL,
	  USUAL, "run", NULL, "" },
	{ "allow cargo", "cargo build", REQUEST, ALL, READ_ONLY, NULL, ESCALATED, "ask open", NULL,
	  "" },
	/* deny_read_blocks_explicit_escalation_and_policy_bypass */
	{ "allow cargo unconfined", "cargo build", REQUEST, ALL, READ_ONLY, "/key", USUAL, "run",
	  NULL, "" },
	{ "", "cargo build", REQUEST, ALL, READ_ONLY, "/key", ESCALATED, "run", NULL, "" },
	{ "", "cargo build", UNTRUSTED, ALL, FULL, "/key", ESCALATED, "ask", NULL,
	  "command allow cargo build" },
	{ "", "cargo build", NEVER, ALL, FULL, "/key", USUAL, "run", NULL, "" },
	/* What is not understood: with rules it may be what they mean. */
	{ "deny rm", "sh -c 'for i in a; do git push; done'", REQUEST, ALL, READ_ONLY, NULL, USUAL,
	  "ask", "not understood", "" },
	{ "deny rm", "sh -c 'for i in a; do git push; done'", NEVER, ALL, READ_ONLY, NULL, USUAL,
	  "no", NULL, "" },
	{ "deny rm", "sh -c 'for i in a; do rm x; done'", REQUEST, ALL, READ_ONLY, NULL, USUAL,
	  "no", NULL, "" },
	/* A rule that asks is about what is seen. */
	{ "ask git push", "sh -c 'for i in a; do cargo build; done'", REQUEST, ALL, READ_ONLY, NULL,
	  USUAL, "run", NULL, "" },
	{ "ask git push\nallow cargo", "sh -c 'echo $HOME'", NEVER, ALL, READ_ONLY, NULL, USUAL,
	  "run", NULL, "" },
	{ "ask git push", "sh -c 'echo $HOME'", FAILURE, ALL, READ_ONLY, NULL, USUAL, "run", NULL,
	  "" },
	{ "ask git push", "sh -c 'echo $HOME'", UNTRUSTED, ALL, READ_ONLY, NULL, USUAL, "ask", NULL,
	  "" },
	{ "ask git push", "sh -c 'echo $HOME'", REQUEST, ALL, FULL, NULL, USUAL, "ask open",
	  "not understood", "" },
	{ "ask git push", "sh -c 'echo $HOME'", REQUEST, ALL, READ_ONLY, NULL, ESCALATED,
	  "ask open", NULL, "" },
	{ "ask git push", "sh -c 'for i in a; do git push; done'", REQUEST, ALL, READ_ONLY, NULL,
	  USUAL, "ask", "a rule asks", "" },
	{ "ask git push", "sh -c 'git push $HOME'", NEVER, ALL, READ_ONLY, NULL, USUAL, "no", NULL,
	  "" },
	{ "ask git push", "sh -c 'rm -rf $HOME'", REQUEST, ALL, READ_ONLY, NULL, USUAL, "ask",
	  "dangerous", "" },
	{ "", "sh -c 'for i in a; do cargo build; done'", REQUEST, ALL, READ_ONLY, NULL, USUAL,
	  "run", NULL, "" },
	{ "", "sh -c 'for i in a; do cargo build; done'", UNTRUSTED, ALL, READ_ONLY, NULL, USUAL,
	  "ask", NULL, "" },
	{ "", "sh -c ''", UNTRUSTED, ALL, READ_ONLY, NULL, USUAL, "ask", NULL, "" },
	{ "", "sh -c ' '", UNTRUSTED, ALL, READ_ONLY, NULL, USUAL, "ask", NULL, "" },
};

static const char *what_came(const struct rig *of)
{
	if (of->result_count > 0)
		return "no";
	if (of->question_count > 0)
		return of->questions[0].is_confined ? "ask" : "ask open";
	return of->execs[0].is_confined ? "run" : "open";
}

START_TEST(row)
{
	const struct orchestrator_access access = { .what = ORCHESTRATOR_WRITE_PATH,
						    .name = "/etc/x" };

	rig_init(&rig, rows[_i].mode);
	rig.config.categories = rows[_i].categories;
	rig_rules(&rig, rows[_i].rules);
	rig_open(&rig);
	struct exec_sandbox *sandbox =
		rig_sandbox(rows[_i].sandbox, EXEC_NETWORK_RESTRICTED, rows[_i].denied);

	rig.request.sandbox = sandbox;
	rig.request.confinement = rows[_i].confinement;
	if (rows[_i].confinement == ORCHESTRATOR_WITH_ACCESS) {
		rig.request.accesses = &access;
		rig.request.access_count = 1;
	}
	rig_exec(&rig, rows[_i].command);
	ck_assert_uint_eq(rig.question_count + rig.exec_count + rig.result_count, 1);
	ck_assert_str_eq(what_came(&rig), rows[_i].want);
	const char *reason = rig.result_count     ? rig.results[0].why
			     : rig.question_count ? rig.questions[0].reason
						  : "";

	if (rows[_i].reason)
		ck_assert_msg(strstr(reason, rows[_i].reason), "%s", reason);
	ck_assert_str_eq(rig.questions[0].proposal, rows[_i].proposal);
	exec_sandbox_free(sandbox);
	rig_done(&rig);
}
END_TEST

/* What it executes is judged again: then a denial cannot be passed either, and nobody is asked. */
START_TEST(programs_are_judged)
{
	rig_init(&rig, REQUEST);
	rig_rules(&rig, "deny rm\nask git push");
	rig.config.judges_programs = _i;
	rig_open(&rig);
	rig_exec(&rig, "sh -c 'echo $HOME'");
	ck_assert_str_eq(what_came(&rig), _i ? "run" : "ask");
	rig_done(&rig);
	rig_init(&rig, REQUEST);
	rig_rules(&rig, "deny rm");
	rig.config.judges_programs = true;
	rig_open(&rig);
	rig_exec(&rig, "sh -c 'rm $HOME/x'");
	ck_assert_str_eq(what_came(&rig), "no");
	rig_done(&rig);
}
END_TEST

/* Where no command may leave its sandbox no rule lets one, and it is said. */
START_TEST(held_by_its_session)
{
	rig_init(&rig, REQUEST);
	rig_rules(&rig, "allow cargo unconfined");
	rig.config.may_leave_by_rule = false;
	rig_open(&rig);
	rig_exec(&rig, "cargo build");
	ck_assert_str_eq(what_came(&rig), "run");
	rig_exit(&rig, 0, 0);
	ck_assert_msg(strstr(rig_ended(&rig)->note, "although a rule allows it") != NULL, "%s",
		      rig_ended(&rig)->note);
	rig_done(&rig);
}
END_TEST

/* What is set for the request alone is part of it: what could change the command is in no rule that
 * allows it, as in a script; a denial stands. */
static const struct {
	const char *rules, *command, *variable;
	enum orchestrator_mode mode;
	enum orchestrator_confinement confinement;
	const char *want, *proposal;
} variables[] = {
	{ "allow cargo", "cargo build", "LANG=C", UNTRUSTED, USUAL, "run", "" },
	{ "allow cargo", "cargo build", "LD_PRELOAD=x", UNTRUSTED, USUAL, "ask", "" },
	{ "allow cargo", "cargo build", "LANG=/x", UNTRUSTED, USUAL, "ask", "" },
	{ "allow cargo", "cargo build", "PATH", UNTRUSTED, USUAL, "run", "" },
	{ "allow cargo unconfined", "cargo build", "TERM=x", REQUEST, USUAL, "open", "" },
	{ "allow cargo unconfined", "cargo build", "RUSTC=x", REQUEST, USUAL, "run", "" },
	{ "allow cargo unconfined", "cargo build", "RUSTC=x", REQUEST, ESCALATED, "ask open", "" },
	{ "allow cargo unconfined", "cargo build", "RUSTC=x", NEVER, ESCALATED, "no", "" },
	{ "", "echo x", "LD_PRELOAD=x", UNTRUSTED, USUAL, "ask", "" },
	{ "", "echo x", "TERM=1", UNTRUSTED, USUAL, "run", "" },
	{ "", "cargo build", "RUSTC=x", UNTRUSTED, USUAL, "ask", "" },
	{ "", "cargo build", "LANG=C", UNTRUSTED, USUAL, "ask", "command allow cargo build" },
	{ "", "cargo build", "RUSTC=x", NEVER, USUAL, "run", "" },
	{ "deny cargo", "cargo build", "RUSTC=x", REQUEST, USUAL, "no", "" },
	{ "ask cargo", "cargo build", "RUSTC=x", REQUEST, USUAL, "ask", "" },
};
START_TEST(variable)
{
	const char *const env[] = { "NO_COLOR=1", variables[_i].variable, NULL };

	rig_init(&rig, variables[_i].mode);
	rig_rules(&rig, variables[_i].rules);
	rig_open(&rig);
	rig.request.confinement = variables[_i].confinement;
	rig.request.env = env;
	rig_exec(&rig, variables[_i].command);
	ck_assert_str_eq(what_came(&rig), variables[_i].want);
	ck_assert_str_eq(rig.questions[0].proposal, variables[_i].proposal);
	rig_done(&rig);
}
END_TEST

/* managed_cwd_write_profile_has_filesystem_restrictions and its like: a split sandbox confines by
 * what it says, not by its name. */
static const struct {
	struct exec_entry entries[3];
	enum exec_network network;
	const char *usual, *escalated;
} splits[] = {
	{ { { "/", EXEC_READ }, { "/work", EXEC_WRITE } }, 0, "run", "ask open" },
	{ { { "/", EXEC_READ }, { "/nowhere/at/all", EXEC_WRITE } }, 0, "run", "ask open" },
	{ { { "/work", EXEC_WRITE } }, EXEC_NETWORK_ENABLED, "run", "ask open" },
	{ { { "/", EXEC_WRITE } }, EXEC_NETWORK_ENABLED, "open", "open" },
	{ { { "/", EXEC_WRITE } }, EXEC_NETWORK_RESTRICTED, "run", "ask open" },
	{ { { "/", EXEC_WRITE }, { "/etc", EXEC_READ } }, EXEC_NETWORK_ENABLED, "run", "ask open" },
	{ { { "/", EXEC_WRITE }, { "/key", EXEC_DENY } }, EXEC_NETWORK_ENABLED, "run", "run" },
};
START_TEST(split)
{
	struct exec_sandbox_config config = { .mode = EXEC_MODE_SPLIT,
					      .network = splits[_i].network,
					      .cwd = "/work",
					      .entries = splits[_i].entries };
	struct err why = { 0 };

	while (config.entry_count < ARRAY_SIZE(splits[_i].entries) &&
	       splits[_i].entries[config.entry_count].path)
		config.entry_count++;
	for (int i = 0; i < 2; i++) {
		rig_init(&rig, ORCHESTRATOR_ON_REQUEST);
		rig_open(&rig);
		struct exec_sandbox *sandbox = exec_sandbox_new(&config, &why);

		ck_assert_msg(sandbox, "%s", why.text);
		rig.request.sandbox = sandbox;
		rig.request.confinement = i == 0 ? USUAL : ESCALATED;
		rig_exec(&rig, "cargo build");
		exec_sandbox_free(sandbox);
		ck_assert_str_eq(what_came(&rig), i == 0 ? splits[_i].usual : splits[_i].escalated);
		rig_done(&rig);
	}
}
END_TEST

/* What is asked for by name is granted by name, to this request. */
static const struct {
	struct orchestrator_access access;
	const char *asked;
	bool is_in_sandbox;
} accesses[] = {
	{ { ORCHESTRATOR_WRITE_PATH, "/etc/x", NULL, 0 }, "write /etc/x", true },
	{ { ORCHESTRATOR_READ_PATH, "/run/x", NULL, 0 }, "read /run/x", true },
	{ { ORCHESTRATOR_SOCKET, "/run/x", NULL, 0 }, "socket /run/x", true },
	{ { ORCHESTRATOR_DESTINATION, "a.test", "tcp", 22 }, "tcp://a.test:22", false },
};
START_TEST(access_by_name)
{
	rig_init(&rig, ORCHESTRATOR_ON_REQUEST);
	rig_open(&rig);
	rig.request.confinement = ORCHESTRATOR_WITH_ACCESS;
	rig.request.accesses = &accesses[_i].access;
	rig.request.access_count = 1;
	rig_exec(&rig, "cargo build");
	ck_assert_str_eq(rig_asked(&rig)->accesses, accesses[_i].asked);
	ck_assert(words_equal(rig_asked(&rig)->sandbox, rig.sandbox) != accesses[_i].is_in_sandbox);
	/* For this once: nothing to remember. */
	ck_assert_uint_eq(rig_asked(&rig)->choices, BIT(ORCHESTRATOR_ONCE) |
							    BIT(ORCHESTRATOR_DENY) |
							    BIT(ORCHESTRATOR_ABORT));
	rig_answer(&rig, 0, ORCHESTRATOR_ONCE);
	ck_assert_str_eq(rig_started(&rig)->accesses, accesses[_i].asked);
	ck_assert(words_equal(rig_started(&rig)->sandbox, rig.questions[0].sandbox));
	rig_exit(&rig, 0, 0);
	/* The next request has to ask again. */
	rig_exec(&rig, "cargo build");
	ck_assert_uint_eq(rig.question_count, 2);
	rig_done(&rig);
}
END_TEST

/* What the sandbox gives already is not asked for. */
START_TEST(access_that_is_there)
{
	const struct orchestrator_access access = { .what = ORCHESTRATOR_WRITE_PATH,
						    .name = "/work/out" };

	rig_init(&rig, ORCHESTRATOR_ON_REQUEST);
	rig_open(&rig);
	rig.request.confinement = ORCHESTRATOR_WITH_ACCESS;
	rig.request.accesses = &access;
	rig.request.access_count = 1;
	rig_exec(&rig, "cargo build");
	ck_assert_uint_eq(rig.question_count, 0);
	ck_assert(words_equal(rig_started(&rig)->sandbox, rig.sandbox));
	rig_done(&rig);
}
END_TEST

/* More network, where the network is not asked about. */
START_TEST(access_of_a_category_that_is_off)
{
	const struct orchestrator_access access = { ORCHESTRATOR_DESTINATION, "a.test", "https",
						    443 };

	rig_init(&rig, ORCHESTRATOR_GRANULAR);
	rig.config.categories = NO_NETWORK;
	rig_open(&rig);
	rig.request.confinement = ORCHESTRATOR_WITH_ACCESS;
	rig.request.accesses = &access;
	rig.request.access_count = 1;
	rig_exec(&rig, "cargo build");
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_REJECTED_BY_RULE);
	rig_done(&rig);
}
END_TEST

/* It is not silent about what it did not do. */
START_TEST(wish_that_is_not_met_is_said)
{
	rig_init(&rig, ORCHESTRATOR_ON_REQUEST);
	rig_open(&rig);
	struct exec_sandbox *sandbox =
		rig_sandbox(EXEC_MODE_READ_ONLY, EXEC_NETWORK_RESTRICTED, "/key");

	rig.request.sandbox = sandbox;
	rig.request.confinement = ORCHESTRATOR_ESCALATED;
	rig_exec(&rig, "cargo build");
	exec_sandbox_free(sandbox);
	rig_exit(&rig, 0, 0);
	ck_assert(strstr(rig_ended(&rig)->note, "the command runs in its sandbox, because"));
	rig_done(&rig);
}
END_TEST

TCase *commands_cases(void)
{
	TCase *cases = tcase_create("commands");

	tcase_add_loop_test(cases, row, 0, ARRAY_SIZE(rows));
	tcase_add_test(cases, held_by_its_session);
	tcase_add_loop_test(cases, programs_are_judged, 0, 2);
	tcase_add_loop_test(cases, variable, 0, ARRAY_SIZE(variables));
	tcase_add_loop_test(cases, split, 0, ARRAY_SIZE(splits));
	tcase_add_loop_test(cases, access_by_name, 0, ARRAY_SIZE(accesses));
	tcase_add_test(cases, access_that_is_there);
	tcase_add_test(cases, access_of_a_category_that_is_off);
	tcase_add_test(cases, wish_that_is_not_met_is_said);
	return cases;
}
