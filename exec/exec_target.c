#include "exec/exec_target.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "exec/exec_sandbox.h"
#include "exec/sandbox/paths.h"
#include "exec/sandbox/plan.h"
#include "exec/view/view_protect.h"
#include "exec/view/view_repository.h"
#include "policies/policies_protected.h"

/* A path with a rule, identified by its name and, if it exists, by its inode: another name of the
 * same folder, through a mount or a hard link, does not bypass the rule. */
struct mark {
	char *path; /* canonical, owned */
	bool is_there;
	const char *kept; /* why it may not be changed; NULL: it may */
	dev_t device;
	ino_t inode;
	enum exec_access access;
};

struct exec_target_view {
	struct mark *marks;
	size_t count;
	enum exec_target otherwise; /* the result if no mark applies */
	const struct policy_protection *protection;
	struct paths theirs; /* borrowed: a link there gives no write access */
};

static void add(struct exec_target_view *view, const char *given, const char *kept,
		enum exec_access access)
{
	struct mark *mark;
	auto_free char *path = NULL;
	struct stat what;
	int r = paths_resolve_shared(given, access == EXEC_WRITE ? &view->theirs : NULL, &path,
				     NULL);

	/* An entry whose path cannot be resolved gives no write access; a restriction applies by
	 * its name. */
	if (r < 0 && r != -ENOENT && access == EXEC_WRITE)
		return;
	view->marks = mem_grow(view->marks, view->count + 1, sizeof(*view->marks));
	mark = &view->marks[view->count++];
	*mark = (struct mark){ .path = path ? take(path) : mem_strdup(given),
			       .kept = kept,
			       .access = access };
	if (paths_look(mark->path, true, &what) < 0)
		return;
	mark->is_there = true;
	mark->device = what.st_dev;
	mark->inode = what.st_ino;
}

void exec_target_view_keep(struct exec_target_view *view, const char *const *paths)
{
	for (; paths && *paths; paths++)
		add(view, *paths, "hidden, or belongs to the gate, and cannot be changed",
		    EXEC_DENY);
}

/* The paths of @sandbox as its view has them, if they exist. */
static void add_entries(struct plan *plan, const struct exec_sandbox *sandbox)
{
	struct paths *const lists[] = {
		[EXEC_DENY] = &plan->hidden,
		[EXEC_READ] = &plan->readable,
		[EXEC_WRITE] = &plan->writable,
	};
	size_t count;
	const struct exec_entry *entries = exec_sandbox_entries(sandbox, &count);

	for (size_t i = 0; i < count; i++) {
		auto_free char *path = NULL;

		if (paths_resolve_shared(entries[i].path, NULL, &path, NULL) == 0 &&
		    !paths_has(lists[entries[i].access], path))
			paths_add(lists[entries[i].access], path);
	}
}

/* Adds what the view of commands protects, including what cannot be recognised by name: a
 * repository that is not called .git, and the target of a protected link. */
static int add_protected(struct exec_target_view *view, const struct exec_sandbox *sandbox,
			 const char *cwd, struct err *why)
{
	struct plan *plan = mem_new(sizeof(*plan));
	int r = paths_resolve(cwd, NULL, &plan->cwd, why);

	plan->is_look = true; /* nothing is created, because no command starts */
	if (r == 0) {
		add_entries(plan, sandbox);
		view_repository(plan, view->protection);
		r = view_protect(plan, view->protection, why);
	}
	for (size_t i = 0; r == 0 && i < plan->read_only.count; i++)
		add(view, plan->read_only.list[i],
		    "protected, because programs run code from there later; an `unprotect` line in "
		    "the policy opens it",
		    EXEC_DENY);
	plan_free(plan);
	return r;
}

struct exec_target_view *exec_target_view_new_empty(void)
{
	return mem_new(sizeof(struct exec_target_view));
}

