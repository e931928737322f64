/* The values: modes as people write them, and possible and impossible accesses. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "exec/orchestrator/judging/access.h"
#include "tests/unit/exec/orchestrator/rig.h"

#define SANDBOX     ORCHESTRATOR_MAY_ASK_SANDBOX
#define RULES       ORCHESTRATOR_MAY_ASK_RULES
#define PERMISSIONS ORCHESTRATOR_MAY_ASK_PERMISSIONS
#define ELICITATION ORCHESTRATOR_MAY_ASK_ELICITATION
#define NETWORK     ORCHESTRATOR_MAY_ASK_NETWORK
#define ALL         ORCHESTRATOR_MAY_ASK_ALL

static const struct {
	const char *text;
	int r;
	enum orchestrator_mode mode;
	unsigned int categories;
} modes[] = {
	{ "untrusted", 0, ORCHESTRATOR_UNTRUSTED, ALL },
	{ "on-request", 0, ORCHESTRATOR_ON_REQUEST, ALL },
	{ "on-failure", 0, ORCHESTRATOR_ON_FAILURE, ALL },
	{ "never", 0, ORCHESTRATOR_NEVER, ALL },
	{ "granular:", 0, ORCHESTRATOR_GRANULAR, 0 },
	{ "granular:sandbox", 0, ORCHESTRATOR_GRANULAR, SANDBOX },
	{ "granular:sandbox,rules,permissions,elicitation,network", 0, ORCHESTRATOR_GRANULAR, ALL },
	{ "granular:network,network", 0, ORCHESTRATOR_GRANULAR, NETWORK },
	/* The older spelling says what may not be asked. */
	{ "reject:", 0, ORCHESTRATOR_GRANULAR, ALL },
	{ "reject:sandbox", 0, ORCHESTRATOR_GRANULAR, RULES | PERMISSIONS | ELICITATION | NETWORK },
	{ "reject:rules,sandbox,permissions,elicitation,network", 0, ORCHESTRATOR_GRANULAR, 0 },
	{ "", -EINVAL, 0, 0 },
	{ "always", -EINVAL, 0, 0 },
	{ "Never", -EINVAL, 0, 0 },
	{ "granular", -EINVAL, 0, 0 },
	{ "granular:git", -EINVAL, 0, 0 },
	{ "granular:sandbox,", -EINVAL, 0, 0 },
	{ "granular:,sandbox", -EINVAL, 0, 0 },
	{ "granular:sandbox rules", -EINVAL, 0, 0 },
	{ "reject:x", -EINVAL, 0, 0 },
	{ "never:sandbox", -EINVAL, 0, 0 },
};
START_TEST(mode)
{
	enum orchestrator_mode got = ORCHESTRATOR_NEVER;
	unsigned int categories = 0;
	struct err why = { 0 };

	ck_assert_int_eq(orchestrator_mode_parse(modes[_i].text, &got, &categories, &why),
			 modes[_i].r);
	ck_assert_int_eq(got, modes[_i].mode);
	ck_assert_uint_eq(categories, modes[_i].categories);
	ck_assert((why.text[0] != '\0') == (modes[_i].r < 0));
}
END_TEST

static const struct {
	struct orchestrator_access access;
	int r;
	const char *text, *line;
} accesses[] = {
	{ { ORCHESTRATOR_WRITE_PATH, "/a b", NULL, 0 }, 0, "write /a b", NULL },
	{ { ORCHESTRATOR_DESTINATION, "a.test", "https", 443 },
	  0,
	  "https://a.test:443",
	  "deny https://a.test:443" },
	{ { ORCHESTRATOR_DESTINATION, "2001:db8::1", "tcp", 22 },
	  0,
	  "tcp://[2001:db8::1]:22",
	  "deny tcp://[2001:db8::1]:22" },
	{ { ORCHESTRATOR_PROGRAM, "/opt/x", NULL, 0 }, 0, "program /opt/x", NULL },
	{ { ORCHESTRATOR_WRITE_PATH, "a", NULL, 0 }, -EINVAL, "write a", NULL },
	{ { ORCHESTRATOR_READ_PATH, "", NULL, 0 }, -EINVAL, "read ", NULL },
	{ { ORCHESTRATOR_SYSTEM_CALL, "ptrace", NULL, 0 }, -EINVAL, "system call ptrace", NULL },
	/* A line of the policy would be made of it. */
	{ { ORCHESTRATOR_DESTINATION, "a.test\nallow *", "https", 443 },
	  -EINVAL,
	  "https://a.test\nallow *:443",
	  NULL },
	{ { ORCHESTRATOR_DESTINATION, "*", "https", 443 }, -EINVAL, "https://*:443", NULL },
	{ { ORCHESTRATOR_DESTINATION, "A.test", "https", 443 },
	  -EINVAL,
	  "https://A.test:443",
	  NULL },
	{ { ORCHESTRATOR_DESTINATION, "", "https", 443 }, -EINVAL, "https://:443", NULL },
	{ { ORCHESTRATOR_DESTINATION, "a.test", "gopher", 70 },
	  -EINVAL,
	  "gopher://a.test:70",
	  NULL },
	{ { ORCHESTRATOR_DESTINATION, "a.test", NULL, 443 }, -EINVAL, "network a.test", NULL },
	{ { ORCHESTRATOR_DESTINATION, "a.test", "https", 0 }, -EINVAL, "https://a.test:0", NULL },
};
START_TEST(access_words)
{
	const struct orchestrator_access *access = &accesses[_i].access;
	auto_free char *text = access_text(access), *line = access_line(access, true);

	ck_assert_int_eq(access_check(access, NULL), accesses[_i].r);
	ck_assert_str_eq(text, accesses[_i].text);
	ck_assert_ptr_eq(line ? "" : NULL, accesses[_i].line ? "" : NULL);
	if (line)
		ck_assert_str_eq(line, accesses[_i].line);
}
END_TEST

