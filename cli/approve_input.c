#include "cli/approve.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

#define INPUT_LINE_MAX     1024
#define INPUT_WORDS_MAX    4
#define INPUT_ID_RUN_LEAST 8 /* letters of a run that an id may be cut to */

static const char *const input_scopes[] = { "once", "exec", "session", "always" };
static const char *const input_ops[] = { "allow", "deny", "abort" };

/* The letters are those of the prompt on the terminal. */
static const struct {
	char letter;
	const char *op, *scope;
} input_letters[] = {
	{ 'y', "allow", "once" },   { 'e', "allow", "exec" },  { 's', "allow", "session" },
	{ 'a', "allow", "always" }, { 'n', "deny", "once" },   { 'E', "deny", "exec" },
	{ 'S', "deny", "session" }, { 'D', "deny", "always" }, { 'q', "abort", NULL },
};

bool approve_input_is_id(const char *id)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	size_t run = strspn(id, letters);
	size_t digits = id[run] == '-' ? strspn(id + run + 1, "0123456789") : 0;

	return run > 0 && digits > 0 && id[run + 1 + digits] == '\0' &&
	       run + 1 + digits < APPROVE_ID_MAX;
}

bool approve_input_is_of(const char *id, const char *run)
{
	size_t len = strcspn(id, "-");

	return strncmp(id, run, len) == 0 && (run[len] == '\0' || len >= INPUT_ID_RUN_LEAST);
}

const char *approve_input_scope(const char *text)
{
	for (size_t i = 0; text && i < ARRAY_SIZE(input_scopes); i++) {
		if (strcmp(input_scopes[i], text) == 0)
			return input_scopes[i];
	}
	return NULL;
}

static const char *input_op(const char *text)
{
	for (size_t i = 0; text && i < ARRAY_SIZE(input_ops); i++) {
		if (strcmp(input_ops[i], text) == 0)
			return input_ops[i];
	}
	return NULL;
}

/* @op and @scope: static. */
static int input_fill(struct approve_answer *ret, const char *op, const char *scope, const char *id,
		      struct err *why)
{
	struct approve_answer answer = { .op = op, .scope = scope };

	if (!id || !approve_input_is_id(id))
		return err_set(why, -EINVAL, "which question? its id looks like 7f3a-1");
	if (scope && strcmp(op, "abort") == 0)
		return err_set(why, -EINVAL, "abort has no scope");
	(void)snprintf(answer.id, sizeof(answer.id), "%s", id); /* fits: it is valid */
	*ret = answer;
	return 0;
}

static int input_words(char **words, size_t count, struct approve_answer *ret, struct err *why)
{
	const char *op = input_op(words[0]), *scope = NULL;

	if (!op && strlen(words[0]) == 1) {
		for (size_t i = 0; i < ARRAY_SIZE(input_letters); i++) {
			if (input_letters[i].letter != words[0][0])
				continue;
			if (count > 2)
				return err_set(why, -EINVAL, "a letter takes an id, and no more");
			return input_fill(ret, input_letters[i].op, input_letters[i].scope,
					  count > 1 ? words[1] : NULL, why);
		}
	}
	if (!op)
		return err_set(why, -EINVAL,
			       "type a letter and an id (y 7f3a-1), or allow, deny or "
			       "abort, an id and a scope (allow 7f3a-1 session)");
	if (count > 2) {
		scope = approve_input_scope(words[2]);
		if (!scope || count > 3)
			return err_set(why, -EINVAL, "a scope is once, exec, session or always");
	}
	return input_fill(ret, op, scope, count > 1 ? words[1] : NULL, why);
}

static int input_object(json_t *object, struct approve_answer *ret, struct err *why)
{
	const char *op = input_op(json_string_value(json_object_get(object, "op")));
	const char *id = json_string_value(json_object_get(object, "question"));
	json_t *wanted = json_object_get(object, "scope");
	const char *scope = approve_input_scope(json_string_value(wanted));
	size_t known = wanted ? 3 : 2;

	if (!op || (wanted && !scope) || json_object_size(object) != known)
		return err_set(why, -EINVAL,
			       "an answer is {\"op\":\"allow|deny|abort\",\"question\":ID,"
			       "\"scope\":\"once|exec|session|always\"}");
	return input_fill(ret, op, scope, id, why);
}

int approve_input_parse(const char *line, struct approve_answer *ret, struct err *why)
{
	char copy[INPUT_LINE_MAX], *words[INPUT_WORDS_MAX], *rest = copy;
	size_t count = 0;

	if (strlen(line) >= sizeof(copy))
		return err_set(why, -EINVAL, "that line is too long");
	if (line[0] == '{') {
		json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
		int r = object ? input_object(object, ret, why)
			       : err_set(why, -EINVAL, "that is no JSON object");

		json_decref(object);
		return r;
	}
	memcpy(copy, line, strlen(line) + 1);
	while (count < INPUT_WORDS_MAX && rest) {
		char *word = strsep(&rest, " \t\r");

		if (word[0] != '\0')
			words[count++] = word;
	}
	if (count == 0)
		return err_set(why, -EINVAL, "an empty line answers nothing");
	return input_words(words, count, ret, why);
}

json_t *approve_input_request(const struct approve_answer *answer)
{
	json_t *request = json_pack("{s:s, s:s}", "op", answer->op, "question", answer->id);

	if (answer->scope)
		(void)json_object_set_new(request, "scope", json_string(answer->scope)); /* OOM */
	return request;
}
