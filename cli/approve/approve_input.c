#include "cli/approve/approve.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/options.h"

#define INPUT_LINE_MAX     4096
#define INPUT_WORDS_MAX    32
#define INPUT_ID_RUN_LEAST 8 /* an id has at least this many letters of its run */

static const char *const input_scopes[] = { "once", "exec", "session", "always" };
static const char *const input_ops[] = { "allow", "deny", "abort" };

/* The same letters as at the prompt on the terminal. */
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

static int input_set_id(struct approve_answer *answer, const char *id, struct err *why)
{
	if (!id || !approve_input_is_id(id))
		return err_set(why, -EINVAL, "name a question; an id looks like 7f3a-1");
	(void)snprintf(answer->id, sizeof(answer->id), "%s", id); /* fits, because it is valid */
	return 0;
}

/* Reads the words after the id: a scope, unless @is_letter, and the domain of a question with a
 * warning. */
static int input_behind(struct approve_answer *answer, bool is_letter, char **rest, int count,
			struct err *why)
{
	bool is_allow = strcmp(answer->op, "allow") == 0;
	const char *scope = !is_letter && count > 0 ? approve_input_scope(rest[0]) : NULL;

	if (scope && strcmp(answer->op, "abort") == 0)
		return err_set(why, -EINVAL, "abort has no scope");
	if (scope && answer->scope)
		return err_set(why, -EINVAL, "give one scope only");
	if (scope) {
		answer->scope = scope;
		rest++;
		count--;
	} else if (!is_letter && count > 0 && !is_allow) {
		return err_set(why, -EINVAL, "the scope must be once, exec, session or always");
	}
	if (count > 1 || (count > 0 && (!is_allow || answer->confirm[0] != '\0')))
		return err_set(why, -EINVAL, "the answer has too many words");
	if (count > 0 && strlen(rest[0]) >= sizeof(answer->confirm))
		return err_set(why, -EINVAL, "the domain is too long");
	if (count > 0)
		(void)snprintf(answer->confirm, sizeof(answer->confirm), "%s", rest[0]);
	return 0;
}

/* Rejects options that the command has but a line does not support. */
static int input_check(const struct options *options, bool is_letter, struct err *why)
{
	if (options_has(options, OPT_HELP))
		return err_set(
			why, -EINVAL,
			"--help is not allowed in an answer; see `sallyport approve watch --help`");
	if (options_has(options, OPT_OF_SESSION))
		return err_set(why, -EINVAL, "--session is not allowed in an answer");
	if (is_letter && options_has(options, OPT_SCOPE))
		return err_set(why, -EINVAL,
			       "--scope is not allowed here; the letter gives the scope");
	return 0;
}

/* A line typed by a person, who confirms a question with a warning by typing its domain. @op and
 * @scope: static, @scope NULL if none was given. */
static int input_typed(const char *op, const char *scope, bool is_letter, char **words, int count,
		       struct approve_answer *ret, struct err *why)
{
	struct approve_answer answer = { .op = op, .is_person = true };
	enum cli_command command = strcmp(op, "allow") == 0  ? CLI_APPROVE_ALLOW
				   : strcmp(op, "deny") == 0 ? CLI_APPROVE_DENY
							     : CLI_APPROVE_ABORT;
	struct options options;
	int r = options_read(&options, command, count, words, why);

	if (r == 0)
		r = input_check(&options, is_letter, why);
	if (r == 0)
		r = approve_options_answer(&options, &answer, why);
	if (is_letter)
		answer.scope = scope;
	if (r == 0)
		r = input_set_id(&answer, options.operands[0], why);
	if (r == 0)
		r = input_behind(&answer, is_letter, options.operands + 1,
				 (int)options.operand_count - 1, why);
	if (r == 0 && !is_letter)
		r = approve_options_scope(&options, answer.scope, why);
	if (r == 0)
		*ret = answer;
	options_done(&options);
	return r;
}

static int input_words(char **words, int count, struct approve_answer *ret, struct err *why)
{
	const char *op = input_op(words[0]);

	for (size_t i = 0; !op && strlen(words[0]) == 1 && i < ARRAY_SIZE(input_letters); i++) {
		if (input_letters[i].letter == words[0][0])
			return input_typed(input_letters[i].op, input_letters[i].scope, true, words,
					   count, ret, why);
	}
	if (!op)
		return err_set(why, -EINVAL,
			       "type a letter and an id (y 7f3a-1), or allow, deny or "
			       "abort, an id and a scope (allow 7f3a-1 session)");
	return input_typed(op, NULL, false, words, count, ret, why);
}

static bool input_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Cuts off the next word, in place; quotes and backslashes work as in a shell. NULL: a quote is not
 * closed. */
static char *input_word(char **rest)
{
	char *at = *rest, *word = at, *out = at, quote = '\0';

	for (; *at != '\0' && (quote != '\0' || !input_is_blank(*at)); at++) {
		bool is_escape = *at == '\\' && at[1] != '\0' && quote != '\'' &&
				 (quote == '\0' || at[1] == '"' || at[1] == '\\');

		if (is_escape)
			*out++ = *++at;
		else if (quote == '\0' && (*at == '\'' || *at == '"'))
			quote = *at;
		else if (*at == quote)
			quote = '\0';
		else
			*out++ = *at;
	}
	*rest = *at == '\0' ? at : at + 1;
	*out = '\0';
	return quote == '\0' ? word : NULL;
}

