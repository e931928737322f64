#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crypto/digest.h"
#include "base/fd.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/run/run_options.h"
#include "cli/view/reach.h"
#include "cli/view/run_places.h"
#include "cli/view/run_view.h"
#include "exec/exec_egress.h"
#include "exec/exec_plan.h"
#include "exec/exec_sandbox.h"
#include "policies/policies_load.h"

/* The caches of tools, which would be read-only in the sandbox: instead of each the command gets a
 * folder of ours. The rest of a tool's folder, such as its configuration and its credentials, stays
 * as it is. No tool outside uses our folders, so nothing that a command leaves there runs later.
 *
 * To add a cache: a line here; the table in docs/man/sallyport-tools.7; a case in
 * tests/sandbox/caches.py. */

#define PROJECTS_MAX 256
#define PARTS_MAX    6
#define ID_LEN       16

static const struct cache {
	const char *name;         /* below our folder */
	const char *variables[2]; /* of which the first that is set holds the tool's folder */
	const char *fallback;     /* below the home, or absolute; NULL: only if a variable is set */
	const char *parts[PARTS_MAX]; /* the folders in it that are caches; none: all of it */
	const char *entry;            /* what tells the tool of another folder; NULL: nothing */
	bool is_appended, is_for_root;
} caches[] = {
	{ .name = "xdg",
	  .variables = { "XDG_CACHE_HOME" },
	  .fallback = ".cache",
	  .entry = "XDG_CACHE_HOME=" },
	{ .name = "npm",
	  .variables = { "npm_config_cache", "NPM_CONFIG_CACHE" },
	  .fallback = ".npm",
	  .entry = "npm_config_cache=" },
	{ .name = "go-mod",
	  .variables = { "GOMODCACHE" },
	  .fallback = "go/pkg/mod",
	  .entry = "GOMODCACHE=" },
	{ .name = "go-build", .variables = { "GOCACHE" }, .entry = "GOCACHE=" },
	{ .name = "chromium",
	  .variables = { "CHROME_CONFIG_HOME" },
	  .fallback = ".config/chromium",
	  .entry = "CHROME_CONFIG_HOME=" },
	{ .name = "pip", .variables = { "PIP_CACHE_DIR" }, .entry = "PIP_CACHE_DIR=" },
	{ .name = "cargo",
	  .variables = { "CARGO_HOME" },
	  .fallback = ".cargo",
	  .parts = { "registry", "git" },
	  .entry = "CARGO_HOME=" },
	{ .name = "gradle",
	  .variables = { "GRADLE_USER_HOME" },
	  .fallback = ".gradle",
	  .parts = { "caches", "wrapper", "daemon", "native", "notifications" },
	  .entry = "GRADLE_USER_HOME=" },
	{ .name = "maven",
	  .fallback = ".m2/repository",
	  .entry = "MAVEN_OPTS=-Dmaven.repo.local=",
	  .is_appended = true },
	/* Only root can use these. */
	{ .name = "apt-lists", .fallback = "/var/lib/apt/lists", .is_for_root = true },
	{ .name = "apt-archives", .fallback = "/var/cache/apt", .is_for_root = true },
};

/* The caches of one directory, while they are found. */
struct finder {
	struct run_caches *found;
	const struct run_options *options;
	const char *folder; /* of ours, for all of them */
	const char *home;
};

static bool is_folder(const char *path)
{
	struct stat what;

	return stat(path, &what) == 0 && S_ISDIR(what.st_mode);
}

/* The value that the command will have: --env comes first. */
static const char *value_of(const struct finder *finder, const char *name)
{
	size_t len = name ? strlen(name) : 0;

	for (char *const *at = finder->options->env_set; len > 0 && at && *at; at++)
		if (strncmp(*at, name, len) == 0 && (*at)[len] == '=')
			return *at + len + 1;
	if (len == 0 || (finder->options->has_clean_env && strcmp(name, "HOME") != 0))
		return NULL;
	return getenv(name);
}

/* Where the tool keeps it. Returned owned; NULL: not known. */
static char *place_of(const struct finder *finder, const struct cache *cache)
{
	for (size_t i = 0; i < ARRAY_SIZE(cache->variables); i++) {
		const char *value = value_of(finder, cache->variables[i]);

		if (value && value[0])
			return value[0] == '/' ? mem_strdup(value) : NULL;
	}
	if (!cache->fallback || cache->fallback[0] == '/')
		return mem_strdup_or_null(cache->fallback);
	const char *path = value_of(finder, "GOPATH");

	if (strcmp(cache->name, "go-mod") == 0 && path && path[0])
		return path[0] == '/' && !strchr(path, ':') ? mem_printf("%s/pkg/mod", path) : NULL;
	return finder->home ? mem_printf("%s/%s", finder->home, cache->fallback) : NULL;
}

