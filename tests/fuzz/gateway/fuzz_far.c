/* A question as a session's gate sends it to the terminal of a run: it is whole, or none, and what
 * is answered names it. */
#include <string.h>

#include "gateway/approvers/remote/far_question.h"
#include "tests/fuzz/fuzz.h"

static void check(const struct far_question *ours, int64_t now_ms)
{
	const struct approver_answer answer = { .action = POLICY_ALLOW,
						.scope = GATEWAY_SESSION,
						.width = { .is_domain = true, .for_s = 60 } };
	struct approver_question question;

	far_question_look(ours, now_ms, &question);
	fuzz_must(question.id[0] != '\0' && question.dst.host[0] != '\0' && question.dst.port != 0);
	fuzz_must(question.typed[0] != '\0' && question.left_ms >= 0 && question.age_ms >= 0);
	fuzz_must(question.rule && question.because && question.warning && question.program &&
		  question.chain);
	for (size_t i = 0; i < APPROVER_COMMANDS_MAX && i < question.command_count; i++)
		fuzz_must(question.commands[i] != NULL);
	json_t *request = far_question_answer(&question, &answer);

	fuzz_must(request && strcmp(json_string_value(json_object_get(request, "question")),
				    question.id) == 0);
	json_decref(request);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	json_t *object = json_loadb((const char *)bytes, len, JSON_REJECT_DUPLICATES, NULL);
	struct far_question *question =
		json_is_object(object) ? far_question_new(object, 1000) : NULL;

	if (question) {
		check(question, 1000);
		check(question, 5000);
		far_question_free(question);
	}
	json_decref(object);
	return 0;
}
