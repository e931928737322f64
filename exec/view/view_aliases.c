#include "exec/view/view_aliases.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/exec_plan.h"
#include "exec/exec_sandbox.h"
#include "exec/sandbox/mounts.h"
#include "exec/sandbox/paths.h"
#include "exec/sandbox/plan.h"
#include "exec/view/view_place.h"

/* The same directory may be mounted twice (a bind mount), and then has two paths. If it is hidden
 * or read-only by one of them, it must be so by the other. And a volume that is mounted in a
 * writable directory and nowhere else belongs to that directory. docs/decisions/0034. */

#define MOUNTINFO_MAX (4U << 20)
#define MOUNTS_MAX    4096

struct mount {
	char *device, *root, *point, *kind, *options; /* pointers into the text */
	bool is_read_only;
};

struct table {
	char *text;
	struct mount *list;
	size_t count, room;
};

/* Decodes "\040" (a space) and similar, see proc(5). In place. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *at = text; *at; to++) {
		bool is_octal = at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] >= '0' &&
				at[2] <= '7' && at[3] >= '0' && at[3] <= '7';

		*to = is_octal ? (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0'))
			       : *at;
		at += is_octal ? 4 : 1;
	}
	*to = '\0';
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw". False: another format. The
 * options are those of the file system, at the end. */
static bool parse(char *line, struct mount *ret)
{
	char *kind = strstr(line, " - ");

	(void)strsep(&line, " ");
	(void)strsep(&line, " ");
	ret->device = strsep(&line, " ");
	ret->root = strsep(&line, " ");
	ret->point = strsep(&line, " ");
	const char *options = strsep(&line, " ");

	if (!options || !kind)
		return false;
	kind += strlen(" - ");
	ret->kind = strsep(&kind, " ");
	(void)strsep(&kind, " ");
	ret->options = kind;
	ret->is_read_only = strncmp(options, "ro", 2) == 0;
	unescape(ret->root);
	unescape(ret->point);
	return ret->root[0] == '/' && ret->point[0] == '/';
}

static int read_table(struct table *table, struct err *why)
{
	auto_close int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_errno(why, errno, "cannot open /proc/self/mountinfo");
	int r = fd_read_all(fd, MOUNTINFO_MAX, &table->text, NULL, why);

	if (r < 0)
		return r;
	char *rest = table->text;

	for (char *line; (line = strsep(&rest, "\n")) != NULL && *line;) {
		if (table->count == MOUNTS_MAX)
			return err_set(why, -E2BIG, "this machine has more than %d mounts",
				       MOUNTS_MAX);
		table->list = mem_reserve(table->list, &table->room, table->count + 1,
					  sizeof(*table->list));
		if (parse(line, &table->list[table->count]))
			table->count++;
	}
	return 0;
}

static void table_done(struct table *table)
{
	free(table->list);
	free(table->text);
}

/* The mount that contains @path: of several at one place the last one is on top. */
static const struct mount *mount_of(const struct table *table, const char *path)
{
	const struct mount *best = NULL;

	for (size_t i = 0; i < table->count; i++)
		if (paths_is_within(path, table->list[i].point) &&
		    (!best || strlen(table->list[i].point) >= strlen(best->point)))
			best = &table->list[i];
	return best;
}

/* Replaces @above, which contains @path, by @instead. Returned owned. */
static char *move(const char *path, const char *above, const char *instead)
{
	const char *rest = path + (strcmp(above, "/") == 0 ? 0 : strlen(above));

	rest += *rest == '/';
	return mem_printf("%s%s%s", strcmp(instead, "/") == 0 && *rest ? "" : instead,
			  *rest ? "/" : "", rest);
}

