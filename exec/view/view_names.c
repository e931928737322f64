#include "exec/view/view_names.h"

#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "exec/exec_sandbox.h"
#include "exec/sandbox/mounts.h"
#include "exec/sandbox/paths.h"
#include "exec/sandbox/plan.h"
#include "exec/view/view_place.h"

/* A mount covers one name, and a file may have several. The other names are searched for in the
 * directories that the command may use, and are covered as well. If some names of a hidden file are
 * not found, a warning says so; if some names of a read-only file may be in a directory that the
 * command may write, it is not started. docs/decisions/0034. */

#define WITHIN_MAX   2000   /* entries read in hidden directories */
#define AROUND_MAX   20000  /* and next to them, */
#define WRITABLE_MAX 500000 /* and in read-only directories, and where the command may write */

struct target {
	char *path;     /* owned */
	bool is_hidden; /* else read-only */
	dev_t device;
	ino_t inode;
	nlink_t names, covered;
};

struct search {
	struct plan *plan;
	struct target *targets; /* sorted once all are known */
	size_t count, room;
	struct paths seen;
	const char *unread; /* a read-only directory that was not read to its end; NULL: none */
	unsigned int left;  /* entries that may still be read */
	bool is_cut;        /* the limit was reached */
	bool is_short;      /* the limit was reached in what the command may write */
};

/* By file; of one file a hidden name is first. */
static int compare(const void *left, const void *right)
{
	const struct target *a = left, *b = right;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->inode != b->inode)
		return a->inode < b->inode ? -1 : 1;
	return (int)b->is_hidden - (int)a->is_hidden;
}

static bool is_same(const struct target *left, const struct target *right)
{
	return left->device == right->device && left->inode == right->inode;
}

/* Makes one target of all names of a file. */
static void merge(struct search *search)
{
	size_t kept = 0;

	if (search->count > 1)
		qsort(search->targets, search->count, sizeof(*search->targets), compare);
	for (size_t i = 0; i < search->count; i++) {
		struct target *target = &search->targets[i];

		if (kept > 0 && is_same(target, &search->targets[kept - 1])) {
			search->targets[kept - 1].covered++;
			free(target->path);
		} else {
			search->targets[kept++] = *target;
		}
	}
	search->count = kept;
}

static struct target *find(const struct search *search, const struct stat *what)
{
	size_t from = 0, to = search->count;
	const struct target wanted = { .device = what->st_dev,
				       .inode = what->st_ino,
				       .is_hidden = true };

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (compare(&search->targets[middle], &wanted) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from < search->count && is_same(&search->targets[from], &wanted)
		       ? &search->targets[from]
		       : NULL;
}

/* Adds a name that is covered already. */
static void add_target(struct search *search, const char *path, const struct stat *what,
		       bool is_hidden)
{
	search->targets = mem_reserve(search->targets, &search->room, search->count + 1,
				      sizeof(*search->targets));
	search->targets[search->count++] = (struct target){ .path = mem_strdup(path),
							    .is_hidden = is_hidden,
							    .device = what->st_dev,
							    .inode = what->st_ino,
							    .names = what->st_nlink,
							    .covered = 1 };
}

static void on_hidden(struct search *search, const char *path, const struct stat *what)
{
	add_target(search, path, what, true);
}

/* Hidden files come first: a file that is both is hidden under its other names. */
static void on_read_only(struct search *search, const char *path, const struct stat *what)
{
	if (!paths_holder(&search->plan->hidden, path))
		add_target(search, path, what, false);
}

/* Covers another name of a target, if the command has too much access to it. */
static void on_other(struct search *search, const char *path, const struct stat *what)
{
	struct target *target = find(search, what);

	if (!target || paths_holder(&search->plan->hidden, path) ||
	    paths_holder(&search->plan->read_only, path) || paths_has(&search->seen, path))
		return; /* counted already, or not a target */
	target->covered++;
	paths_add(&search->seen, path);
	if (mounts_access(search->plan, path) <= (target->is_hidden ? EXEC_DENY : EXEC_READ))
		return;
	paths_add(target->is_hidden ? &search->plan->hidden : &search->plan->read_only, path);
	view_place_pin(search->plan, path);
}

/* Calls @found for files with several names below @path, which may be a file itself. */
static void walk(struct search *search, const char *path,
		 void (*found)(struct search *search, const char *path, const struct stat *what))
{
	char *const roots[] = { (char *)(uintptr_t)path, NULL };
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);

