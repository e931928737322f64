#include "exec/view/git_config.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

#define SHOWN_MAX 80

/* The lines that `git init`, clone, remote, branch, worktree and submodule write, and other common
 * ones. Every other key counts as running something, because git gets new keys. To allow one, add a
 * line here; "": every key of the section. */
static const struct {
	const char *section, *key;
} harmless[] = {
	{ "core", "repositoryformatversion" },
	{ "core", "filemode" },
	{ "core", "bare" },
	{ "core", "logallrefupdates" },
	{ "core", "ignorecase" },
	{ "core", "precomposeunicode" },
	{ "core", "symlinks" },
	{ "core", "worktree" },
	{ "core", "autocrlf" },
	{ "core", "eol" },
	{ "core", "quotepath" },
	{ "core", "abbrev" },
	{ "core", "sparsecheckout" },
	{ "core", "sparsecheckoutcone" },
	{ "core", "sharedrepository" },
	{ "remote", "url" },
	{ "remote", "pushurl" },
	{ "remote", "fetch" },
	{ "remote", "push" },
	{ "remote", "mirror" },
	{ "remote", "prune" },
	{ "remote", "tagopt" },
	{ "remote", "promisor" },
	{ "remote", "partialclonefilter" },
	{ "branch", "remote" },
	{ "branch", "pushremote" },
	{ "branch", "merge" },
	{ "branch", "rebase" },
	{ "branch", "description" },
	{ "branch", "autosetupmerge" },
	{ "branch", "autosetuprebase" },
	{ "branch", "vscode-merge-base" },
	{ "submodule", "url" },
	{ "submodule", "active" },
	{ "submodule", "branch" },
	{ "submodule", "recurse" },
	{ "submodule", "fetchrecursesubmodules" },
	{ "init", "defaultbranch" },
	{ "commit", "gpgsign" },
	{ "tag", "gpgsign" },
	{ "lfs", "repositoryformatversion" },
	{ "advice", "" },
	{ "color", "" },
	{ "extensions", "" },
	{ "fetch", "" },
	{ "gc", "auto" },
	{ "gc", "autodetach" },
	{ "gc", "autopacklimit" },
	{ "gc", "pruneexpire" },
	{ "gc", "reflogexpire" },
	{ "gc", "reflogexpireunreachable" },
	{ "gc", "worktreepruneexpire" },
	{ "index", "" },
	{ "pack", "" },
	{ "pull", "" },
	{ "push", "" },
	{ "rebase", "" },
	{ "rerere", "" },
	{ "status", "" },
	{ "user", "" },
};

struct span {
	const char *at;
	size_t len;
};

static bool is_word(const struct span *span, const char *word)
{
	return strlen(word) == span->len && strncasecmp(span->at, word, span->len) == 0;
}

/* Rejects "ext::sh -c ..." and similar values, also with quotes inside, which git removes, and a
 * value that continues on the next line. */
static bool is_plain_value(const char *value, size_t len)
{
	char before = '\0';

	for (size_t i = 0; i < len; i++) {
		if (value[i] == '"')
			continue;
		if (value[i] == ':' && before == ':')
			return false;
		before = value[i];
	}
	return len == 0 || value[len - 1] != '\\';
}

static bool is_harmless(const struct span *section, const char *line, size_t len)
{
	struct span key = { line, 0 };

	while (key.len < len && (isalnum((unsigned char)line[key.len]) || line[key.len] == '-'))
		key.len++;
	size_t at = key.len;

	while (at < len && (line[at] == ' ' || line[at] == '\t'))
		at++;
	if (key.len == 0 || (at < len && line[at] != '=') || !is_plain_value(line + at, len - at))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(harmless); i++)
		if (is_word(section, harmless[i].section) &&
		    (harmless[i].key[0] == '\0' || is_word(&key, harmless[i].key)))
			return true;
	return false;
}

/* "[section "sub"]" or "[section.sub]": returns what follows it; NULL: malformed. */
static const char *read_section(const char *line, size_t len, struct span *ret)
{
	const char *end = line + len;
	bool is_quoted = false;

	*ret = (struct span){ line + 1, 0 };
	while (ret->at + ret->len < end && isalnum((unsigned char)ret->at[ret->len]))
		ret->len++;
	if (ret->at + ret->len < end && *(ret->at + ret->len) == '-') /* this is another section */
		return NULL;
	for (const char *at = ret->at + ret->len; at < end; at++) {
		if (*at == '\\' && is_quoted)
			at++;
		else if (*at == '"')
			is_quoted = !is_quoted;
		else if (*at == ']' && !is_quoted)
			return at + 1;
	}
	return NULL;
}

/* Skips section headers, and sets *@ret_rest to what follows them. */
static bool is_fine(const char *line, size_t len, struct span *section, const char **ret_rest)
{
	const char *end = line + len;

	for (;;) {
		while (line < end && isspace((unsigned char)*line))
			line++;
		*ret_rest = line;
		if (line == end || *line != '[')
			break;
		line = read_section(line, (size_t)(end - line), section);
		if (!line)
			return false;
	}
	len = (size_t)(end - line);
	while (len > 0 && isspace((unsigned char)line[len - 1]))
		len--;
	return len == 0 || *line == '#' || *line == ';' || is_harmless(section, line, len);
}

void git_config_each(const char *text, size_t len, git_config_fn each, void *arg)
{
	struct span section = { "", 0 };
	const char *end = text + len;

	for (const char *line = text; line < end;) {
		const char *next = memchr(line, '\n', (size_t)(end - line)), *rest = line;
		size_t size = (size_t)((next ? next : end) - line);

		/* git continues to read after a NUL, also in a comment. */
		bool is_harmful =
			!is_fine(line, size, &section, &rest) || memchr(line, '\0', size) != NULL;

		if (is_harmful && !each(line, rest, line + size, arg))
			return;
		line += size + (next != NULL);
	}
}

static bool note_first(const char *line, const char *rest, const char *end, void *arg)
{
	size_t size;

	while (line < end && (*line == ' ' || *line == '\t'))
		line++;
	size = (size_t)(end - line);
	*(char **)arg = mem_strndup(line, size < SHOWN_MAX ? size : SHOWN_MAX);
	return false;
}

char *git_config_runs(const char *text, size_t len)
{
	char *line = NULL;

	git_config_each(text, len, note_first, &line);
	return line;
}
