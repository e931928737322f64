#include "exec/view/view_protect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "exec/exec_sandbox.h"
#include "exec/sandbox/mounts.h"
#include "exec/sandbox/paths.h"
#include "exec/sandbox/plan.h"
#include "exec/view/view_git.h"
#include "exec/view/view_named.h"
#include "exec/view/view_place.h"
#include "exec/run/wire.h"
#include "policies/policies_protected.h"

/* Files that run code later are searched for in the directories that the command may write, and
 * become read-only. The search is level by level, so that a limit leaves out the deepest ones.
 * docs/decisions/0035. */

#define ENTRIES_MAX 1000000

struct search {
	struct plan *plan;
	const struct policy_protection *protection;
	struct paths queue; /* directories; those before @next have been read */
	size_t next;
	unsigned int left; /* entries that may still be read */
	dev_t device;      /* of the root: other file systems inside it are read-only */
};

/* The relevant contents of one directory. */
struct found {
	struct paths inner;
	bool has_head, has_objects, has_refs, has_commondir, has_config, has_hooks;
};

/* @name: the entry of @directory that @line begins with, or that its star stands for. */
static void protect_line(struct search *search, const char *directory, const char *line,
			 const char *name)
{
	auto_free char *path = mem_printf("%s/%s", strcmp(directory, "/") == 0 ? "" : directory,
					  line[0] == '*' ? name : line);

	if (policy_protected_is(search->protection, path, NULL))
		view_place_keep(search->plan, path);
}

/* Protects what the lines that begin with @name describe, at @directory. */
static void protect_name(struct search *search, const char *directory, const char *name)
{
	const char *const *given = search->protection->protect;
	size_t count;
	const struct policy_protected_line *lines = policy_protected_lines(&count);

	for (size_t i = 0; i < count; i++)
		if (lines[i].where == POLICY_PROTECTED_ANYWHERE &&
		    policy_protected_line_begins(lines[i].path, name))
			protect_line(search, directory, lines[i].path, name);
	for (; given && *given; given++)
		if (policy_protected_line_begins(*given, name))
			protect_line(search, directory, *given, name);
}

/* What the lines describe at @root, if they begin above it: ".config/systemd" in ~/.config. */
static void protect_from_above(struct search *search, const char *root)
{
	size_t count;
	const struct policy_protected_line *lines = policy_protected_lines(&count);

	for (const char *slash = strrchr(root, '/'); slash;
	     slash = memrchr(root, '/', (size_t)(slash - root))) {
		auto_free char *above = mem_strndup(root, (size_t)(slash - root));

		for (size_t i = 0; i < count; i++)
			if (policy_protected_line_begins(lines[i].path, slash + 1))
				protect_line(search, above, lines[i].path, slash + 1);
		for (const char *const *given = search->protection->protect; given && *given;
		     given++)
			if (policy_protected_line_begins(*given, slash + 1))
				protect_line(search, above, *given, slash + 1);
	}
}