START_TEST(lists_hold_each_once)
{
	struct access_list list = { 0 };
	char name[16] = "/0";

	for (int i = 0; i < ORCHESTRATOR_ACCESSES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "/%d", i);
		ck_assert(access_add(&list, &(struct orchestrator_access){ .name = name }));
	}
	ck_assert(access_add(&list, &(struct orchestrator_access){ .name = "/0" }));
	ck_assert(!access_add(&list, &(struct orchestrator_access){ .name = "/x" }));
	ck_assert(!access_has(&list, &(struct orchestrator_access){ .what = ORCHESTRATOR_READ_PATH,
								    .name = "/0" }));
	access_done(&list);
}
END_TEST

/* Requests that cannot be. */
static struct rig rig;
static const struct orchestrator_access path = { .what = ORCHESTRATOR_WRITE_PATH, .name = "/x" },
					host = { ORCHESTRATOR_DESTINATION, "a.test", "https", 443 },
					system_call = { .what = ORCHESTRATOR_SYSTEM_CALL,
							.name = "x" };
static void break_request(struct orchestrator_request *request, int how)
{
	static const char *const none[] = { NULL };

	switch (how) {
	case 0:
		request->kind = ORCHESTRATOR_KINDS;
		break;
	case 1:
		request->done = NULL;
		break;
	case 2:
		request->argv = none;
		break;
	case 3:
		request->argv = NULL;
		break;
	case 4:
		request->sandbox = NULL;
		break;
	case 5:
		request->cwd = "work";
		break;
	case 6:
		request->cwd = NULL;
		break;
	case 7:
		request->confinement = 9;
		break;
	case 8:
		request->confinement = ORCHESTRATOR_WITH_ACCESS; /* to nothing */
		break;
	case 9:
		request->accesses = &path; /* not asked for */
		request->access_count = 1;
		break;
	case 10:
		request->on_denial = 9;
		break;
	case 11:
		request->exec = 1;
		break;
	case 12:
		request->kind = ORCHESTRATOR_NETWORK; /* is of questions only */
		request->accesses = &host;
		request->access_count = 1;
		break;
	case 13:
		request->kind = ORCHESTRATOR_PERMISSIONS;
		break;
	case 14:
		request->kind = ORCHESTRATOR_ELICITATION;
		request->accesses = &path;
		request->access_count = 1;
		break;
	case 15:
		request->kind = ORCHESTRATOR_PERMISSIONS;
		request->accesses = &system_call;
		request->access_count = 1;
		break;
	default:
		request->kind = ORCHESTRATOR_PERMISSIONS;
		request->accesses = &path;
		request->access_count = 1;
		request->exec = 77; /* there is none */
		break;
	}
}
START_TEST(refused_request)
{
	struct err why = { 0 };
	uint64_t number = 0;

	rig_init(&rig, ORCHESTRATOR_ON_FAILURE);
	rig_open(&rig);
	rig.request.argv = (const char *const[]){ "cargo", NULL };
	break_request(&rig.request, _i);
	ck_assert_int_eq(orchestrator_start(rig.orchestrator, &rig.request, &number, &why),
			 -EINVAL);
	ck_assert_str_ne(why.text, "");
	ck_assert_uint_eq(number, 0);
	loop_step(rig.loop);
	ck_assert_uint_eq(rig.exec_count + rig.question_count + rig.result_count, 0);
	rig_done(&rig);
}
END_TEST

