#include "cli/approve.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

#define INPUT_LINE_MAX     1024
#define INPUT_WORDS_MAX    5
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

static size_t input_run_len(const char *text)
{
	return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
}

bool approve_input_is_run(const char *run)
{
	size_t len = input_run_len(run);

	return len > 0 && len < APPROVE_RUN_MAX && run[len] == '\0';
}

bool approve_input_is_id(const char *id)
{
	size_t run = input_run_len(id);
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

/* A person typed it: what a question warns of is confirmed by its domain. */
static int input_typed(const char *op, const char *scope, char **rest, size_t count,
		       struct approve_answer *ret, struct err *why)
{
	int r = input_fill(ret, op, scope, count > 0 ? rest[0] : NULL, why);

	if (r < 0)
		return r;
	if (count > 2 || (count > 1 && strcmp(op, "allow") != 0))
		return err_set(why, -EINVAL, "that is more than an answer takes");
	if (count > 1 && strlen(rest[1]) >= sizeof(ret->confirm))
		return err_set(why, -EINVAL, "that is longer than any domain");
	ret->is_person = true;
	if (count > 1)
		(void)snprintf(ret->confirm, sizeof(ret->confirm), "%s", rest[1]);
	return 0;
}

static int input_words(char **words, size_t count, struct approve_answer *ret, struct err *why)
{
	const char *op = input_op(words[0]), *scope;

	for (size_t i = 0; !op && strlen(words[0]) == 1 && i < ARRAY_SIZE(input_letters); i++) {
		if (input_letters[i].letter == words[0][0])
			return input_typed(input_letters[i].op, input_letters[i].scope, words + 1,
					   count - 1, ret, why);
	}
	if (!op)
		return err_set(why, -EINVAL,
			       "type a letter and an id (y 7f3a-1), or allow, deny or "
			       "abort, an id and a scope (allow 7f3a-1 session)");
	scope = count > 2 ? approve_input_scope(words[2]) : NULL;
	if (count > 2 && !scope && strcmp(op, "allow") != 0)
		return err_set(why, -EINVAL, "a scope is once, exec, session or always");
	if (scope) { /* the domain, if any, stands behind it */
		words[2] = words[1];
		words += 1;
		count -= 1;
	}
	return input_typed(op, scope, words + 1, count - 1, ret, why);
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

static void input_add(json_t *request, const char *name, json_t *value)
{
	(void)json_object_set_new(request, name, value); /* OOM only; NULL is left out */
}

static void input_add_width(json_t *request, const struct approve_width *width)
{
	if (width->is_domain)
		input_add(request, "host", json_string("domain"));
	if (width->is_every_port)
		input_add(request, "ports", json_string("all"));
	if (width->is_program)
		input_add(request, "program", json_string("this"));
	if (width->duration[0] != '\0')
		input_add(request, "for", json_string(width->duration));
	if (width->upload)
		input_add(request, "upload", json_integer(width->upload));
	if (width->download)
		input_add(request, "download", json_integer(width->download));
	if (width->connections)
		input_add(request, "connections", json_integer(width->connections));
}

json_t *approve_input_request(const struct approve_answer *answer)
{
	json_t *request = json_pack("{s:s, s:s}", "op", answer->op, "question", answer->id);

	if (answer->scope)
		input_add(request, "scope", json_string(answer->scope));
	if (answer->words[0] != '\0')
		input_add(request, "words", json_string(answer->words));
	if (answer->is_person && strcmp(answer->op, "allow") == 0)
		input_add(request, "confirm", json_string(answer->confirm));
	input_add_width(request, &answer->width);
	return request;
}
