#include "tests/unit/exec/words.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "exec/exec_sandbox.h"

#define ENTRIES_MAX 16

struct words {
	struct exec_sandbox_config config;
	struct exec_entry entries[ENTRIES_MAX];
	char text[4096];
};

static void read_entry(struct words *words, char **rest, const char *word)
{
	ck_assert_uint_lt(words->config.entry_count, ENTRIES_MAX);
	struct exec_entry *entry = &words->entries[words->config.entry_count++];

	entry->access = strcmp(word, "deny") == 0   ? EXEC_DENY
			: strcmp(word, "read") == 0 ? EXEC_READ
						    : EXEC_WRITE;
	entry->path = strsep(rest, " ");
	ck_assert_ptr_nonnull(entry->path);
}

struct exec_sandbox *words_sandbox(const char *text, const char *cwd, const char *tmpdir,
				   struct err *why)
{
	struct words words = { .config = { .cwd = cwd, .tmpdir = tmpdir } };
	char *rest = words.text, *word;

	ck_assert_uint_lt(strlen(text), sizeof(words.text));
	(void)snprintf(words.text, sizeof(words.text), "%s", text);
	char *mode = strsep(&rest, " ");
	char *plus = strchr(mode, '+');

	words.config.network = plus ? EXEC_NETWORK_ENABLED : EXEC_NETWORK_RESTRICTED;
	if (plus)
		*plus = '\0';
	ck_assert(exec_mode_parse(mode, &words.config.mode));
	while (rest && (word = strsep(&rest, " ")) != NULL)
		if (strcmp(word, "-tmp") == 0)
			words.config.has_no_tmp = true;
		else if (strcmp(word, "-tmpdir") == 0)
			words.config.has_no_tmpdir = true;
		else
			read_entry(&words, &rest, word);
	words.config.entries = words.entries;
	return exec_sandbox_new(&words.config, why);
}

bool words_equal(const struct exec_sandbox *a, const struct exec_sandbox *b)
{
	auto_free char *left = exec_sandbox_key(a);
	auto_free char *right = exec_sandbox_key(b);

	return strcmp(left, right) == 0;
}
