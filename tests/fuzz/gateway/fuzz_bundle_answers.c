#include <string.h>

#include "base/mem.h"
#include "gateway/bundle/bundle.h"
#include "policies/policies_tools.h"
#include "tests/fuzz/fuzz.h"

#define NOW 1800000000

/* A key that everybody has. */
static struct sign_key key_of_all(void)
{
	static const char pem[] =
		"-----BEGIN PRIVATE KEY-----\n"
		"MC4CAQAwBQYDK2VwBCIEINy1Ub5VXI5BNFI0IJHE63uNF4UEHY8GFOnRxr5Kc/IA\n"
		"-----END PRIVATE KEY-----\n";
	struct sign_key key;

	fuzz_must(sign_key_from_pem(pem, sizeof(pem) - 1, &key, NULL) == 0);
	return key;
}

/* As policy, they are answers and nothing else: no rule, no setting, no other destination. */
static void check_policy(const char *text)
{
	struct policy *policy = policy_new();

	fuzz_must(policy_load_text(policy, "<answers>", text) == 0);
	for (size_t i = 1; i <= policy_rule_count(policy); i++) {
		struct policy_rule_look look;

		policy_rule_look(policy, i, NULL, &look);
		fuzz_must(look.is_answer && look.until > NOW);
		fuzz_must(strcmp(look.by, "ana by bundle") == 0);
	}
	policy_free(policy);
}

static void check_file(const struct policy *policy, const char *text, size_t len)
{
	struct bundle_answers *answers = bundle_answers_new();
	auto_free char *lines = NULL;
	size_t lacking;

	(void)bundle_answers_add(answers, policy, text, len, NOW, NULL);
	fuzz_must(bundle_answers_policy(answers, policy, &lines, &lacking) == 0);
	check_policy(lines);
	bundle_answers_free(answers);
}

/* Once unchanged, and once signed by an approver: the form is checked in both cases. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static const char named[] =
		"approver ana ed25519:HOIhPNTDkSz2AhbTddYtf/sM6FbmzWooCgntgXmnUfY=\n";
	struct sign_key key = key_of_all();
	struct policy *policy = policy_new();
	auto_free char *text = mem_strndup((const char *)bytes, len);
	size_t message_len;
	auto_free char *message = bundle_answers_message(text, &message_len);
	uint8_t signature[SIGN_BYTES];

	fuzz_must(policy_load_text(policy, "<fuzz>", named) == 0);
	check_file(policy, (const char *)bytes, len);
	fuzz_must(sign_bytes(&key, message, message_len, signature, NULL) == 0);
	auto_free char *file = bundle_answers_file(text, signature, sizeof(signature), false);

	check_file(policy, file, strlen(file));
	policy_free(policy);
	return 0;
}