START_TEST(too_large)
{
	auto_free char *word = mem_new((256 << 10) + 1);
	const char *const argv[] = { "cargo", word, NULL };
	struct err why = { 0 };
	uint64_t number;

	memset(word, 'x', 256 << 10);
	rig_init(&rig, ORCHESTRATOR_ON_FAILURE);
	rig_open(&rig);
	rig.request.argv = argv;
	if (_i == 1) {
		word[1] = '\0';
		rig.request.key_count = ORCHESTRATOR_KEYS_MAX + 1;
	} else if (_i == 2) {
		word[1] = '\0';
		rig.request.confinement = ORCHESTRATOR_WITH_ACCESS;
		rig.request.access_count = ORCHESTRATOR_ACCESSES_MAX + 1;
	}
	ck_assert_int_eq(orchestrator_start(rig.orchestrator, &rig.request, &number, &why), -E2BIG);
	rig_done(&rig);
}
END_TEST

START_TEST(too_many)
{
	struct err why = { 0 };
	uint64_t number;

	rig_init(&rig, ORCHESTRATOR_UNTRUSTED);
	rig_open(&rig);
	rig.request.argv = (const char *const[]){ "cargo", NULL };
	for (int i = 0; i < ORCHESTRATOR_REQUESTS_MAX; i++)
		ck_assert_int_eq(orchestrator_start(rig.orchestrator, &rig.request, &number, &why),
				 0);
	ck_assert_int_eq(orchestrator_start(rig.orchestrator, &rig.request, &number, &why), -EBUSY);
	rig_done(&rig);
}
END_TEST

/* Nothing that was given has to live on: the sanitizer sees whether anything is looked at again. */
START_TEST(requests_are_copied)
{
	char *name = mem_strdup("/etc/x"), *word = mem_strdup("cargo"), *cwd = mem_strdup("/work");
	struct orchestrator_access *access = mem_new(sizeof(*access));
	const char **argv = mem_new_array(2, sizeof(*argv));
	struct err why = { 0 };
	uint64_t number;

	rig_init(&rig, ORCHESTRATOR_ON_REQUEST);
	rig_open(&rig);
	struct exec_sandbox *sandbox = exec_sandbox_copy(rig.sandbox);

	*access = (struct orchestrator_access){ .what = ORCHESTRATOR_WRITE_PATH, .name = name };
	argv[0] = word;
	rig.request.argv = argv;
	rig.request.cwd = cwd;
	rig.request.sandbox = sandbox;
	rig.request.confinement = ORCHESTRATOR_WITH_ACCESS;
	rig.request.accesses = access;
	rig.request.access_count = 1;
	ck_assert_int_eq(orchestrator_start(rig.orchestrator, &rig.request, &number, &why), 0);
	free(name);
	free(word);
	free(cwd);
	free(access);
	free(argv);
	exec_sandbox_free(sandbox);
	loop_step(rig.loop);
	rig_answer(&rig, 0, ORCHESTRATOR_ONCE);
	ck_assert_str_eq(rig_started(&rig)->accesses, "write /etc/x");
	rig_done(&rig);
}
END_TEST

static void break_config(struct orchestrator_config *config, struct orchestrator_ops *ops,
			 struct orchestrator_decider *decider, int how)
{
	switch (how) {
	case 0:
		config->ops = NULL;
		break;
	case 1:
		ops->ask = NULL;
		break;
	case 2:
		ops->start = NULL;
		break;
	case 3:
		ops->store = NULL;
		break;
	case 4:
		config->decider_count = 1;
		ops->decide = NULL;
		break;
	case 5:
		config->mode = 9;
		break;
	case 6:
		config->question_ms = -1;
		break;
	case 7:
		config->decider_count = ORCHESTRATOR_DECIDERS_MAX + 1;
		break;
	case 8:
		config->decider_count = 1;
		decider->name = NULL;
		break;
	case 9:
		config->last_exec = NULL;
		break;
	default:
		config->decider_count = 1;
		decider->timeout_ms = -1;
		break;
	}
}
START_TEST(refused_config)
{
	struct orchestrator_decider decider = { .name = "x" };
	struct err why = { 0 };

	rig_init(&rig, ORCHESTRATOR_ON_REQUEST);
	struct orchestrator_ops ops = *rig.config.ops;

	rig.config.ops = &ops;
	rig.config.deciders = &decider;
	break_config(&rig.config, &ops, &decider, _i);
	ck_assert_ptr_null(orchestrator_new(rig.loop, &rig.config, &why));
	ck_assert_str_ne(why.text, "");
	orchestrator_free(NULL);
	rig_done(&rig);
}
END_TEST

TCase *values_cases(void)
{
	TCase *cases = tcase_create("values");

	tcase_add_loop_test(cases, mode, 0, ARRAY_SIZE(modes));
	tcase_add_loop_test(cases, access_words, 0, ARRAY_SIZE(accesses));
	tcase_add_test(cases, lists_hold_each_once);
	tcase_add_loop_test(cases, refused_request, 0, 17);
	tcase_add_loop_test(cases, too_large, 0, 3);
	tcase_add_test(cases, too_many);
	tcase_add_test(cases, requests_are_copied);
	tcase_add_loop_test(cases, refused_config, 0, 11);
	return cases;
}
