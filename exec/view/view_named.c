#include "exec/view/view_named.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "exec/sandbox/paths.h"
#include "exec/sandbox/plan.h"
#include "exec/view/git_config.h"
#include "exec/view/view_place.h"
#include "policies/policies_protected.h"

#define CONFIG_MAX 65536 /* what follows is not read: the file itself is protected */
#define FILES_MAX  64    /* of one repository */

/* Which keys run something is not listed, because git gets new ones: every line that is not known
 * to be harmless counts, and a path that is protected without need does little harm. In these the
 * value is one path, perhaps a folder, and not a command. */
static const char *const paths[] = { "hookspath", "path", "excludesfile", "attributesfile",
				     "templatedir" };
static const char include[] = "path";

struct named {
	struct plan *plan;
	const struct policy_protection *protection;
	const char *directory, *tree;
	struct paths seen; /* files that have been read: one may include itself */
};

struct file {
	struct named *named;
	const char *folder; /* in which it is */
};

static void read_file(struct named *named, const char *path);

/* The key that begins at @text: its length. */
static size_t key_length(const char *text, const char *end)
{
	size_t len = 0;

	while (text + len < end && (isalnum((unsigned char)text[len]) || text[len] == '-'))
		len++;
	return len;
}

static bool is_key(const char *key, size_t len, const char *name)
{
	return strlen(name) == len && strncasecmp(key, name, len) == 0;
}

static bool is_path(const char *key, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (is_key(key, len, paths[i]))
			return true;
	return false;
}

/* A value as git reads it: without quotes, escapes, a comment and the space around it. Returned
 * owned. */
static char *value_of(const char *text, const char *end)
{
	char *value = mem_new((size_t)(end - text) + 1), *to = value;
	bool is_quoted = false;

	while (text < end && isspace((unsigned char)*text))
		text++;
	for (; text < end && (is_quoted || (*text != '#' && *text != ';')); text++) {
		if (*text == '"')
			is_quoted = !is_quoted;
		else if (*text == '\\' && text + 1 < end)
			*to++ = *++text;
		else
			*to++ = *text ? *text : ' ';
	}
	while (to > value && isspace((unsigned char)to[-1]))
		to--;
	*to = '\0';
	return value;
}

/* @given as seen from @base, canonical; returned owned, or NULL. */
static char *resolve(const char *given, const char *base)
{
	const char *home = getenv("HOME");
	auto_free char *whole = given[0] == '/' ? mem_strdup(given)
				: given[0] == '~' && given[1] == '/' && home && home[0] == '/'
					? mem_printf("%s%s", home, given + 1)
					: mem_printf("%s/%s", base, given);
	char *path = NULL;

	if (paths_resolve(whole, NULL, &path, NULL) == 0)
		return path;
	free(path);
	return NULL;
}

/* Of a canonical path. */
static bool is_file(const char *path)
{
	struct stat what;

	return lstat(path, &what) == 0 && S_ISREG(what.st_mode);
}

/* The repository and what is around it is no file that the configuration names. */
static void keep(const struct named *named, const char *path)
{
	if (!paths_is_within(named->tree, path) && !paths_is_within(named->directory, path) &&
	    !policy_protected_is_freed(named->protection, path))
		view_place_keep(named->plan, path);
}

/* git looks up programs and hooks from the work tree, and included files from the file's folder. */
static void protect_path(const struct file *file, const char *given, bool is_any)
{
	const char *const bases[] = { file->named->tree, file->folder };

	if (file->named->plan->named >= VIEW_NAMED_MAX)
		return;
	file->named->plan->named += ARRAY_SIZE(bases);
	for (size_t i = 0; given[0] != '\0' && i < ARRAY_SIZE(bases); i++) {
		auto_free char *path = resolve(given, bases[i]);

		if (path && (is_any || is_file(path)))
			keep(file->named, path);
	}
}

/* A command: its program, and the files that it gets, as in "sh tools/filter.sh %f". Without a
 * slash a word is a program in PATH, or no path at all. */
static void protect_words(const struct file *file, char *text)
{
	static const char between[] = " \t\r\n\"'`;&|()<>{}!=,";

	for (char *word; (word = strsep(&text, between)) != NULL;)
		if (strchr(word, '/'))
			protect_path(file, word, false);
}

static bool on_line(const char *line, const char *rest, const char *end, void *arg)
{
	const struct file *file = arg;
	size_t len = key_length(rest, end);
	const char *at = rest + len;

	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	bool is_setting = len > 0 && at < end && *at == '=';
	auto_free char *value = value_of(is_setting ? at + 1 : line, end);
	auto_free char *included =
		is_setting && is_key(rest, len, include) ? resolve(value, file->folder) : NULL;

	if (is_setting && is_path(rest, len)) {
		protect_path(file, value, true);
	} else {
		if (strchr(value, '/'))
			protect_path(file, value, false);
		protect_words(file, value);
	}
	if (included && is_file(included))
		read_file(file->named, included);
	return file->named->plan->named < VIEW_NAMED_MAX;
}

/* A link is followed by paths_resolve() alone, which asks no automount, and only to a regular file:
 * to open a device can have effects. */
static void read_file(struct named *named, const char *path)
{
	auto_free char *real = NULL;
	bool is_readable = paths_resolve(path, NULL, &real, NULL) == 0 && is_file(real);
	auto_close int fd =
		is_readable ? open(real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
	struct stat what;

	if (fd < 0 || fstat(fd, &what) < 0 || !S_ISREG(what.st_mode) ||
	    named->seen.count == FILES_MAX || named->plan->named >= VIEW_NAMED_MAX ||
	    paths_has(&named->seen, path))
		return;
	paths_add(&named->seen, path);
	size_t size = what.st_size < CONFIG_MAX ? (size_t)what.st_size : CONFIG_MAX;

	named->plan->named += 1 + size / 1024;
	auto_free char *folder = paths_parent(path), *text = mem_new(size + 1);
	struct file file = { named, folder };
	ssize_t n = read(fd, text, size);

	git_config_each(text, n > 0 ? (size_t)n : 0, on_line, &file);
}

static void read_in(struct named *named, const char *folder, const char *name)
{
	auto_free char *path = mem_printf("%s/%s", folder, name);

	read_file(named, path);
}

void view_named_protect(struct plan *plan, const struct policy_protection *protection,
			const char *directory, const char *tree)
{
	struct named named = { plan, protection, directory, tree, { 0 } };
	const char *home = getenv("HOME"), *config = getenv("XDG_CONFIG_HOME");

	read_in(&named, directory, "config");
	read_in(&named, directory, "config.worktree");
	read_file(&named, "/etc/gitconfig");
	if (config && config[0] == '/')
		read_in(&named, config, "git/config");
	if (home && home[0] == '/') {
		read_in(&named, home, ".gitconfig");
		read_in(&named, home, ".config/git/config");
	}
	paths_done(&named.seen);
}
