#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "policies/configured/configured_impl.h"

#define GIT_PARENTS_MAX 64   /* folders between the working folder and its repository */
#define GIT_PATH_MAX    4096 /* bytes of a path in .git and commondir */

static int git_parse_repository(struct reading *reading, const char *text, size_t len)
{
	return git_config_read(reading, text, len, true);
}

static int git_parse_shared(struct reading *reading, const char *text, size_t len)
{
	return git_config_read(reading, text, len, false);
}

static bool git_is_kind(const struct setting *setting, const char *kind)
{
	size_t len = strlen(kind);

	return strncmp(setting->key, kind, len) == 0 && setting->key[len] == ' ';
}

/* Replaces the longest insteadOf that @url begins with by its base. Returned owned. */
static char *git_rewrite(const struct reading *reading, const char *url, const char *kind,
			 bool *ret_any)
{
	const struct setting *best = NULL;

	for (size_t i = 0; i < reading->setting_count; i++) {
		const struct setting *base = &reading->settings[i];
		size_t len = strlen(base->where);

		if (!git_is_kind(base, kind) || strncmp(url, base->where, len) != 0)
			continue;
		if (!best || len > strlen(best->where))
			best = base;
	}
	*ret_any = best != NULL;
	return best ? mem_printf("%s%s", best->value, url + strlen(best->where)) : mem_strdup(url);
}

/* A URL, or "[user@]host:path" as for scp (git-clone(1), GIT URLS). A path on this machine has a
 * slash before its first colon, or no colon. */
static int git_add(struct reading *reading, const char *where, const char *text)
{
	size_t len = strlen(text), host = strcspn(text, ":/");

	if (strstr(text, "::") && strcspn(text, ":") == (size_t)(strstr(text, "::") - text)) {
		reading_remark(reading, "%s: left out, because another program fetches it", where);
		return 0;
	}
	if (strstr(text, "://"))
		return reading_url(reading, where, text, len);
	const char *user = memchr(text, '@', host), *name = user ? user + 1 : text;
	const char *bracket = name[0] == '[' ? strchr(name, ']') : NULL;

	if (bracket && bracket[1] == ':')
		host = (size_t)(bracket + 1 - text);
	if (text[host] != ':')
		return 0;
	auto_free char *url = mem_printf("ssh://%.*s/", (int)host, text);

	return reading_url(reading, where, url, strlen(url));
}

static int git_use_remote(struct reading *reading, const struct setting *setting)
{
	bool is_rewritten = false;
	auto_free char *fetch = git_rewrite(reading, setting->value, "base", &is_rewritten);
	auto_free char *push = NULL;
	int r = git_add(reading, setting->where, fetch);

	if (r < 0 || !git_is_kind(setting, "remote"))
		return r;
	push = git_rewrite(reading, setting->value, "pushbase", &is_rewritten);
	return is_rewritten ? git_add(reading, setting->where, push) : 0;
}

/* Keeps the path in the first line of the file ".git" of a separate working tree, or of "commondir"
 * (gitrepository-layout(5)). */
static int git_keep_path(struct reading *reading, const char *key, const char *text, size_t len)
{
	struct lines lines = { .at = text, .left = len };
	const char *where = reading_where(reading, 1);

	if (!lines_next(&lines) || lines.len == 0 || lines.len > GIT_PATH_MAX)
		return reading_refuse(reading, where, "the value is not a path");
	return reading_set(reading, key, lines.text, lines.len, where);
}

static int git_parse_link(struct reading *reading, const char *text, size_t len)
{
	static const char mark[] = "gitdir:";
	size_t skip = sizeof(mark) - 1;

	if (len < skip || memcmp(text, mark, skip) != 0)
		return reading_refuse(reading, reading_where(reading, 1),
				      "the file is not \"gitdir: PATH\"");
	return git_keep_path(reading, "gitdir", text + skip, len - skip);
}

