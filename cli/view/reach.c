/* docs/decisions/0008 */
#include "cli/view/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/agent/command_world.h"
#include "cli/view/trust_store.h"

#define STEPS_MAX 256 /* links and `..` in one path */
#define LIST_MAX  (512U << 10)
#define NEVER     INT64_MAX
#define NOT_YET   (NEVER - 1) /* commands of this run may write there, but none has begun */

/* A folder, wherever it is: it may have been renamed or be mounted elsewhere. @born tells it from a
 * later folder that got the same inode. */
struct folder {
	uint64_t device, inode; /* 0: no folder */
	int64_t born;           /* ns; 0: unknown */
};

/* A folder that commands may write, or could since @since (ns, by the file system's clock). Inside
 * of @hidden they could not. */
struct root {
	char *path;
	struct folder folder, hidden;
	int64_t since;
};
struct reach {
	struct root *list;
	size_t count;
	int64_t earliest;     /* the earliest @since of earlier runs; NEVER: none */
	struct folder config; /* the user's folder, which this run hides */
};

struct walk {
	const struct reach *roots;
	char done[PATH_MAX], rest[PATH_MAX];
	int64_t since;           /* first time commands could write here; NEVER: none */
	int64_t since_in_config; /* the same, in the user's folder if it is here */
	bool is_below, is_linked, may_be_theirs;
	struct stat what; /* the status of @done */
};

/* Copies @root and its path. */
static void roots_add(struct reach *roots, const struct root *root)
{
	roots->list = mem_grow(roots->list, roots->count + 1, sizeof(*roots->list));
	roots->list[roots->count] = *root;
	roots->list[roots->count++].path = mem_strdup(root->path);
}

static void roots_done(struct reach *roots)
{
	for (size_t i = 0; i < roots->count; i++)
		free(roots->list[i].path);
	free(roots->list);
}

/* Reads the clock that st_ctim is taken from, so that no later change looks older. */
static int64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t changed_ns(const struct stat *what)
{
	return (int64_t)what->st_ctim.tv_sec * 1000000000 + what->st_ctim.tv_nsec;
}

/* When @path was made (ns); 0: its file system does not say. */
static int64_t born_ns(const char *path)
{
	struct statx what;

	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &what) < 0 ||
	    !(what.stx_mask & STATX_BTIME))
		return 0;
	return what.stx_btime.tv_sec * 1000000000 + what.stx_btime.tv_nsec;
}

/* Without a sandbox, everything may be written. */
static bool is_unconfined(const char *path)
{
	return strcmp(path, "/") == 0;
}

/* One line each: "NANOSECONDS  DEVICE:INODE:BORN PATH", and "+DEVICE:INODE:BORN" before the path
 * for the hidden folder. If the numbers cannot be parsed, the folder counts from time 0. */
static void roots_parse(struct reach *roots, char *text)
{
	char *line;

	while ((line = strsep(&text, "\n")) != NULL) {
		struct root root = { .path = strchr(line, '/') };
		struct folder *folder = &root.folder, *hidden = &root.hidden;

		if (!root.path || is_unconfined(root.path))
			continue;
		int count = sscanf(line,
				   "%" SCNd64 "  %" SCNu64 ":%" SCNu64 ":%" SCNd64 "+%" SCNu64
				   ":%" SCNu64 ":%" SCNd64,
				   &root.since, &folder->device, &folder->inode, &folder->born,
				   &hidden->device, &hidden->inode, &hidden->born);

		if (count < 4)
			root.since = folder->born = 0;
		if (count < 7)
			*hidden = (struct folder){ 0 };
		roots_add(roots, &root);
		if (root.since < roots->earliest)
			roots->earliest = root.since;
	}
}

/* How the line of @root begins, after its time. Returned owned. */
static char *name_of(const struct root *root)
{
	const struct folder *folder = &root->folder, *hidden = &root->hidden;
	auto_free char *place = mem_printf("%" PRIu64 ":%" PRIu64 ":%" PRId64, folder->device,
					   folder->inode, folder->born);

	return hidden->inode ? mem_printf("%s+%" PRIu64 ":%" PRIu64 ":%" PRId64 " %s", place,
					  hidden->device, hidden->inode, hidden->born, root->path)
			     : mem_printf("%s %s", place, root->path);
}

/* The folder at @path, canonical; no folder if there is none. */
static struct folder folder_at(const char *path)
{
	struct stat what;

	return path && stat(path, &what) == 0
		       ? (struct folder){ what.st_dev, what.st_ino, born_ns(path) }
		       : (struct folder){ 0 };
}

