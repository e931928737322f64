#include "tests/unit/policies/commands/commands_test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

void line_split(struct line *line, const char *text)
{
	size_t count = 0, used = 0;

	while (*text) {
		if (*text == ' ') {
			text++;
			continue;
		}
		ck_assert_uint_lt(count, TEST_WORDS_MAX);
		line->argv[count++] = line->text + used;
		for (bool is_quoted = false; *text && (is_quoted || *text != ' '); text++) {
			ck_assert_uint_lt(used + 2, sizeof(line->text));
			if (*text == '\'')
				is_quoted = !is_quoted;
			else
				line->text[used++] = *text;
		}
		line->text[used++] = '\0';
	}
	line->argv[count] = NULL;
}

/* As the policy reader cuts a line: "..." is one word, its escapes still in it. */
static size_t split_policy(const char *text, struct command_token *tokens)
{
	size_t count = 0;

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		const char *start = text;

		ck_assert_uint_lt(count, TEST_WORDS_MAX * 2);
		if (*text == '"') {
			for (text++; *text && *text != '"'; text++)
				text += *text == '\\' && text[1];
			tokens[count++] =
				(struct command_token){ start + 1, (size_t)(text - start) - 1,
							true };
			text++;
			continue;
		}
		text += strcspn(text, " ");
		tokens[count++] = (struct command_token){ start, (size_t)(text - start), false };
	}
	return count;
}

int rules_add_line(struct command_rules *rules, const char *text, struct command_flaw *flaw)
{
	struct command_token tokens[TEST_WORDS_MAX * 2];
	size_t count;

	if (strncmp(text, "program", 7) == 0) {
		count = split_policy(text + 7, tokens);
		return command_rules_add_program(rules, tokens, count, flaw);
	}
	count = split_policy(text, tokens);
	return command_rules_add(rules, "test:1", text, tokens, count, flaw);
}

struct command_rules *rules_of(const char *text)
{
	struct command_rules *rules = command_rules_new();

	while (*text) {
		size_t len = strcspn(text, "\n");
		auto_free char *line = mem_strndup(text, len);
		struct command_flaw flaw = { 0 };

		ck_assert_msg(rules_add_line(rules, line, &flaw) == 0, "%s: %s", line, flaw.words);
		text += len + (text[len] == '\n');
	}
	return rules;
}

static int resolve(const char *name, struct command_file *ret, void *arg)
{
	static const char *const missing[] = { "nosuch", "/usr/bin/nosuch" };

	(void)arg;
	for (size_t i = 0; i < ARRAY_SIZE(missing); i++) {
		if (strcmp(name, missing[i]) == 0)
			return -ENOENT;
	}
	*ret = (struct command_file){ .device = 1 };
	if (strcmp(name, "/opt/link") == 0)
		name = "git";
	(void)snprintf(ret->path, sizeof(ret->path), "%s%s", strchr(name, '/') ? "" : "/usr/bin/",
		       name);
	ret->inode = 5381;
	for (const char *c = ret->path; *c; c++)
		ret->inode = ret->inode * 33 + (unsigned char)*c;
	return 0;
}

static bool may_write(const char *path, void *arg)
{
	(void)arg;
	return strncmp(path, "out/", 4) == 0;
}

const struct command_world world = { .resolve = resolve, .may_write = may_write };