/* @words: room for INPUT_WORDS_MAX and one more, which getopt needs. Returns their number, or
 * -EINVAL. */
static int input_split(char *line, char **words, struct err *why)
{
	int count = 0;

	for (line += strspn(line, " \t\r"); *line != '\0'; line += strspn(line, " \t\r")) {
		if (count == INPUT_WORDS_MAX)
			return err_set(why, -EINVAL, "the answer has too many words");
		words[count] = input_word(&line);
		if (!words[count++])
			return err_set(why, -EINVAL, "a quote is not closed");
	}
	words[count] = NULL;
	return count > 0 ? count : err_set(why, -EINVAL, "the line is empty");
}

/* A request object as for a gate, which checks the other members itself. */
struct input_object {
	const char *op, *id, *scope, *host, *ports, *program, *duration, *words, *confirm, *text;
	json_t *upload, *download, *connections;
};

/* False: the text does not fit. */
static bool input_copy(char *out, size_t size, const char *text)
{
	if (text && strlen(text) >= size)
		return false;
	(void)snprintf(out, size, "%s", text ? text : "");
	return true;
}

/* Reads one of two words; the first one is the default. */
static bool input_choice(const char *said, const char *narrow, const char *wide, bool *ret)
{
	*ret = said && strcmp(said, wide) == 0;
	return !said || *ret || strcmp(said, narrow) == 0;
}

static bool input_amount(const json_t *said, json_int_t *ret)
{
	*ret = json_integer_value(said);
	return !said || (json_is_integer(said) && *ret > 0);
}

static bool input_object_read(const struct input_object *from, struct approve_answer *ret)
{
	struct approve_width *width = &ret->width;
	bool is_allow = ret->op && strcmp(ret->op, "allow") == 0;
	bool is_abort = ret->op && strcmp(ret->op, "abort") == 0;

	ret->scope = approve_input_scope(from->scope);
	ret->is_person = from->confirm != NULL; /* a person has typed it */
	if ((from->confirm && !is_allow) || (from->duration && from->duration[0] == '\0'))
		return false;
	if ((is_abort && from->text) || (from->text && from->text[0] == '\0'))
		return false;
	if (is_abort &&
	    (from->scope || from->host || from->ports || from->program || from->duration))
		return false;
	if (!is_allow && (from->upload || from->download || from->connections))
		return false;
	return ret->op && (!from->scope || ret->scope) &&
	       input_amount(from->upload, &width->upload) &&
	       input_amount(from->download, &width->download) &&
	       input_amount(from->connections, &width->connections) &&
	       input_choice(from->host, "this", "domain", &width->is_domain) &&
	       input_choice(from->ports, "this", "all", &width->is_every_port) &&
	       input_choice(from->program, "any", "this", &width->is_program) &&
	       input_copy(width->duration, sizeof(width->duration), from->duration) &&
	       input_copy(ret->words, sizeof(ret->words), from->words) &&
	       input_copy(ret->confirm, sizeof(ret->confirm), from->confirm) &&
	       input_copy(ret->text, sizeof(ret->text), from->text);
}

static int input_object(json_t *object, struct approve_answer *ret, struct err *why)
{
	struct input_object from = { 0 };
	struct approve_answer answer = { 0 };
	int r = json_unpack_ex(object, NULL, JSON_STRICT,
			       "{s:s, s:s, s?s, s?s, s?s, s?s, s?s, s?s, s?s, s?s, s?o, s?o, s?o}",
			       "op", &from.op, "question", &from.id, "scope", &from.scope, "host",
			       &from.host, "ports", &from.ports, "program", &from.program, "for",
			       &from.duration, "words", &from.words, "confirm", &from.confirm,
			       "text", &from.text, "upload", &from.upload, "download",
			       &from.download, "connections", &from.connections);

	answer.op = input_op(from.op);
	if (r < 0 || !input_object_read(&from, &answer))
		return err_set(why, -EINVAL,
			       "an answer must be "
			       "{\"op\":\"allow|deny|abort\",\"question\":ID,\"scope\":\"once|exec|"
			       "session|always\"}, with the members of sallyport-approver(7) that "
			       "this op takes");
	r = input_set_id(&answer, from.id, why);
	if (r == 0)
		*ret = answer;
	return r;
}

int approve_input_parse(const char *line, struct approve_answer *ret, struct err *why)
{
	char copy[INPUT_LINE_MAX], *words[INPUT_WORDS_MAX + 1];
	int r;

	if (strlen(line) >= sizeof(copy))
		return err_set(why, -EINVAL, "the line is too long");
	if (line[0] == '{') {
		json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);

		r = object ? input_object(object, ret, why)
			   : err_set(why, -EINVAL, "the line is not a JSON object");
		json_decref(object);
		return r;
	}
	memcpy(copy, line, strlen(line) + 1);
	r = input_split(copy, words, why);
	return r < 0 ? r : input_words(words, r, ret, why);
}

static void input_add(json_t *request, const char *name, json_t *value)
{
	(void)json_object_set_new(request, name, value); /* NULL is left out */
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
	if (answer->text[0] != '\0')
		input_add(request, "text", json_string(answer->text));
	input_add_width(request, &answer->width);
	return request;
}
