/* A condition and a request: what meets an allow meets a denial too, and what is not known meets
 * only the denial. The input is "CLAUSES\nMETHOD TARGET\nNAME: VALUE". */
#include <string.h>

#include "base/mem.h"
#include "policies/policies_request.h"
#include "policies/policies_tools.h"
#include "tests/fuzz/fuzz.h"

static enum policy_action decide(const char *action, const char *fallback, const char *clauses,
				 const struct policy_request *request, bool *ret_is_good)
{
	auto_free char *text = mem_printf("version 1\ndefault %s\n%s http://a.test %s\n", fallback,
					  action, clauses);
	struct policy *policy = policy_new();
	struct policy_facts facts = { .carries = POLICY_HTTP, .request = request };
	struct policy_verdict verdict;

	*ret_is_good = policy_load_text(policy, "<fuzz>", text) == 0 && policy_finish(policy) == 0;
	fuzz_must(policy_destination_set(&facts.dst, "a.test", 6, 80, NULL) == 0);
	policy_decide(policy, &facts, &verdict);
	policy_free(policy);
	return verdict.action;
}

static void check(const char *clauses, const struct policy_request *request)
{
	bool is_good, is_known = request != NULL;
	enum policy_action allow = decide("allow", "deny", clauses, request, &is_good);

	if (!is_good)
		return;
	enum policy_action deny = decide("deny", "allow", clauses, request, &is_good);

	if (!is_good || !strpbrk(clauses, "abcdefghijklmnopqrstuvwxyz"))
		return; /* a bound, which no denial has; nothing that is a condition */
	fuzz_must(allow != POLICY_ALLOW || deny == POLICY_DENY || strchr(clauses, '#'));
	fuzz_must(is_known || deny == POLICY_DENY || strchr(clauses, '#') ||
		  strstr(clauses, "for") || strstr(clauses, "until") || strstr(clauses, "except"));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static char room[POLICY_PATH_MAX + POLICY_QUERY_MAX];
	auto_free char *text = mem_new(len + 1);
	struct policy_field field = { "", "" };
	struct policy_request request = { .fields = &field, .field_count = 1 };

	if (len == 0 || memchr(bytes, '\0', len))
		return 0;
	memcpy(text, bytes, len);
	char *rest = text, *clauses = strsep(&rest, "\n"), *line = strsep(&rest, "\n");
	char *target = line ? strchr(line, ' ') : NULL, *value = rest ? strstr(rest, ": ") : NULL;

	if (!target || strlen(clauses) > 400 || strlen(line) > 4000)
		return 0;
	*target++ = '\0';
	if (value) {
		*value = '\0';
		field = (struct policy_field){ rest, value + 2 };
		request.has_override = policy_request_is_override(rest, strlen(rest));
	}
	request.method = line;
	policy_request_set_target(&request, target, strlen(target), room);
	auto_free void *piece = mem_new(policy_request_size(&request));

	check(clauses, policy_request_copy(&request, piece));
	check(clauses, NULL);
	return 0;
}