static void roots_add_own(struct reach *roots, char *const *writable, const char *hidden,
			  int64_t since)
{
	auto_free char *config = hidden ? realpath(hidden, NULL) : NULL;

	roots->config = folder_at(config);
	for (; *writable; writable++) {
		auto_free char *path = realpath(*writable, NULL);
		struct root root = { .path = path, .folder = folder_at(path), .since = since };

		if (!root.folder.inode || is_unconfined(path))
			continue;
		if (config && command_world_is_below(config, path))
			root.hidden = roots->config;
		roots_add(roots, &root);
	}
}

/* All that is in them is of commands. */
static void add_caches(struct reach *roots, const char *state)
{
	auto_free char *caches = state ? mem_printf("%s/" REACH_CACHES, state) : NULL;
	auto_free char *path = caches ? realpath(caches, NULL) : NULL;
	struct root root = { .path = path, .folder = folder_at(path) };

	if (root.folder.inode)
		roots_add(roots, &root);
}

/* Is @path, whose status is @what, this folder? When in doubt, it is. */
static bool is_folder(const struct folder *folder, const struct stat *what, const char *path)
{
	if (folder->inode != what->st_ino || folder->device != what->st_dev)
		return false;
	int64_t born = born_ns(path);

	return folder->born == 0 || born == 0 || folder->born == born;
}

/* Surely? */
static bool is_same(const struct folder *left, const struct folder *right)
{
	return left->device == right->device && left->inode == right->inode &&
	       left->born == right->born;
}

static void enter(struct walk *walk, const char *path)
{
	const struct reach *roots = walk->roots;

	for (size_t i = 0; i < roots->count; i++) {
		const struct root *root = &roots->list[i];

		if (strcmp(root->path, path) != 0 && !is_folder(&root->folder, &walk->what, path))
			continue;
		if (root->since < walk->since)
			walk->since = root->since;
		if (root->since < walk->since_in_config && !is_same(&root->hidden, &roots->config))
			walk->since_in_config = root->since;
	}
	if (roots->config.inode && is_folder(&roots->config, &walk->what, path)) {
		walk->since = walk->since_in_config;
		walk->may_be_theirs &= walk->since != NEVER;
	}
}

/* Restarts the walk at the root: @rest becomes @front (absolute, or relative to @done) followed by
 * the rest of the path. */
static int begin_again(struct walk *walk, const char *front)
{
	auto_free char *rest = front[0] == '/'
				       ? mem_printf("%s/%s", front, walk->rest)
				       : mem_printf("%s/%s/%s", walk->done, front, walk->rest);

	if (strlen(rest) >= sizeof(walk->rest))
		return -ENAMETOOLONG;
	memcpy(walk->rest, rest, strlen(rest) + 1);
	walk->done[0] = '\0';
	walk->since = walk->since_in_config = NEVER;
	walk->may_be_theirs = false;
	if (lstat("/", &walk->what) < 0)
		return -errno;
	enter(walk, "/");
	return 1;
}

static int step_up(struct walk *walk)
{
	char *slash = strrchr(walk->done, '/');

	if (slash)
		*slash = '\0';
	auto_free char *above = mem_printf("%s/", walk->done);

	return begin_again(walk, above);
}

/* 0; 1: the walk was restarted; or -errno. */
static int step_into(struct walk *walk, const char *name)
{
	size_t len = strlen(walk->done);
	char target[PATH_MAX];

	if (len + 1 + strlen(name) >= sizeof(walk->done))
		return -ENAMETOOLONG;
	walk->done[len] = '/';
	memcpy(walk->done + len + 1, name, strlen(name) + 1);
	if (lstat(walk->done, &walk->what) < 0)
		return -errno;
	if (S_ISLNK(walk->what.st_mode)) {
		ssize_t n = readlink(walk->done, target, sizeof(target) - 1);

		if (walk->since != NEVER)
			return -EMLINK;
		if (n < 0)
			return -errno;
		target[n] = '\0';
		walk->done[len] = '\0';
		return begin_again(walk, target);
	}
	walk->may_be_theirs |= changed_ns(&walk->what) >= walk->since;
	walk->is_below = walk->since != NEVER;
	enter(walk, walk->done);
	return 0;
}

