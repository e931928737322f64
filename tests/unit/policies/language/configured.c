#include "policies/configured/configured.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "tests/unit/policies/policies_test.h"

/* A machine: npm has a registry and one scope, pip has nothing, git's file is the project's. */
static int read_file(const char *path, char **ret_text, size_t *ret_len, void *arg, struct err *why)
{
	static const struct {
		const char *path, *text;
	} files[] = {
		{ "/home/ana/.npmrc",
		  "registry=https://npm.test/\n@a:registry=http://10.0.0.1/\n" },
		{ "/home/ana/p/.git/config", "[remote \"o\"]\n\turl = https://git.test/x\n" },
		{ "/home/ana/.cargo/config.toml", "[source.x]\nregistry = https://*.test\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (strcmp(files[i].path, path) != 0)
			continue;
		*ret_text = mem_strdup(files[i].text);
		*ret_len = strlen(*ret_text);
		return 0;
	}
	return -ENOENT;
}

static int ask(const char *const *argv, char **ret_output, void *arg, struct err *why)
{
	size_t *count = arg;

	(*count)++;
	return err_set(why, -ENOENT, "it is not installed");
}

static int trust_all(const char *path, const void *bytes, size_t len, void *arg)
{
	ck_assert_str_eq(path, "/home/ana/p/.git/config");
	ck_assert_ptr_nonnull(memmem(bytes, len, "git.test", 8));
	return POLICY_TRUSTED_NOW;
}

static int trust_changed(const char *path, const void *bytes, size_t len, void *arg)
{
	return POLICY_CHANGED;
}

struct machine {
	size_t asked;
	struct configured_environment environment;
};

static void machine_init(struct machine *machine)
{
	*machine = (struct machine){ .environment = { .home = "/home/ana",
						      .cwd = "/home/ana/p",
						      .tells_all = true,
						      .ask = ask,
						      .read = read_file,
						      .arg = &machine->asked } };
}

static int load(struct policy *policy, struct machine *machine, const char *text,
		enum policy_layer layer)
{
	machine_init(machine);
	policy_set_environment(policy, &machine->environment);
	int r = policy_load_text_layer(policy, "p", text, layer);

	policy_set_environment(policy, NULL);
	return r < 0 ? r : policy_finish(policy);
}

/* What a tool is configured to use, and the policy has read, has no warning: exactly that. */
static const struct {
	const char *text, *request;
	bool is_known;
} known[] = {
	{ "ask configured npm", "https://npm.test:443", true },
	{ "ask configured npm", "http://10.0.0.1:80", true },
	{ "ask configured npm", "https://npm.test:8443", false },
	{ "ask configured npm", "http://npm.test:80", false },
	{ "ask configured npm", "https://a.npm.test:443", false },
	{ "ask configured pip", "https://npm.test:443", false },
	{ "ask configured git", "https://git.test:443", false }, /* it is not trusted */
	{ "ask *", "https://npm.test:443", false },
};

START_TEST(knows_what_is_configured)
{
	struct policy *policy = policy_new();
	struct machine machine;
	struct policy_destination dst;

	ck_assert_int_eq(load(policy, &machine, known[_i].text, POLICY_USER), 0);
	ck_assert_int_eq(policy_destination_parse(known[_i].request, &dst, NULL), 0);
	ck_assert_int_eq(policy_is_configured(policy, &dst), known[_i].is_known);
	policy_free(policy);
}
END_TEST

static const struct {
	const char *text, *request;
	enum policy_action want;
	const char *rule; /* begins so */
} decided[] = {
	{ "\nallow configured npm # c", "npm.test", POLICY_ALLOW,
	  "p:2: allow https://npm.test:443   # configured npm: /home/ana/.npmrc:1" },
	{ "default deny\nallow configured npm", "http://npm.test", POLICY_DENY, "" },
	{ "default deny\nallow configured npm", "tcp://npm.test:8443", POLICY_DENY, "" },
	{ "ask configured npm because \"why\"", "10.0.0.1:80", POLICY_ASK,
	  "p:1: ask http://10.0.0.1:80 because \"why\"   # configured npm: /home/ana/.npmrc:2" },
	{ "allow *\ndeny configured npm", "npm.test", POLICY_DENY, "p:2: deny https://npm.test" },
	{ "include preset npm", "npm.test", POLICY_ALLOW,
	  "preset npm:7: allow https://npm.test:443 private   # configured npm:" },
	{ "include preset npm\ninclude preset npm", "npm.test", POLICY_ALLOW, "preset npm:7:" },
	{ "default deny\nallow configured npm except 10.0.0.0/8", "10.0.0.1:80", POLICY_DENY, "" },
	{ "default deny\nallow configured npm except 10.0.0.0/8", "npm.test", POLICY_ALLOW,
	  "p:2:" },
	{ "deny * except configured npm", "npm.test", POLICY_ASK, "" },
	{ "deny * except configured npm", "other.test", POLICY_DENY, "p:1: deny *" },
	{ "allow configured pip", "npm.test", POLICY_ASK, "" },
	{ "allow configured git", "git.test", POLICY_ASK, "" }, /* it is not trusted */
	{ "include preset baseline\nallow *", "x.pastebin.com", POLICY_DENY, "preset baseline:" },
};

START_TEST(decides)
{
	struct policy *policy = policy_new();
	struct machine machine;
	struct policy_verdict verdict;

	policy_set_default(policy, POLICY_ASK);
	if (strncmp(decided[_i].text, "default deny", 12) == 0)
		policy_set_default(policy, POLICY_DENY);
	ck_assert_msg(load(policy, &machine, decided[_i].text, POLICY_USER) == 0, "%s",
		      policy_errors(policy));
	policies_test_decide(policy, decided[_i].request, &verdict);
	ck_assert_msg(verdict.action == decided[_i].want, "%d: %s %s", _i,
		      policy_action_name(verdict.action), verdict.rule);
	ck_assert_msg(strncmp(verdict.rule, decided[_i].rule, strlen(decided[_i].rule)) == 0,
		      "%d: %s", _i, verdict.rule);
	policy_free(policy);
}
END_TEST

static const struct {
	const char *text, *words;
} refused[] = {
	/* a line that denies or excepts nothing is an error */
	{ "deny configured pip", "p:1:6: error: pip is not configured to use any host here" },
	{ "allow * except configured pip",
	  "p:1:16: error: pip is not configured to use any host here" },
	{ "deny configured git", "p:1:6: error: git is not configured to use any host here" },
	{ "deny b.test except configured npm", "p:1:20: error: no host that npm is configured to "
					       "use lies within this rule's destination" },
	{ "allow configured npm except b.test",
	  "the exception lies outside of its rule's destination" },
	{ "allow configured npm privat", "p:1:22: error: unknown clause \"privat\"" },
	{ "allow configured cargo", "p:1:7: error: the configuration of cargo cannot be read: "
				    "/home/ana/.cargo/config.toml:2" },
};

START_TEST(refuses)
{
	struct policy *policy = policy_new();
	struct machine machine;

	ck_assert_int_lt(load(policy, &machine, refused[_i].text, POLICY_USER), 0);
	ck_assert_uint_eq(policy_error_count(policy), 1);
	ck_assert_msg(strstr(policy_errors(policy), refused[_i].words), "%s",
		      policy_errors(policy));
	policy_free(policy);
}
END_TEST

/* A tool is run once, and a missing answer is noted once. */
START_TEST(asks_once)
{
	struct policy *policy = policy_new();
	struct machine machine;

	ck_assert_int_eq(load(policy, &machine,
			      "allow configured go\nask configured go\ninclude preset go",
			      POLICY_USER),
			 0);
	ck_assert_uint_gt(machine.asked, 0);
	size_t asked = machine.asked;
	const char *note = strstr(policy_notes(policy), "go could not be asked for its default");

	ck_assert_ptr_nonnull(note);
	policy_free(policy);
	policy = policy_new();
	ck_assert_int_eq(load(policy, &machine, "allow configured go", POLICY_USER), 0);
	ck_assert_uint_eq(machine.asked, asked);
	policy_free(policy);
}
END_TEST

/* A project's file, or a preset it includes, does not widen; what the user includes too, does. */
START_TEST(a_projects_preset_only_narrows)
{
	struct policy *policy = policy_new();
	struct machine machine;
	struct policy_verdict verdict;

	policy_set_default(policy, POLICY_DENY);
	ck_assert_int_eq(load(policy, &machine,
			      "include preset npm\ninclude preset github\nallow configured npm",
			      POLICY_PROJECT),
			 0);
	policies_test_decide(policy, "npm.test", &verdict);
	ck_assert_int_eq(verdict.action, POLICY_DENY);
	policies_test_decide(policy, "github.com", &verdict);
	ck_assert_int_eq(verdict.action, POLICY_DENY);
	ck_assert_int_eq(load(policy, &machine, "include preset npm", POLICY_USER), 0);
	policies_test_decide(policy, "npm.test", &verdict);
	ck_assert_int_eq(verdict.action, POLICY_ALLOW);
	policies_test_decide(policy, "github.com", &verdict);
	ck_assert_int_eq(verdict.action, POLICY_DENY);
	policy_free(policy);
}
END_TEST

/* A file in the command's reach counts by its bytes alone. */
START_TEST(trust_is_by_the_bytes)
{
	for (int is_trusted = 0; is_trusted < 2; is_trusted++) {
		struct policy *policy = policy_new();
		struct machine machine;
		struct policy_verdict verdict;

		policy_set_default(policy, POLICY_DENY);
		policy_set_trust(policy, is_trusted ? trust_all : trust_changed, NULL);
		ck_assert_int_eq(load(policy, &machine, "allow configured git", POLICY_USER), 0);
		policies_test_decide(policy, "git.test", &verdict);
		ck_assert_int_eq(verdict.action, is_trusted ? POLICY_ALLOW : POLICY_DENY);
		ck_assert_ptr_null(policy_configured_file(policy, 0));
		if (!is_trusted)
			ck_assert_ptr_nonnull(
				strstr(policy_notes(policy), "its current content is not trusted"));
		policy_free(policy);
	}
}
END_TEST

START_TEST(only_by_the_managed_layer)
{
	struct policy *policy = policy_new();
	struct machine machine;
	struct policy_verdict verdict;

	ck_assert_int_eq(
		load(policy, &machine, "only configured npm b.test\nallow *", POLICY_MANAGED), 0);
	policies_test_decide(policy, "npm.test", &verdict);
	ck_assert_int_eq(verdict.action, POLICY_ALLOW);
	ck_assert_str_eq(policy_configured_file(policy, 0), "/home/ana/.npmrc");
	ck_assert_ptr_null(policy_configured_file(policy, 1));
	policies_test_decide(policy, "b.test", &verdict);
	ck_assert_int_eq(verdict.action, POLICY_ALLOW);
	policies_test_decide(policy, "c.test", &verdict);
	ck_assert_int_eq(verdict.reason, POLICY_OUTSIDE_ONLY);
	policy_free(policy);
}
END_TEST

TCase *configured_cases(void)
{
	TCase *cases = tcase_create("configured");

	tcase_add_loop_test(cases, knows_what_is_configured, 0, ARRAY_SIZE(known));
	tcase_add_loop_test(cases, decides, 0, ARRAY_SIZE(decided));
	tcase_add_loop_test(cases, refuses, 0, ARRAY_SIZE(refused));
	tcase_add_test(cases, asks_once);
	tcase_add_test(cases, a_projects_preset_only_narrows);
	tcase_add_test(cases, trust_is_by_the_bytes);
	tcase_add_test(cases, only_by_the_managed_layer);
	return cases;
}
