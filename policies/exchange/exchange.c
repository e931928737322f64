#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "policies/exchange/exchange_impl.h"
#include "policies/engine/policy_impl.h"
#include "policies/policies_tools.h"

static void exchange_add(char **text, size_t *len, size_t *room, const char *piece)
{
	size_t more = strlen(piece);

	*text = mem_reserve(*text, room, *len + more + 1, 1);
	memcpy(*text + *len, piece, more + 1);
	*len += more;
}

static char *exchange_words(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
static char *exchange_words(const char *format, va_list args)
{
	char words[EXCHANGE_VALUE_MAX];

	(void)vsnprintf(words, sizeof(words), format, args);
	return mem_strdup(words);
}

void exchange_line(struct exchange *exchange, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	auto_free char *words = exchange_words(format, args);

	va_end(args);
	exchange_add(&exchange->text, &exchange->text_len, &exchange->text_room, words);
	exchange_add(&exchange->text, &exchange->text_len, &exchange->text_room, "\n");
}

static char *exchange_place(const char *name, uint32_t line, const char *words)
{
	auto_free char *shown = text_visible_dup(words);

	if (line == 0)
		return mem_printf("%s: %s", name, shown);
	return mem_printf("%s:%u: %s", name, line, shown);
}

void exchange_list(struct exchange *exchange, const char *name, uint32_t line, const char *words)
{
	auto_free char *said = exchange_place(name, line, words);

	exchange_add(&exchange->losses, &exchange->losses_len, &exchange->losses_room, said);
	exchange_add(&exchange->losses, &exchange->losses_len, &exchange->losses_room, "\n");
}

void exchange_lose(struct exchange *exchange, uint32_t line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	auto_free char *words = exchange_words(format, args);

	va_end(args);
	auto_free char *said = exchange_place(exchange->name, line, words);

	exchange_line(exchange, "# not carried over: %s", said);
	exchange_list(exchange, exchange->name, line, words);
}

int exchange_refuse(struct exchange *exchange, uint32_t line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	auto_free char *words = exchange_words(format, args);

	va_end(args);
	auto_free char *said = exchange_place(exchange->name, line, words);

	return err_set(exchange->why, -EBADMSG, "%s", said);
}

/* Does the policy language accept the rule? Clauses of later versions do not count as accepted. */
static bool exchange_is_rule(enum policy_action action, const char *destination, bool is_broad)
{
	auto_free char *line = mem_printf("%s %s%s\n", policy_action_name(action), destination,
					  is_broad ? " broad" : "");
	struct policy *policy = policy_new();
	bool is_rule = !strpbrk(destination, " \t\r\n#\"") &&
		       policy_load_text(policy, "rule", line) == 0 &&
		       policy_rule_count(policy) == 1;

	policy_free(policy);
	return is_rule;
}

int exchange_rule(struct exchange *exchange, uint32_t line, enum policy_action action,
		  const char *destination, const char *clauses)
{
	bool is_plain = exchange_is_rule(action, destination, false);
	bool is_broad = !is_plain && exchange_is_rule(action, destination, true);

	if (++exchange->rule_count > EXCHANGE_RULES_MAX)
		return exchange_refuse(exchange, line, "there are more than %u rules",
				       EXCHANGE_RULES_MAX);
	if (!is_plain && !is_broad && action == POLICY_ALLOW) {
		exchange_lose(exchange, line, "allow %s: this is not a destination", destination);
		return 0;
	}
	if (!is_plain && !is_broad)
		return exchange_refuse(exchange, line,
				       "%s %s cannot be expressed and would be lost",
				       policy_action_name(action), destination);
	exchange_line(exchange, "%s %s%s%s%s", policy_action_name(action), destination,
		      is_broad ? " broad" : "", clauses[0] ? " " : "", clauses);
	return 0;
}

char *exchange_quote(const char *text)
{
	size_t used = 0;
	char *out = mem_new(strlen(text) * 2 + 3);

	out[used++] = '"';
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			out[used++] = '\\';
		out[used++] = c < 0x20 || c >= 0x7f ? ' ' : (char)c;
	}
	out[used++] = '"';
	out[used] = '\0';
	return out;
}

bool exchange_is_at(const struct exchange_item *item, const char *path)
{
	const char *at = item->path;

	while (*path && *at) {
		size_t want = strcspn(path, "/"), have = strcspn(at, "/");
		bool is_any = want == 1 && path[0] == '?';

		if (!is_any && (want != have || memcmp(path, at, want) != 0))
			return false;
		path += want + (path[want] == '/');
		at += have + (at[have] == '/');
	}
	return *path == '\0' && *at == '\0';
}
