#include "exec/view/view_git.h"

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
#include "base/log.h"
#include "base/mem.h"
#include "exec/exec_sandbox.h"
#include "exec/sandbox/mounts.h"
#include "exec/sandbox/paths.h"
#include "exec/sandbox/plan.h"
#include "exec/view/view_place.h"
#include "policies/policies_protected.h"

#define CONFIG_MAX                                                                                 \
	65536 /* of a longer one what is behind is not looked at: it is protected itself */

/* Keys whose values are programs or configuration files. They count in any section, because
 * protecting a path without need does little harm. */
static const struct {
	const char *key;
	bool is_path; /* else a command, which is a file of the repository only if it has a slash */
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
	/* `unprotect .git/config` applies to that of a submodule as well. */
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

/* The first word of a value, without quotes: a program without its arguments; or a path. */
static char *first_word(const char *value)
{
	const char *at = value;

	while (*at == ' ' || *at == '\t' || *at == '"' || *at == '\'' || *at == '!')
		at++;
	return mem_strndup(at, strcspn(at, " \t\"';#"));
}

/* git looks up programs and hooks from the work tree, and included files from its own folder. */
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
			view_place_keep(plan, path);
	}
}

/* "key = value": the value, if the key is in the table; else NULL. */
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

/* Protects the files that @file names; it may be a link, or missing. */
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
		/* "[core] hooksPath = x" may be on one line as well. */
		char *after = line[strspn(line, " \t")] == '[' ? strchr(line, ']') : NULL;
		const char *value = value_of(after ? after + 1 : line);

		if (value)
			protect_value(plan, protection, directory, value);
	}
}

/* A missing folder could be created by the command, so it is created here. Unlike the other parts,
 * an empty one does no harm. */
static void make_hooks(const char *directory)
{
	auto_free char *hooks = mem_printf("%s/hooks", directory);
	auto_free char *head = mem_printf("%s/HEAD", directory);
	auto_free char *objects = mem_printf("%s/objects", directory);
	struct stat what;

	if (access(head, F_OK) < 0 || stat(objects, &what) < 0 || !S_ISDIR(what.st_mode) ||
	    mkdir(hooks, what.st_mode & 0777) < 0)
		return;
	if (geteuid() == 0 && lchown(hooks, what.st_uid, what.st_gid) < 0)
		log_debug("exec: %s is still owned by root", hooks); /* which is fine as well */
}

void view_git_protect(struct plan *plan, const struct policy_protection *protection,
		      const char *directory)
{
	if (!plan->is_look && !is_freed(protection, directory, "hooks") &&
	    mounts_access(plan, directory) == EXEC_WRITE)
		make_hooks(directory);
	for (const char *const *part = policy_protected_git; *part; part++) {
		auto_free char *path = mem_printf("%s/%s", directory, *part);

		if (!is_freed(protection, directory, *part))
			view_place_keep(plan, path);
	}
	protect_named(plan, protection, directory, "config");
	protect_named(plan, protection, directory, "config.worktree");
}