static bool is_directory(const struct search *search, int fd, const struct dirent *entry)
{
	struct stat what;

	if (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN)
		return false;
	return fstatat(fd, entry->d_name, &what, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(what.st_mode) && what.st_dev == search->device;
}

/* Some file systems ignore the case of letters: so names are compared without it, and what they
 * begin is looked up with the case that programs use. */
static void look_at(struct search *search, const char *path, int fd, const struct dirent *entry,
		    struct found *found)
{
	const char *name = entry->d_name;

	found->has_head |= strcasecmp(name, "HEAD") == 0;
	found->has_objects |= strcasecmp(name, "objects") == 0;
	found->has_refs |= strcasecmp(name, "refs") == 0;
	found->has_commondir |= strcasecmp(name, "commondir") == 0;
	found->has_config |= strcasecmp(name, "config") == 0 && entry->d_type != DT_DIR;
	found->has_hooks |= strcasecmp(name, "hooks") == 0;
	if (policy_protected_begins(search->protection, name))
		protect_name(search, path, name);
	if (is_directory(search, fd, entry)) {
		auto_free char *inner =
			mem_printf("%s/%s", strcmp(path, "/") == 0 ? "" : path, name);

		paths_add(&found->inner, inner);
	} else if (strcasecmp(name, ".git") == 0) {
		auto_free char *link = mem_printf("%s/.git", path);

		if (policy_protected_find(search->protection, link, NULL))
			view_git_protect_link(search->plan, search->protection, link);
	}
}

static const char *name_of(const char *path)
{
	return strrchr(path, '/') + 1;
}

static bool holds_repositories(const char *path)
{
	for (const char *const *inner = policy_protected_git_inner; *inner; inner++)
		if (strcasecmp(name_of(path), *inner) == 0)
			return true;
	return false;
}

/* Is @path below a folder .git? Everything there is judged by its name. */
static bool is_below_git(const char *path)
{
	return strcasestr(path, "/.git/") != NULL;
}

/* Of git's own folders, only those that contain others are searched, because there are many
 * objects. A command may remove everything that is not protected, so that the rest is not
 * recognised as a repository: so a name is sufficient, and so are the remains of a repository that
 * has no such name. */
static void go_on(struct search *search, const char *path, const struct found *found)
{
	bool is_repository = found->has_head &&
			     ((found->has_objects && found->has_refs) || found->has_commondir);
	bool is_git = is_repository || strcasecmp(name_of(path), ".git") == 0;

	if (is_git || is_below_git(path) || (found->has_config && found->has_hooks))
		view_git_protect(search->plan, search->protection, path);
	if (is_git)
		view_git_keep_links(search->plan, search->protection, path, &search->left);
	for (size_t i = 0; i < found->inner.count; i++) {
		const char *inner = found->inner.list[i];

		if (is_git ? holds_repositories(inner)
			   : mounts_access(search->plan, inner) == EXEC_WRITE)
			paths_add(&search->queue, inner);
	}
}

/* A command with our ids cannot read it either, but may change that, if we own it. */
static void note_unread(struct search *search, const char *path)
{
	struct stat what;

	if (errno != EACCES || lstat(path, &what) < 0 || what.st_uid != geteuid())
		return;
	auto_free char *line =
		mem_printf("%s cannot be read, so it was not searched for files that "
			   "run code later (.git/hooks, .vscode and the like)",
			   path);

	paths_add(&search->plan->warnings, line);
}

/* Root's command has no rights over the files of other users, so it can neither enter what only
 * they may enter, nor can a mount be made there. */
static bool is_closed(int fd)
{
	struct stat what;

	if (geteuid() != 0 || fstat(fd, &what) < 0 || what.st_uid == 0)
		return false;
	bool is_of_group = what.st_gid == getegid() || group_member(what.st_gid);

	return (what.st_mode & (is_of_group ? S_IXGRP : S_IXOTH)) == 0;
}

static void read_directory(struct search *search, const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *directory = fd < 0 || is_closed(fd) ? NULL : fdopendir(fd);
	struct found found = { 0 };
	const struct dirent *entry;

	if (fd < 0)
		note_unread(search, path);
	if (!directory) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	while (search->left > 0 && (entry = readdir(directory)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		search->left--;
		look_at(search, path, fd, entry, &found);
	}
	(void)closedir(directory);
	go_on(search, path, &found);
	paths_done(&found.inner);
}

/* More than can be protected: each path is compared with all others, so the search ends here. */
static bool is_too_much(const struct plan *plan)
{
	return plan->read_only.count + plan->pins.count > WIRE_MOUNTS_MAX ||
	       plan->named >= VIEW_NAMED_MAX;
}

static void search_root(struct search *search, const char *root)
{
	struct stat what;

	if (stat(root, &what) < 0)
		return;
	protect_from_above(search, root);
	search->device = what.st_dev;
	search->next = 0;
	paths_done(&search->queue);
	paths_add(&search->queue, root);
	while (search->next < search->queue.count && search->left > 0 && !is_too_much(search->plan))
		read_directory(search, search->queue.list[search->next++]);
	if (search->left > 0)
		return;
	auto_free char *line = mem_printf(
		"%s holds more than %d files, so its deepest folders were not searched for files "
		"that run code later (.git/hooks, .vscode and the like); those are not protected",
		root, ENTRIES_MAX);

	paths_add(&search->plan->warnings, line);
}

static void protect_home_line(struct search *search, const char *home, const char *line,
			      bool is_searched)
{
	auto_free char *path = mem_printf("%s/%s", home, line);
	struct stat what;

	if (lstat(path, &what) < 0)
		return;
	protect_line(search, home, line, line);
	if (!is_searched && policy_protected_is(search->protection, path, NULL))
		view_place_keep_led(search->plan, search->protection, path);
}

/* Marks each line that an entry of @home begins. One reading costs less than a look at each name,
 * because most are missing. False: @home cannot be read. */
static bool find_lines(const char *home, const struct policy_protected_line *lines, size_t count,
		       bool *is_there)
{
	DIR *directory = opendir(home);
	const struct dirent *entry;

	if (!directory)
		return false;
	while ((entry = readdir(directory)) != NULL)
		for (size_t i = 0; i < count; i++)
			is_there[i] |= policy_protected_line_begins(lines[i].path, entry->d_name);
	(void)closedir(directory);
	return true;
}

/* If a home is not writable itself, files in it may still be links into what is: ~/.bashrc to
 * ~/dotfiles/bashrc. */
static void protect_home(struct search *search, const char *home)
{
	bool is_searched = paths_holder(&search->plan->writable, home) != NULL;
	size_t count;
	const struct policy_protected_line *lines = policy_protected_lines(&count);
	auto_free bool *is_there = mem_new(count * sizeof(*is_there));
	bool is_read = find_lines(home, lines, count, is_there);

	for (size_t i = 0; i < count; i++)
		if ((lines[i].where == POLICY_PROTECTED_HOME || !is_searched) &&
		    (is_there[i] || !is_read))
			protect_home_line(search, home, lines[i].path, is_searched);
}

static int protect_given(struct plan *plan, const struct policy_protection *protection,
			 struct err *why)
{
	for (const char *const *given = protection->protect; given && *given; given++) {
		auto_free char *path = NULL;

		if ((*given)[0] != '/')
			continue;
		int r = paths_resolve(*given, &plan->writable, &path, why);

		if (r < 0 && r != -ENOENT)
			return err_prefix(why, r, "cannot protect a path");
		if (r == -ENOENT && mounts_access(plan, path) == EXEC_WRITE)
			return err_set(why, r,
				       "%s does not exist, and the command could create it, "
				       "because it can write there; create it first",
				       *given);
		if (r == 0)
			view_place_keep(plan, path);
	}
	return 0;
}

/* Is it in a folder whose files run code later? Work trees are often put into one, by agents. */
static bool is_in_protected(const struct policy_protection *protection, const char *cwd)
{
	auto_free char *tree = mem_printf("%s/.git", cwd);

	for (const char *const *given = protection->named; given && *given; given++)
		if (paths_is_within(cwd, *given))
			return false;
	return policy_protected_find(protection, cwd, NULL) && access(tree, F_OK) < 0;
}

int view_protect_place(const struct plan *plan, const struct policy_protection *protection,
		       struct err *why)
{
	bool is_judged = protection && !(plan->flags & WIRE_OPEN) &&
			 mounts_access(plan, plan->cwd) == EXEC_WRITE;
	const char *words = is_judged ? policy_protected_place(protection, plan->cwd) : NULL;

	if (is_judged && !words && is_in_protected(protection, plan->cwd))
		words = "its files run code later";

	return words ? err_set(why, -EPERM,
			       "the command would be able to write in its working directory %s, "
			       "and %s; "
			       "start it in a directory of its own, or name this one: --write %s",
			       plan->cwd, words, plan->cwd)
		     : 0;
}

int view_protect(struct plan *plan, const struct policy_protection *protection, struct err *why)
{
	struct search search = { .plan = plan, .protection = protection, .left = ENTRIES_MAX };

	if (!protection || (plan->flags & WIRE_OPEN))
		return 0;
	size_t before = plan->read_only.count;
	int r = protect_given(plan, protection, why);

	for (const char *const *home = protection->homes; home && *home && r == 0; home++)
		protect_home(&search, *home);
	for (size_t i = 0; r == 0 && i < plan->writable.count; i++)
		if (view_place_begins(plan, i))
			search_root(&search, plan->writable.list[i]);
	paths_done(&search.queue);
	for (size_t i = before; i < plan->read_only.count && !is_too_much(plan); i++)
		view_place_keep_led(plan, protection, plan->read_only.list[i]);
	return r == 0 && is_too_much(plan)
		       ? err_set(why, -E2BIG,
				 "the directories that the command may write hold too many files "
				 "that run code later (.git/hooks, .vscode and the like), or git "
				 "configurations that name too many paths, to protect them all; "
				 "remove some, or start it in a directory that holds fewer")
		       : r;
}