struct exec_target_view *exec_target_view_new(const struct exec_sandbox *sandbox, const char *cwd,
					      const struct policy_protection *protection,
					      char **theirs, struct err *why)
{
	struct exec_target_view *view = mem_new(sizeof(*view));
	static const struct policy_protection nothing;
	size_t count;
	const struct exec_entry *entries = exec_sandbox_entries(sandbox, &count);

	view->theirs = paths_of((const char *const *)theirs);
	view->otherwise = exec_sandbox_files(sandbox) == EXEC_FILES_RESTRICTED ? EXEC_TARGET_OUTSIDE
									       : EXEC_TARGET_INSIDE;
	for (size_t i = 0; i < count; i++)
		add(view, entries[i].path, NULL, entries[i].access);
	view->protection = protection ? protection : &nothing;
	if (exec_sandbox_files(sandbox) == EXEC_FILES_RESTRICTED &&
	    add_protected(view, sandbox, cwd, why) < 0) {
		exec_target_view_free(view);
		return NULL;
	}
	return view;
}

void exec_target_view_free(struct exec_target_view *view)
{
	if (!view)
		return;
	for (size_t i = 0; i < view->count; i++)
		free(view->marks[i].path);
	free(view->marks);
	free(view);
}

/* Is it protected by name, in every sandbox? By the table, which the view uses as well; and the
 * whole of git's folder, in any letter case, because a file system may ignore case. */
static bool is_protected(const struct exec_target_view *view, const char *path, struct err *why)
{
	const char *line = NULL;
	bool is = policy_protected_find(view->protection, path, &line);

	for (const char *at = path; *at && !is; at += strcspn(at, "/")) {
		at += strspn(at, "/");
		is = strcspn(at, "/") == 4 && strncasecmp(at, ".git", 4) == 0 &&
		     !policy_protected_is_freed(view->protection, path);
	}
	if (is)
		(void)err_set(why, -EPERM,
			      "%.300s is protected, because programs run code from there later "
			      "(%.100s); an `unprotect` line in the policy opens it",
			      path, line ? line : ".git");
	return is;
}

/* Applies @mark, which is @path or contains it, to the result so far, *@target. */
static void apply(const struct mark *mark, enum exec_target *target, bool *ret_is_said)
{
	static const enum exec_target targets[] = {
		[EXEC_DENY] = EXEC_TARGET_REFUSED,
		[EXEC_READ] = EXEC_TARGET_OUTSIDE,
		[EXEC_WRITE] = EXEC_TARGET_INSIDE,
	};
	enum exec_target says = targets[mark->access];

	if (!*ret_is_said || says < *target)
		*target = says;
	*ret_is_said = true;
}

static bool is_mark_of(const struct mark *mark, const char *path, const struct stat *what)
{
	return strcmp(mark->path, path) == 0 ||
	       (what && mark->is_there && mark->device == what->st_dev &&
		mark->inode == what->st_ino);
}

/* Removes the last component of @path. False: it was the root. */
static bool step_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (strcmp(path, "/") == 0)
		return false;
	slash[slash == path] = '\0';
	return true;
}

/* Why a canonical place may not be changed. NULL: nothing that contains it is kept. */
static const char *why_kept(const struct exec_target_view *view, const char *place)
{
	auto_free char *path = mem_strdup(place);

	do {
		struct stat what;
		bool is_there = paths_look(path, false, &what) == 0;

		for (size_t i = 0; i < view->count; i++)
			if (view->marks[i].kept &&
			    is_mark_of(&view->marks[i], path, is_there ? &what : NULL))
				return view->marks[i].kept;
	} while (step_up(path));
	return NULL;
}

bool exec_target_is_kept(const struct exec_target_view *view, const char *path, struct err *why)
{
	auto_free char *place = NULL;
	int r = paths_resolve_shared(path, NULL, &place, why);

	if (r < 0 && r != -ENOENT)
		return true;
	const char *kept = why_kept(view, place ? place : path);

	if (kept)
		(void)err_set(why, -EPERM, "%.300s is %s", path, kept);
	return kept != NULL;
}

/* The innermost mark decides; a kept mark applies at any depth. */
static enum exec_target judge_marks(const struct exec_target_view *view, const char *place,
				    struct err *why)
{
	auto_free char *path = mem_strdup(place);
	enum exec_target target = view->otherwise;
	const char *kept = why_kept(view, place);
	bool is_said = false;