static bool is_same(const char *left, const char *right)
{
	struct stat a, b;

	return lstat(left, &a) == 0 && lstat(right, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* Covers @path, which is protected or inside a protected directory. */
static void cover(struct plan *plan, const char *path, bool is_hidden)
{
	struct paths *list = is_hidden ? &plan->hidden : &plan->read_only;

	if (paths_holder(&plan->hidden, path) || paths_has(list, path) ||
	    mounts_access(plan, path) <= (is_hidden ? EXEC_DENY : EXEC_READ))
		return;
	paths_add(list, path);
	view_place_pin(plan, path);
}

/* Covers it by the path it has in @other: all of it, or the part that @other shows. */
static void cover_by(struct plan *plan, const struct mount *other, const char *path,
		     const char *inner, bool is_hidden)
{
	if (paths_is_within(inner, other->root)) {
		auto_free char *alias = move(inner, other->root, other->point);

		if (strcmp(alias, path) != 0 && is_same(alias, path))
			cover(plan, alias, is_hidden);
	} else if (paths_is_within(other->root, inner)) {
		auto_free char *part = move(other->root, inner, path);

		/* @path itself is covered already. */
		if (!paths_is_within(other->point, path) && is_same(other->point, part))
			cover(plan, other->point, is_hidden);
	}
}

static void cover_all(struct plan *plan, const struct table *table, const char *path,
		      bool is_hidden)
{
	const struct mount *own = mount_of(table, path);

	if (!own)
		return;
	auto_free char *inner = move(path, own->point, own->root);

	for (size_t i = 0; i < table->count; i++)
		if (&table->list[i] != own && strcmp(table->list[i].device, own->device) == 0)
			cover_by(plan, &table->list[i], path, inner, is_hidden);
}

/* An indirect automount passes every name that is looked up in it to a program outside, which with
 * the usual map for /net asks the network for a host of that name: so a command could send what it
 * likes. What is mounted there already stays. */
static bool is_asking(const struct mount *mount)
{
	return strcmp(mount->kind, "autofs") == 0 && mount->options &&
	       strstr(mount->options, ",indirect");
}

static void hide_asking(struct plan *plan, const struct table *table, const struct mount *asking)
{
	if (paths_has(&plan->readable, asking->point) || paths_has(&plan->writable, asking->point))
		return;
	for (size_t i = 0; i < table->count; i++) {
		const char *point = table->list[i].point;

		if (paths_is_within(point, asking->point) && strcmp(point, asking->point) != 0 &&
		    mount_of(table, point) == &table->list[i] && !is_asking(&table->list[i]) &&
		    mounts_access(plan, point) == EXEC_READ && !paths_has(&plan->readable, point))
			paths_add(&plan->readable, point);
	}
	paths_sort(&plan->readable);
	cover(plan, asking->point, true);
}

/* Reads the mounts again: since view_aliases_add_volumes() the plan has looked into every writable
 * directory, which mounts what is below an automount, and others may have renamed a directory above
 * a mount, which no notice of the kernel tells. */
int view_aliases_cover(struct plan *plan, struct err *why)
{
	size_t hidden = plan->hidden.count, closed = plan->read_only.count;
	struct table table = { 0 };
	int r = read_table(&table, why);

	for (size_t i = 0; r == 0 && i < table.count; i++)
		if (is_asking(&table.list[i]))
			hide_asking(plan, &table, &table.list[i]);
	for (size_t i = 0; r == 0 && i < hidden; i++)
		cover_all(plan, &table, plan->hidden.list[i], true);
	for (size_t i = 0; r == 0 && i < closed; i++)
		cover_all(plan, &table, plan->read_only.list[i], false);
	table_done(&table);
	return r;
}

/* Does a mount outside of @directory show a part of @volume? */
static bool is_elsewhere(const struct table *table, const struct mount *volume,
			 const char *directory)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct mount *other = &table->list[i];

		if (strcmp(other->device, volume->device) == 0 &&
		    !paths_is_within(other->point, directory) &&
		    (paths_is_within(other->root, volume->root) ||
		     paths_is_within(volume->root, other->root)))
			return true;
	}
	return false;
}

/* Disks, memory and network file systems: not those that control the machine or its processes. */
static bool is_of_files(const struct mount *mount)
{
	static const char *const kinds[] = { "ext2", "ext3",  "ext4",    "xfs",      "btrfs", "zfs",
					     "f2fs", "tmpfs", "overlay", "virtiofs", "9p",    "nfs",
					     "nfs4", "cifs",  "vfat",    "exfat",    "ntfs3" };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(mount->kind, kinds[i]) == 0)
			return true;
	return false;
}

static bool is_named(const char *const *paths, const char *point)
{
	for (; paths && *paths; paths++)
		if (paths_is_within(point, *paths))
			return true;
	return false;
}

int view_aliases_add_volumes(struct plan *plan, const struct exec_plan_config *config,
			     struct err *why)
{
	size_t count = plan->writable.count;
	struct table table = { 0 };
	int r = count > 0 ? read_table(&table, why) : 0;

	for (size_t i = 0; r == 0 && i < table.count; i++) {
		const struct mount *mount = &table.list[i];
		const char *directory = paths_holder(&plan->writable, mount->point);

		if (!directory || strcmp(directory, mount->point) == 0 || mount->is_read_only ||
		    strcmp(directory, "/") == 0 || !is_of_files(mount) ||
		    mount_of(&table, mount->point) != mount ||
		    is_elsewhere(&table, mount, directory) ||
		    is_named(config->hidden, mount->point) ||
		    is_named(config->read_only, mount->point))
			continue;
		paths_add(&plan->writable, mount->point);
	}
	table_done(&table);
	return r;
}