/* Takes @path and @entry. */
static void add(const struct finder *finder, const char *name, char *path, char *entry,
		bool is_appended)
{
	struct run_caches *found = finder->found;
	char *source = mem_printf("%s/%s", finder->folder, name);

	mem_append_list(&found->texts, source);
	mem_append_list(&found->texts, path);
	if (entry)
		mem_append_list(&found->texts, entry);
	if (!finder->options->is_dry_run && cli_make_dirs(source) < 0)
		return;
	found->list = mem_grow(found->list, found->count + 1, sizeof(*found->list));
	found->list[found->count++] = (struct exec_cache){
		.source = source, .path = path, .entry = entry, .is_appended = is_appended
	};
}

/* In a folder of the tool that is there. The mount needs a place on the host. */
static void add_parts(const struct finder *finder, const struct cache *cache, const char *place)
{
	for (size_t i = 0; i < PARTS_MAX && cache->parts[i]; i++) {
		auto_free char *path = mem_printf("%s/%s", place, cache->parts[i]);
		auto_free char *name = mem_printf("%s/%s", cache->name, cache->parts[i]);

		if (is_folder(path) || (!finder->options->is_dry_run && mkdir(path, 0755) == 0))
			add(finder, name, mem_strdup(path), NULL, false);
	}
}

static void find(const struct finder *finder, const struct cache *cache)
{
	auto_free char *place =
		cache->is_for_root && geteuid() != 0 ? NULL : place_of(finder, cache);

	if (!place)
		return;
	bool is_there = is_folder(place);

	if (is_there && cache->parts[0]) {
		add_parts(finder, cache, place);
	} else if (is_there) {
		add(finder, cache->name, mem_strdup(place), NULL, false);
	} else if (cache->entry) {
		char *path = mem_printf("%s/%s", EXEC_CACHES, cache->name);

		add(finder, cache->name, path, mem_printf("%s%s", cache->entry, path),
		    cache->is_appended);
	}
}

/* Identifies the working directory: another one that is made at its path later is not the same.
 * Returned owned; NULL: it cannot be identified. */
static char *project_id(const char *cwd)
{
	char digest[DIGEST_TEXT_MAX];
	struct statx what;

	if (statx(AT_FDCWD, cwd, 0, STATX_INO | STATX_BTIME, &what) < 0)
		return NULL;
	auto_free char *made = mem_printf("%" PRIu64 " %" PRId64 ".%u", (uint64_t)what.stx_ino,
					  (int64_t)what.stx_btime.tv_sec, what.stx_btime.tv_nsec);

	if (digest_text(cwd, strlen(cwd) + 1, made, strlen(made), digest) < 0)
		return NULL;
	return mem_printf("%.*s", ID_LEN, digest);
}

/* For a person who wants to know whose the folder is. */
static void note_project(const char *folder, const char *cwd)
{
	auto_free char *path = mem_printf("%s/directory", folder);
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0 && fd_write_all(fd, cwd, strlen(cwd)) == 0)
		(void)fd_write_all(fd, "\n", 1); /* only for people */
}

static enum policy_cache cache_of(const struct policy *policy, const struct run_options *options)
{
	enum policy_cache stated, asked = options->has_cache ? options->cache : POLICY_CACHE_SHARED;

	if (policy_get_cache(policy, &stated))
		return stated > asked ? stated : asked;
	return options->has_cache ? asked : POLICY_CACHE_PRIVATE;
}

static void find_all(struct run_view *view, struct run_caches *found, const struct policy *policy,
		     const struct run_options *options, const struct run_places *places)
{
	enum policy_cache cache = cache_of(policy, options);
	auto_free char *id =
		cache == POLICY_CACHE_PRIVATE ? project_id(found->cwd) : mem_strdup("shared");

	bool is_read_only = options->has_sandbox && options->sandbox == EXEC_MODE_READ_ONLY;
	auto_free char *root =
		places->state_dir ? mem_printf("%s/" REACH_CACHES, places->state_dir) : NULL;

	if (!view->cache_root)
		view->cache_root = root ? realpath(root, NULL) : NULL;
	if (cache == POLICY_CACHE_NONE || is_read_only || !id || !places->state_dir)
		return;
	auto_free char *folder = mem_printf("%s/%s", root, id);
	const struct finder finder = {
		.found = found,
		.options = options,
		.folder = folder,
		.home = value_of(&(struct finder){ .options = options }, "HOME"),
	};

	if (!options->is_dry_run && cli_make_dirs(folder) < 0)
		return;
	if (!options->is_dry_run && cache == POLICY_CACHE_PRIVATE)
		note_project(folder, found->cwd);
	for (size_t i = 0; i < ARRAY_SIZE(caches); i++)
		find(&finder, &caches[i]);
}

const struct run_caches *run_caches_of(struct run_view *view, const char *cwd,
				       const struct policy *policy,
				       const struct run_options *options,
				       const struct run_places *places)
{
	for (size_t i = 0; i < view->project_count; i++)
		if (strcmp(view->projects[i].cwd, cwd) == 0)
			return &view->projects[i];
	if (view->project_count == PROJECTS_MAX)
		return NULL;
	view->projects = mem_grow(view->projects, view->project_count + 1, sizeof(*view->projects));
	struct run_caches *found = &view->projects[view->project_count++];

	*found = (struct run_caches){ .cwd = mem_strdup(cwd) };
	find_all(view, found, policy, options, places);
	return found;
}
