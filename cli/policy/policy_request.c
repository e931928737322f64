#include "cli/policy/policy_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/policies_gate.h"

int policy_request_method(struct policy_request_words *words, char *text, struct err *why)
{
	words->is_given = true;
	words->method = text;
	if (text[0] == '\0' || strlen(text) >= POLICY_METHOD_MAX)
		return err_set(why, -EINVAL, "--method needs a word of up to %d bytes",
			       POLICY_METHOD_MAX - 1);
	return 0;
}

int policy_request_path(struct policy_request_words *words, char *text, struct err *why)
{
	words->is_given = true;
	if (strchr(text, '?'))
		return err_set(
			why, -EINVAL,
			"--path must not contain a question mark; give the query with --query");
	policy_request_set_target(&words->request, text, strlen(text), words->room);
	if (text[0] != '/' || !words->request.path)
		return err_set(why, -EINVAL, "--path must begin with / and have at most %d bytes",
			       POLICY_PATH_MAX - 1);
	return 0;
}

int policy_request_query(struct policy_request_words *words, char *text, struct err *why)
{
	words->is_given = true;
	words->query = text[0] == '?' ? text + 1 : text;
	if (strlen(words->query) >= POLICY_QUERY_MAX)
		return err_set(why, -EINVAL, "--query must have at most %d bytes",
			       POLICY_QUERY_MAX - 1);
	return 0;
}

int policy_request_header(struct policy_request_words *words, char *text, struct err *why)
{
	struct policy_request *request = &words->request;
	char *colon = strchr(text, ':');

	words->is_given = true;
	if (!colon || colon == text)
		return err_set(why, -EINVAL, "--header must be \"NAME: VALUE\", not `%s`", text);
	if (request->field_count == POLICY_FIELDS_MAX)
		return err_set(why, -EINVAL, "at most %d headers are allowed", POLICY_FIELDS_MAX);
	*colon = '\0';
	words->fields[request->field_count++] =
		(struct policy_field){ text, colon + 1 + strspn(colon + 1, " \t") };
	request->has_override |= policy_request_is_override(text, strlen(text));
	return 0;
}

int policy_request_by(struct policy_request_words *words, char *text, struct err *why)
{
	words->by = text;
	if (text[0] != '/')
		return err_set(why, -EINVAL, "--by needs the absolute path of a program");
	return 0;
}

/* The words of the requester's command line; they are not passed to a shell. */
static void request_fill_asker(struct policy_request_words *words, struct policy_facts *facts)
{
	const char *at = words->from ? words->from : "";
	size_t count = 0;

	if (!words->from && !words->by)
		return;
	words->argv = mem_new_array(strlen(at) / 2 + 2, sizeof(*words->argv));
	for (;;) {
		at += strspn(at, " \t");
		size_t len = strcspn(at, " \t");

		if (len == 0)
			break;
		words->argv[count++] = mem_strndup(at, len);
		at += len;
	}
	words->asker = policy_asker_new((const char *const *)words->argv);
	policy_asker_set_program(words->asker, words->by);
	facts->asker = words->asker;
}

int policy_request_fill(struct policy_request_words *words, struct policy_facts *facts,
			struct err *why)
{
	struct policy_request *request = &words->request;

	request_fill_asker(words, facts);
	if (!words->is_given)
		return 0;
	if (facts->carries == POLICY_TCP || facts->carries == POLICY_UDP)
		return err_set(why, -EINVAL,
			       "a request is not visible in bytes of %s; write http:// or https://",
			       policy_protocol_name(facts->carries));
	request->method = words->method ? words->method : "GET";
	request->path = request->path ? request->path : "/";
	request->query = words->query ? words->query : "";
	request->fields = words->fields;
	facts->request = request;
	return 0;
}

void policy_request_done(struct policy_request_words *words)
{
	policy_asker_free(words->asker);
	mem_free_list(words->argv);
}