static int git_parse_common(struct reading *reading, const char *text, size_t len)
{
	return git_keep_path(reading, "commondir", text, len);
}

/* @path relative to @folder. Returned owned. */
static char *git_path(const char *folder, const char *path)
{
	return path[0] == '/' ? mem_strdup(path) : mem_printf("%s/%s", folder, path);
}

/* A submodule's folder has a configuration of its own; a worktree's folder names the one that it
 * shares. */
static int git_read_elsewhere(struct reading *reading, const char *folder)
{
	auto_free char *place = git_path(folder, reading_get(reading, "gitdir")->value);
	auto_free char *own = mem_printf("%s/config", place);
	auto_free char *link = mem_printf("%s/commondir", place);
	int r = reading_file(reading, own, git_parse_repository);

	if (r != 0)
		return r;
	r = reading_file(reading, link, git_parse_common);
	if (r <= 0)
		return r;
	auto_free char *common = git_path(place, reading_get(reading, "commondir")->value);
	auto_free char *config = mem_printf("%s/config", common);

	return reading_file(reading, config, git_parse_repository);
}

/* 1: @folder has a repository, and its remotes were read. */
static int git_read_repository(struct reading *reading, const char *folder)
{
	auto_free char *path = mem_printf("%s/.git/config", folder);
	auto_free char *link = mem_printf("%s/.git", folder);
	auto_free char *modules = mem_printf("%s/.gitmodules", folder);
	int r = reading_file(reading, path, git_parse_repository);

	if (r == 0) {
		r = reading_file(reading, link, git_parse_link);
		r = r > 0 ? git_read_elsewhere(reading, folder) : r;
	}
	if (r <= 0)
		return r;
	/* Of submodules that are not fetched yet. */
	r = reading_file(reading, modules, git_parse_repository);
	return r < 0 ? r : 1;
}

static int git_find_repository(struct reading *reading, const char *cwd)
{
	auto_free char *folder = mem_strdup(cwd);

	for (unsigned int i = 0; i < GIT_PARENTS_MAX; i++) {
		int r = git_read_repository(reading, folder);
		char *slash = strrchr(folder, '/');

		/* A repository that cannot be read hides those above it, as it does for git. */
		if (r != 0 || reading_get(reading, "gitdir"))
			return r;
		if (!slash)
			break;
		*slash = '\0';
	}
	return 0;
}

static int git_read_shared(struct reading *reading)
{
	int r = reading_below(reading, NULL, ".gitconfig", "", git_parse_shared);

	if (r >= 0)
		r = reading_below(reading, "XDG_CONFIG_HOME", ".config", "/git/config",
				  git_parse_shared);
	return r >= 0 ? reading_file(reading, "/etc/gitconfig", git_parse_shared) : r;
}

/* A repository's configuration is the project's, in any folder above the working folder, and a
 * command can write it: it could add a remote that the next run would allow. */
static int git_read(struct reading *reading)
{
	const struct configured_environment *env = reading->env;
	struct configured_environment all_within = *env;

	if ((!env->is_project_trusted && !env->is_trusted) || !env->cwd) {
		reading_note(reading, "the remotes of this repository are not read, because the "
				      "command can write them; trust the project first");
		return 0;
	}
	all_within.cwd = "/";
	reading->env = &all_within;
	int r = git_find_repository(reading, env->cwd);

	reading->env = env;
	if (r == 0)
		reading_remark(reading,
			       "the working directory is not in a git repository that can be read");
	if (r > 0)
		r = git_read_shared(reading);
	for (size_t i = 0; r >= 0 && i < reading->setting_count; i++) {
		const struct setting *setting = &reading->settings[i];

		if (git_is_kind(setting, "remote") || git_is_kind(setting, "push"))
			r = git_use_remote(reading, setting);
	}
	return r < 0 ? r : 0;
}

const struct configured_ops git_ops = { .name = "git", .read = git_read };