static int walk_path(struct walk *walk, const char *path)
{
	unsigned int steps = 0;
	char name[NAME_MAX + 1];
	int r = begin_again(walk, path);

	while (r >= 0 && (r = text_next_name(walk->rest, name, sizeof(name))) > 0) {
		if (strcmp(name, ".") == 0)
			continue;
		r = strcmp(name, "..") == 0 ? step_up(walk) : step_into(walk, name);
		if (r == 1 && ++steps > STEPS_MAX)
			return -ELOOP;
	}
	/* A second hard link of the file may lie where commands can write, if this user may. */
	if (r >= 0 && S_ISREG(walk->what.st_mode) && walk->what.st_nlink > 1 &&
	    faccessat(AT_FDCWD, walk->done, W_OK, AT_EACCESS) == 0) {
		walk->is_linked = true;
		walk->may_be_theirs |= changed_ns(&walk->what) >= walk->roots->earliest;
	}
	return r < 0 ? r : 0;
}

void reach_close(struct reach *roots)
{
	if (roots)
		roots_done(roots);
	free(roots);
}

struct reach *reach_open(const char *state, struct err *why)
{
	auto_free char *text = NULL;

	if (trust_store_read(state, TRUST_STORE_REACHED, &text, why) < 0)
		return NULL;
	struct reach *roots = mem_new(sizeof(*roots));

	roots->earliest = NEVER;
	roots_parse(roots, text);
	add_caches(roots, state);
	return roots;
}

void reach_add(struct reach *roots, char *const *writable, const char *hidden)
{
	/* A change in these folders before the first command was made by another program. */
	roots_add_own(roots, writable, hidden, NOT_YET);
}

char **reach_earlier(const char *state)
{
	struct reach *roots = reach_open(state, NULL);
	char **list = NULL;

	if (!roots) /* not known: any */
		mem_append_list(&list, mem_strdup("/"));
	for (size_t i = 0; roots && i < roots->count; i++)
		mem_append_list(&list, mem_strdup(roots->list[i].path));
	reach_close(roots);
	return list;
}

int reach_look(const struct reach *roots, const char *path, struct reach_found *ret)
{
	auto_free struct walk *walk = mem_new(sizeof(*walk));

	walk->roots = roots;
	int r = walk_path(walk, path);

	if (r < 0)
		return r;
	*ret = (struct reach_found){ .is_below = walk->is_below,
				     .is_in_reach = walk->is_below || walk->is_linked,
				     .may_be_theirs = walk->may_be_theirs };
	memcpy(ret->path, walk->done, sizeof(ret->path));
	return 0;
}

bool reach_may_be_theirs(const struct reach *roots, const char *path)
{
	auto_free struct reach_found *found = mem_new(sizeof(*found));

	return !roots || reach_look(roots, path, found) < 0 ||
	       (found->is_in_reach && found->may_be_theirs);
}

bool reach_has(const struct reach *roots, const char *path)
{
	auto_free struct reach_found *found = mem_new(sizeof(*found));

	return !roots || reach_look(roots, path, found) < 0 || found->is_below ||
	       (found->is_in_reach && found->may_be_theirs);
}

/* Removes folders that no longer exist from the list. */
static int shorten(const char *state, char *text, struct err *why)
{
	struct reach roots = { .earliest = NEVER };
	auto_free char *kept = mem_strdup("");

	roots_parse(&roots, text);
	for (size_t i = 0; i < roots.count; i++) {
		const struct root *root = &roots.list[i];
		struct stat what;

		if (stat(root->path, &what) < 0)
			continue;
		auto_free char *before = take(kept), *name = name_of(root);

		kept = mem_printf("%s%" PRId64 "  %s\n", before, root->since, name);
	}
	roots_done(&roots);
	return trust_store_replace(state, TRUST_STORE_REACHED, kept, why);
}

int reach_note(const char *state, char *const *writable, const char *hidden, struct err *why)
{
	struct reach roots = { .earliest = NEVER };
	auto_free char *text = NULL;
	int r = state ? trust_store_read(state, TRUST_STORE_REACHED, &text, why) : 0;

	if (r < 0 || !text)
		return r;
	auto_free char *lines = strlen(text) >= LIST_MAX ? mem_strdup(text) : NULL;

	if (lines)
		r = shorten(state, lines, why);
	roots_add_own(&roots, writable, hidden, now_ns());
	for (size_t i = 0; i < roots.count && r == 0; i++) {
		auto_free char *name = name_of(&roots.list[i]);
		auto_free char *key = mem_printf("%" PRId64, roots.list[i].since);

		if (!trust_store_find(text, name))
			r = trust_store_put(state, TRUST_STORE_REACHED, name, key, why);
	}
	roots_done(&roots);
	return r;
}