	for (FTSENT *entry; tree && (entry = fts_read(tree)) != NULL;) {
		if (search->left == 0) {
			search->is_cut = true;
			break;
		}
		search->left--;
		/* The command owns it, so it could open it. */
		if (entry->fts_info == FTS_DNR && entry->fts_statp->st_uid == geteuid())
			search->is_cut = true;
		if (entry->fts_info == FTS_D && search->plan->cache_root &&
		    strcmp(entry->fts_path, search->plan->cache_root) == 0)
			(void)fts_set(tree, entry, FTS_SKIP); /* cannot fail: a valid request */
		if (entry->fts_info == FTS_F && entry->fts_statp->st_nlink > 1)
			found(search, entry->fts_path, entry->fts_statp);
	}
	if (tree)
		(void)fts_close(tree);
}

static void walk_parent(struct search *search, const char *path)
{
	auto_free char *parent = paths_parent(path);

	if (!paths_holder(&search->plan->writable, parent))
		walk(search, parent, on_other);
}

static bool has_read_only(const struct search *search)
{
	for (size_t i = 0; i < search->count; i++)
		if (!search->targets[i].is_hidden)
			return true;
	return false;
}

static bool is_all_covered(const struct search *search)
{
	for (size_t i = 0; i < search->count; i++)
		if (search->targets[i].covered < search->targets[i].names)
			return false;
	return true;
}

/* Searches the writable directories, then the parent directory of each hidden file. */
static void look_around(struct search *search)
{
	struct paths *writable = &search->plan->writable;

	search->left = has_read_only(search) ? WRITABLE_MAX : AROUND_MAX;
	for (size_t i = 0; i < writable->count && !is_all_covered(search); i++)
		if (view_place_begins(search->plan, i))
			walk(search, writable->list[i], on_other);
	search->is_short = search->is_cut;
	search->left = search->left < AROUND_MAX ? search->left : AROUND_MAX;
	for (size_t i = 0; i < search->count && !is_all_covered(search); i++)
		if (search->targets[i].is_hidden)
			walk_parent(search, search->targets[i].path);
}

static void say(struct search *search)
{
	for (size_t i = 0; i < search->count; i++) {
		const struct target *target = &search->targets[i];

		if (target->covered >= target->names || !target->is_hidden)
			continue;
		auto_free char *line = mem_printf("%s has %lu names (hard links), and the command "
						  "may see %lu of them, which were not found",
						  target->path, (unsigned long)target->names,
						  (unsigned long)(target->names - target->covered));

		paths_add(&search->plan->warnings, line);
	}
	if (search->is_cut && search->count > 0)
		paths_add(&search->plan->warnings,
			  "the search for hard links to hidden files was cut short");
}

/* A read-only file decides what a later run may do: it is read-only under every name, or the
 * command is not started. A name that the command may not write does no harm. */
static int check_read_only(const struct search *search, struct err *why)
{
	if (search->unread)
		return err_set(why, -EMLINK,
			       "%s must not change, and holds more than %d files, which are too "
			       "many to search for their other names (hard links); protect a "
			       "smaller directory",
			       search->unread, WRITABLE_MAX);
	for (size_t i = 0; i < search->count; i++) {
		const struct target *target = &search->targets[i];

		if (!target->is_hidden && target->covered < target->names && search->is_short)
			return err_set(why, -EMLINK,
				       "%s must not change, and has %lu names (hard links); the "
				       "command can write in more directories than can be searched "
				       "for them: remove the other names, or copy the file",
				       target->path, (unsigned long)target->names);
	}
	return 0;
}

int view_names_cover(struct plan *plan, struct err *why)
{
	struct search *search = mem_new(sizeof(*search));
	size_t hidden = plan->hidden.count,
	       closed = plan->read_only.count; /* entries added later have been checked */

	search->plan = plan;
	search->left = WITHIN_MAX;
	for (size_t i = 0; i < hidden; i++)
		walk(search, plan->hidden.list[i], on_hidden);
	search->left = WRITABLE_MAX;
	for (size_t i = 0; i < closed && !search->unread; i++) {
		walk(search, plan->read_only.list[i], on_read_only);
		if (search->left == 0)
			search->unread = plan->read_only.list[i];
	}
	merge(search);
	if (!is_all_covered(search))
		look_around(search);
	say(search);
	int r = check_read_only(search, why);

	for (size_t i = 0; i < search->count; i++)
		free(search->targets[i].path);
	free(search->targets);
	paths_done(&search->seen);
	free(search);
	return r;
}