	if (kept) {
		(void)err_set(why, -EPERM, "%.300s is %s", place, kept);
		return EXEC_TARGET_REFUSED;
	}
	do {
		struct stat what;
		bool is_there = paths_look(path, false, &what) == 0;

		for (size_t i = 0; i < view->count; i++)
			if (is_mark_of(&view->marks[i], path, is_there ? &what : NULL))
				apply(&view->marks[i], &target, &is_said);
	} while (!is_said && step_up(path));
	if (target == EXEC_TARGET_REFUSED)
		(void)err_set(why, -EPERM, "the session's sandbox denies %.300s", place);
	else if (target == EXEC_TARGET_OUTSIDE)
		(void)err_set(
			why, -EPERM,
			"%.300s is outside the places where the session's sandbox allows writing",
			place);
	return target;
}

/* Judges a canonical place, at which there is a file or nothing. */
static enum exec_target judge_place(const struct exec_target_view *view, const char *place,
				    struct err *why)
{
	struct stat what;
	int r = paths_look(place, false, &what);
	bool is_there = r == 0;

	if (!is_there && r != -ENOENT) {
		(void)err_errno(why, -r, "%.300s", place);
		return EXEC_TARGET_REFUSED;
	}
	if (is_protected(view, place, why))
		return EXEC_TARGET_REFUSED;
	if (is_there && !S_ISREG(what.st_mode) && !S_ISLNK(what.st_mode)) {
		(void)err_set(why, -EINVAL, "%.300s is not a file", place);
		return EXEC_TARGET_REFUSED;
	}
	enum exec_target target = judge_marks(view, place, why);

	if (target != EXEC_TARGET_INSIDE || !is_there || !S_ISREG(what.st_mode) ||
	    what.st_nlink == 1)
		return target;
	(void)err_set(why, -EPERM,
		      "%.300s has several names (hard links), and the places of the other names "
		      "are unknown",
		      place);
	return EXEC_TARGET_OUTSIDE;
}

/* Resolves the folder, and appends the name. */
static int find_place(const char *path, char **ret, struct err *why)
{
	auto_free char *folder = mem_strdup(path);
	auto_free char *real = NULL;
	const char *name = strrchr(path, '/') + 1;

	if (path[0] != '/' || name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return err_set(why, -EINVAL, "%.300s is not the path of a file", path);
	(void)step_up(folder);
	int r = paths_resolve_shared(folder, NULL, &real, why);

	if (r < 0 && r != -ENOENT)
		return r;
	*ret = mem_printf("%s/%s", strcmp(real, "/") == 0 ? "" : real, name);
	return 0;
}

/* The final target of a link; NULL: it is not a link. */
static int find_end(const char *place, char **ret, struct err *why)
{
	struct stat what;

	if (paths_look(place, false, &what) < 0 || !S_ISLNK(what.st_mode))
		return 0;
	int r = paths_resolve_shared(place, NULL, ret, why);

	return r == -ENOENT ? 0 : r;
}

enum exec_target exec_target_judge(const struct exec_target_view *view, const char *path,
				   char ***ret_places, struct err *why)
{
	auto_free char *place = NULL, *end = NULL;

	if (find_place(path, &place, why) < 0 || find_end(place, &end, why) < 0)
		return EXEC_TARGET_REFUSED;
	struct err of_end = { 0 };
	enum exec_target target = judge_place(view, place, why);
	enum exec_target by_end = end ? judge_place(view, end, &of_end) : EXEC_TARGET_INSIDE;

	mem_append_list(ret_places, mem_strdup(place));
	if (end)
		mem_append_list(ret_places, mem_strdup(end));
	if (by_end < target) {
		(void)err_set(why, -EPERM, "%s", of_end.text);
		target = by_end;
	}
	/* The given name is checked as well: a link could hide it. */
	return target != EXEC_TARGET_REFUSED && is_protected(view, path, why) ? EXEC_TARGET_REFUSED
									      : target;
}
