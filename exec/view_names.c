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
#include "exec/mounts.h"
#include "exec/paths.h"
#include "exec/plan.h"
#include "exec/view.h"

/* A mount covers a name, and a file may have more of them. Those that lie where a command works are
 * looked for, and covered, too. Of what is hidden others may be left, and that is said; of what is
 * read-only none may be left where the command may write. docs/decisions/0185 and 0217. */

#define TARGETS_MAX  64     /* files that are protected and have several names */
#define WITHIN_MAX   2000   /* entries looked at in protected directories */
#define AROUND_MAX   20000  /* and around them, */
#define WRITABLE_MAX 500000 /* where a command could write what is read-only */

struct target {
	char *path;     /* owned */
	bool is_hidden; /* else read-only */
	dev_t device;
	ino_t inode;
	nlink_t names, covered;
};

struct search {
	struct plan *plan;
	struct target targets[TARGETS_MAX];
	size_t count;
	struct paths seen;
	unsigned int left; /* entries that may still be looked at */
	bool is_cut;       /* it was more */
	bool is_short;     /* already of what the command may write */
};

static struct target *find(struct search *search, const struct stat *what)
{
	for (size_t i = 0; i < search->count; i++)
		if (search->targets[i].device == what->st_dev &&
		    search->targets[i].inode == what->st_ino)
			return &search->targets[i];
	return NULL;
}

/* A name that is covered as it is. */
static void add_target(struct search *search, const char *path, const struct stat *what,
		       bool is_hidden)
{
	struct target *target = find(search, what);

	if (target) {
		target->covered++;
		return;
	}
	if (search->count == TARGETS_MAX) {
		search->is_cut = true;
		return;
	}
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

/* Hidden files come first: who is both is hidden by its other names. */
static void on_read_only(struct search *search, const char *path, const struct stat *what)
{
	if (!paths_holder(&search->plan->hidden, path))
		add_target(search, path, what, false);
}

/* One that may not be. */
static void on_other(struct search *search, const char *path, const struct stat *what)
{
	struct target *target = find(search, what);

	if (!target || paths_holder(&search->plan->hidden, path) ||
	    paths_holder(&search->plan->read_only, path) || paths_has(&search->seen, path))
		return; /* counted, or never to be */
	target->covered++;
	paths_add(&search->seen, path);
	if (mounts_access(search->plan, path) <= (target->is_hidden ? EXEC_DENY : EXEC_READ))
		return;
	paths_add(target->is_hidden ? &search->plan->hidden : &search->plan->read_only, path);
	view_pin_parents(search->plan, path);
}

/* Files with several names below @path, which may be one itself. */
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
		/* It is the command's to open. */
		if (entry->fts_info == FTS_DNR && entry->fts_statp->st_uid == geteuid())
			search->is_cut = true;
		if (entry->fts_info == FTS_F && entry->fts_statp->st_nlink > 1)
			found(search, entry->fts_path, entry->fts_statp);
	}
	if (tree)
		(void)fts_close(tree);
}

static void walk_parent(struct search *search, const char *path)
{
	auto_free char *parent = mem_strdup(path);
	char *slash = strrchr(parent, '/');

	slash[slash == parent ? 1 : 0] = '\0';
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

/* In what the command works in, then beside each. */
static void look_around(struct search *search)
{
	struct paths *writable = &search->plan->writable;

	search->left = has_read_only(search) ? WRITABLE_MAX : AROUND_MAX;
	for (size_t i = 0; i < writable->count && !is_all_covered(search); i++)
		if (i == 0 || !paths_is_within(writable->list[i], writable->list[i - 1]))
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
		auto_free char *line = mem_printf(
			"%s has %lu names, and %lu of them may be seen: hard links, which are "
			"not found",
			target->path, (unsigned long)target->names,
			(unsigned long)(target->names - target->covered));

		paths_add(&search->plan->warnings, line);
	}
	if (search->is_cut && search->count > 0)
		paths_add(&search->plan->warnings,
			  "not all was looked at for hard links to what is hidden");
}

/* What is read-only decides what a later run may do: it is, by every name, or nothing runs. A name
 * where the command may not write does no harm. */
static int check_read_only(const struct search *search, struct err *why)
{
	for (size_t i = 0; i < search->count; i++) {
		const struct target *target = &search->targets[i];

		if (!target->is_hidden && target->covered < target->names && search->is_short)
			return err_set(why, -EMLINK,
				       "%s must stay as it is and has %lu names (hard links); the "
				       "command may write in more directories than can be searched "
				       "for them: remove the other names, or copy the file",
				       target->path, (unsigned long)target->names);
	}
	return 0;
}

int view_names_cover(struct plan *plan, struct err *why)
{
	struct search *search = mem_new(sizeof(*search));
	size_t hidden = plan->hidden.count, closed = plan->read_only.count; /* what is added has
									       been looked at */

	search->plan = plan;
	search->left = WITHIN_MAX;
	for (size_t i = 0; i < hidden; i++)
		walk(search, plan->hidden.list[i], on_hidden);
	search->left = WITHIN_MAX;
	for (size_t i = 0; i < closed; i++)
		walk(search, plan->read_only.list[i], on_read_only);
	if (!is_all_covered(search))
		look_around(search);
	say(search);
	int r = check_read_only(search, why);

	for (size_t i = 0; i < search->count; i++)
		free(search->targets[i].path);
	paths_done(&search->seen);
	free(search);
	return r;
}
