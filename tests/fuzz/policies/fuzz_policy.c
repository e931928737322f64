#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "policies/commands/commands.h"
#include "policies/configured/configured.h"
#include "policies/policies_tools.h"
#include "tests/fuzz/fuzz.h"

static const char *const requests[] = {
	"a.test",
	"http://b.a.test:8000",
	"tcp://c.b.a.test:22",
	"https://example.org",
	"127.0.0.1:80",
	"tcp://10.0.0.1:5432",
	"8.8.8.8",
	"tcp://[2001:470::1]:443",
	"169.254.169.254:80",
	"[64:ff9b::a9fe:a9fe]",
	"metadata.google.internal:80",
	"0.0.0.0:80",
	"[ff02::1]:443",
};
#define NEVER 8 /* from here on nothing may be allowed */

static void check_shown(const char *text, bool may_have_lines)
{
	for (; *text; text++)
		fuzz_must((*text >= 0x20 && *text < 0x7f) || (may_have_lines && *text == '\n'));
}

static void check_verdict(const struct policy_verdict *verdict)
{
	fuzz_must(memchr(verdict->rule, '\0', sizeof(verdict->rule)));
	fuzz_must(memchr(verdict->because, '\0', sizeof(verdict->because)));
	fuzz_must(memchr(verdict->by, '\0', sizeof(verdict->by)));
	fuzz_must(verdict->reason > POLICY_NONE && verdict->reason < POLICY_REASON_COUNT);
	check_shown(verdict->rule, false);
	check_shown(verdict->by, false);
	if (verdict->action == POLICY_DENY)
		fuzz_must(verdict->promise == POLICY_NO_PROTOCOL && !verdict->may_private);
	else
		fuzz_must(verdict->promise != POLICY_NO_PROTOCOL);
}

static void check_request(const struct policy *policy, const char *request, bool is_never)
{
	struct policy_facts facts = { .carries = POLICY_NO_PROTOCOL };
	struct policy_verdict verdict, dialled;
	struct addr addr;

	fuzz_must(policy_destination_parse(request, &facts.dst, NULL) == 0);
	facts.carries = facts.dst.protocol;
	policy_decide(policy, &facts, &verdict);
	check_verdict(&verdict);
	if (is_never || policy_error_count(policy) > 0)
		fuzz_must(verdict.action == POLICY_DENY);
	if (verdict.action != POLICY_ALLOW)
		return;
	fuzz_must(addr_parse("169.254.169.254", 15, &addr) == 0);
	policy_decide_address(policy, &facts.dst, &verdict, &addr, &dialled);
	fuzz_must(dialled.action == POLICY_DENY);
	fuzz_must(addr_parse("93.184.216.34", 13, &addr) == 0);
	policy_decide_address(policy, &facts.dst, &verdict, &addr, &dialled);
	check_verdict(&dialled);
	fuzz_must(dialled.action != POLICY_ASK);
}

/* A machine where npm has a registry, and nothing else is configured. */
static int read_file(const char *path, char **ret_text, size_t *ret_len, void *arg, struct err *why)
{
	if (strcmp(path, "/h/.npmrc") != 0)
		return -ENOENT;
	*ret_text = mem_strdup("registry=https://npm.test/\n@a:registry=http://10.0.0.1/\n");
	*ret_len = strlen(*ret_text);
	return 0;
}

static const struct configured_environment machine = { .home = "/h", .read = read_file };

/* Commands that are not understood are never allowed, and a file with errors allows nothing. */
static void check_commands(const struct policy *policy)
{
	static const char *const argvs[][4] = {
		{ "git", "status", NULL },
		{ "rm", "-rf", "/", NULL },
		{ "sh", "-c", "git status && $X", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(argvs); i++) {
		struct command_verdict verdict;
		enum policy_layer layer;
		enum policy_action action =
			policy_decide_command(policy, NULL, argvs[i], &verdict, &layer);

		if (policy_error_count(policy) > 0)
			fuzz_must(action == POLICY_DENY);
		fuzz_must(action != POLICY_ALLOW || verdict.is_understood);
		fuzz_must(memchr(verdict.rule, '\0', sizeof(verdict.rule)));
		check_shown(verdict.rule, false);
	}
}

/* Whatever stands in the file: it is read, or refused with words that can be shown; and what must
 * never be reached is not. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	auto_free char *text = mem_new(len + 1);
	struct policy *policy = policy_new();

	if (len > 0)
		memcpy(text, bytes, len);
	policy_set_environment(policy, &machine);
	int r = policy_load_text(policy, "<fuzz>", text);

	policy_set_environment(policy, NULL);

	fuzz_must((r == 0) == (policy_error_count(policy) == 0));
	r = policy_finish(policy);
	fuzz_must((r == 0) == (policy_error_count(policy) == 0));
	fuzz_must((policy_errors(policy)[0] == '\0') == (policy_error_count(policy) == 0));
	check_shown(policy_errors(policy), true);
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		check_request(policy, requests[i], i >= NEVER);
	check_commands(policy);
	policy_free(policy);
	return 0;
}
