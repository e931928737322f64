#include "exec/view_git.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "exec/paths.h"
#include "exec/plan.h"
#include "exec/view.h"
#include "policies/policies_protected.h"

#define CONFIG_MAX                                                                                 \
	65536 /* of a longer one what is behind is not looked at: it is protected itself */

/* Whose values are programs or files of configuration. In any section, since a path that is
 * protected in vain does little harm. */
static const struct {
	const char *key;
	bool is_path; /* else a command, which is a file of the repository only with a slash in it
		       */
} keys[] = {
	{ "hookspath", true }, { "path", true },           { "excludesfile", true },
	{ "textconv", false }, { "attributesfile", true }, { "fsmonitor", false },
	{ "pager", false },    { "sshcommand", false },    { "editor", false },
	{ "askpass", false },  { "gitproxy", false },      { "command", false },
	{ "clean", false },    { "smudge", false },        { "process", false },
	{ "driver", false },   { "cmd", false },           { "program", false },
	{ "helper", false },
};

static bool is_freed(const struct policy_protection *protection, const char *directory,
		     const char *part)
{
	/* `unprotect .git/config` means that of a submodule, too. */
	auto_free char *path = mem_printf("%s/%s", directory, part);
	auto_free char *plain = mem_printf("/.git/%s", part);

	return policy_protected_is_freed(protection, path) ||
	       policy_protected_is_freed(protection, plain);
}

static char *parent_of(const char *path)
{
	char *parent = mem_strdup(path);
	char *slash = strrchr(parent, '/');

	slash[slash == parent ? 1 : 0] = '\0';
	return parent;
}

/* The first word of a value, without quotes: a program, with what it is told; or a path. */
static char *first_word(const char *value)
{
	const char *at = value;

	while (*at == ' ' || *at == '\t' || *at == '"' || *at == '\'' || *at == '!')
		at++;
	return mem_strndup(at, strcspn(at, " \t\"';#"));
}

/* git looks from the work tree for programs and hooks, from its own folder for what is included. */
static void protect_value(struct plan *plan, const struct policy_protection *protection,
			  const char *directory, const char *value)
{
	auto_free char *word = first_word(value), *above = parent_of(directory);
	const char *const bases[] = { above, directory };
	const char *home = getenv("HOME");

	for (size_t i = 0; word[0] != '\0' && i < ARRAY_SIZE(bases); i++) {
		auto_free char *given = word[0] == '/' ? mem_strdup(word)
					: word[0] == '~' && word[1] == '/' && home && home[0] == '/'
						? mem_printf("%s%s", home, word + 1)
						: mem_printf("%s/%s", bases[i], word);
		auto_free char *path = NULL;

		if (paths_resolve(given, NULL, &path, NULL) == 0 && strcmp(path, above) != 0 &&
		    !paths_is_within(directory, path) &&
		    !policy_protected_is_freed(protection, path))
			view_protect_path(plan, path);
	}
}

/* "key = value": the value, when the key is one of those; else NULL. */
static const char *value_of(char *line)
{
	char *key = line + strspn(line, " \t");
	size_t len = 0;

	while (isalnum((unsigned char)key[len]) || key[len] == '-')
		len++;
	char *value = key + len + strspn(key + len, " \t");

	if (*value != '=')
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strlen(keys[i].key) == len && strncasecmp(keys[i].key, key, len) == 0)
			return keys[i].is_path || strchr(value, '/') ? value + 1 : NULL;
	return NULL;
}

/* What @file, which may be a link or missing, names. */
static void protect_named(struct plan *plan, const struct policy_protection *protection,
			  const char *directory, const char *file)
{
	auto_free char *path = mem_printf("%s/%s", directory, file);
	auto_close int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	auto_free char *text = mem_new(CONFIG_MAX + 1);
	ssize_t n = fd < 0 ? 0 : read(fd, text, CONFIG_MAX);
	char *rest = text, *line;

	text[n > 0 ? n : 0] = '\0';
	while ((line = strsep(&rest, "\n"))) {
		/* "[core] hooksPath = x" is one line as well. */
		char *after = line[strspn(line, " \t")] == '[' ? strchr(line, ']') : NULL;
		const char *value = value_of(after ? after + 1 : line);

		if (value)
			protect_value(plan, protection, directory, value);
	}
}

void view_git_protect(struct plan *plan, const struct policy_protection *protection,
		      const char *directory)
{
	for (const char *const *part = policy_protected_git; *part; part++) {
		auto_free char *path = mem_printf("%s/%s", directory, *part);

		if (!is_freed(protection, directory, *part))
			view_protect_path(plan, path);
	}
	protect_named(plan, protection, directory, "config");
	protect_named(plan, protection, directory, "config.worktree");
}
