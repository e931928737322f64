/* docs/decisions/0008 */
#include "cli/policy/policy_reach.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/agent/command_world.h"
#include "cli/cli.h"
#include "cli/run/run_sources.h"
#include "cli/view/trust_store.h"

#define STEPS_MAX   256 /* links and `..` in one path */
#define LIST_MAX    (512U << 10)
#define DIGEST_SEEN 12 /* digits of a digest that a message shows */
#define NEVER       INT64_MAX
#define NOT_YET     (NEVER - 1) /* commands of this run may write there, but none has begun */

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
struct roots {
	struct root *list;
	size_t count;
	int64_t earliest;     /* the earliest @since of earlier runs; NEVER: none */
	struct folder config; /* the user's folder, which this run hides */
};

/* What the walk along a path has found about the file. */
struct walk {
	const struct roots *roots;
	char done[PATH_MAX], rest[PATH_MAX];
	int64_t since;                   /* first time commands could write here; NEVER: none */
	int64_t since_in_config;         /* the same, in the user's folder if it is here */
	bool is_in_reach, may_be_theirs; /* may_be_theirs: changed since then */
	struct stat what;                /* the status of @done */
};

/* Copies @root and its path. */
static void roots_add(struct roots *roots, const struct root *root)
{
	roots->list = mem_grow(roots->list, roots->count + 1, sizeof(*roots->list));
	roots->list[roots->count] = *root;
	roots->list[roots->count++].path = mem_strdup(root->path);
}

static void roots_done(struct roots *roots)
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

/* One line each: "NANOSECONDS  DEVICE:INODE:BORN PATH", and "+DEVICE:INODE:BORN" before the path
 * for the hidden folder. If the numbers cannot be parsed, the folder counts from time 0. */
static void roots_parse(struct roots *roots, char *text)
{
	char *line;

	while ((line = strsep(&text, "\n")) != NULL) {
		struct root root = { .path = strchr(line, '/') };
		struct folder *folder = &root.folder, *hidden = &root.hidden;

		if (!root.path)
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

static void roots_add_own(struct roots *roots, const struct policy_reach *reach, int64_t since)
{
	auto_free char *config = reach->config ? realpath(reach->config, NULL) : NULL;

	roots->config = folder_at(config);
	for (char *const *writable = reach->writable; *writable; writable++) {
		auto_free char *path = realpath(*writable, NULL);
		struct root root = { .path = path, .folder = folder_at(path), .since = since };

		if (!root.folder.inode)
			continue;
		if (config && command_world_is_below(config, path))
			root.hidden = roots->config;
		roots_add(roots, &root);
	}
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
	const struct roots *roots = walk->roots;

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
	walk->is_in_reach = walk->since != NEVER;
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
		walk->is_in_reach = true;
		walk->may_be_theirs |= changed_ns(&walk->what) >= walk->roots->earliest;
	}
	return r < 0 ? r : 0;
}

static int refuse_path(const char *shown, int r, struct err *why)
{
	if (r == -EMLINK)
		return err_set(why, -EPERM,
			       "policy %s: a symbolic link in this path lies where commands can "
			       "write, so a command could redirect it; name the file itself",
			       shown);
	return err_errno(why, -r, "policy %s", shown);
}

static int refuse_digest(const char *shown, const struct run_file *file, const char *line,
			 bool is_by_person, struct err *why)
{
	return err_set(why, -EPERM,
		       "policy %s has changed, and it lies where commands can write: it was %.*s "
		       "when %s, and is %.*s now; read it, then run `sallyport policy trust %s`",
		       shown, DIGEST_SEEN, line,
		       is_by_person ? "it was trusted" : "it was first used", DIGEST_SEEN,
		       file->bytes, shown);
}

/* Checks a file that commands can reach, by the content that was read. */
static int check_digest(const struct policy_reach *reach, const struct run_file *file,
			const char *shown, bool may_be_theirs, struct err *why)
{
	static const char *const lists[] = { TRUST_STORE_TRUSTED, TRUST_STORE_NOTED };

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		auto_free char *text = trust_store_load(reach->state, lists[i]);
		enum policy_trust trust = trust_store_look(text, file->path, file->bytes);

		if (trust == POLICY_TRUSTED_NOW)
			return 0;
		if (trust == POLICY_CHANGED)
			return refuse_digest(shown, file, trust_store_find(text, file->path),
					     i == 0, why);
	}
	if (may_be_theirs)
		return err_set(
			why, -EPERM,
			"policy %s was written after a command that could write it had run, and it "
			"has not been trusted since; read it, then run `sallyport policy trust %s`",
			shown, shown);
	if (!reach->state)
		return err_set(why, -EPERM,
			       "policy %s lies where commands can write, and there is no state "
			       "folder to record its contents; set HOME",
			       shown);
	(void)cli_fail(0,
		       "policy %s lies where commands can write; from now on it counts only as it "
		       "is now, or as you trust it later (sallyport policy trust %s)",
		       shown, shown);
	return trust_store_put(reach->state, TRUST_STORE_NOTED, file->path, file->bytes, why);
}

static int check_file(const struct policy_reach *reach, const struct roots *roots,
		      const struct run_file *file, struct err *why)
{
	auto_free struct walk *walk = mem_new(sizeof(*walk));
	auto_free char *shown = text_visible_dup(file->asked);
	auto_free char *asked = file->asked[0] == '/'
					? mem_strdup(file->asked)
					: mem_printf("%s/%s", reach->cwd, file->asked);

	walk->roots = roots;
	int r = walk_path(walk, asked);

	if (r < 0)
		return refuse_path(shown, r, why);
	if (strcmp(walk->done, file->path) != 0 || strchr(file->path, '\n'))
		return err_set(why, -EAGAIN,
			       "the path of policy %s changed while the file was read", shown);
	return walk->is_in_reach ? check_digest(reach, file, shown, walk->may_be_theirs, why) : 0;
}

/* A project's file loosens nothing before its content is trusted. */
static bool is_of_person(enum policy_layer layer)
{
	return layer != POLICY_PROJECT && layer != POLICY_TRUSTED;
}

int policy_reach_check(const struct policy_reach *reach, const struct run_loaded *loaded,
		       struct err *why)
{
	struct roots roots = { .earliest = NEVER };
	auto_free char *text = NULL;
	int r = trust_store_read(reach->state, TRUST_STORE_REACHED, &text, why);

	if (r < 0)
		return r;
	roots_parse(&roots, text);
	/* A change in these folders before the first command was made by another program. */
	roots_add_own(&roots, reach, NOT_YET);
	for (size_t i = 0; i < loaded->file_count && r == 0; i++)
		if (is_of_person(loaded->files[i].layer) && loaded->files[i].path[0] == '/')
			r = check_file(reach, &roots, &loaded->files[i], why);
	roots_done(&roots);
	return r;
}

/* Removes folders that no longer exist from the list. */
static int shorten(const struct policy_reach *reach, struct err *why)
{
	struct roots roots = { .earliest = NEVER };
	auto_free char *text = NULL, *kept = mem_strdup("");
	int r = trust_store_read(reach->state, TRUST_STORE_REACHED, &text, why);

	if (r < 0 || strlen(text) < LIST_MAX)
		return r;
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
	return trust_store_replace(reach->state, TRUST_STORE_REACHED, kept, why);
}

int policy_reach_note(const struct policy_reach *reach, struct err *why)
{
	struct roots roots = { .earliest = NEVER };
	auto_free char *text = NULL;
	int r = reach->state ? trust_store_read(reach->state, TRUST_STORE_REACHED, &text, why) : 0;

	if (r < 0 || !text)
		return r;
	if (strlen(text) >= LIST_MAX)
		r = shorten(reach, why);
	roots_add_own(&roots, reach, now_ns());
	for (size_t i = 0; i < roots.count && r == 0; i++) {
		auto_free char *name = name_of(&roots.list[i]);
		auto_free char *key = mem_printf("%" PRId64, roots.list[i].since);

		if (!trust_store_find(text, name))
			r = trust_store_put(reach->state, TRUST_STORE_REACHED, name, key, why);
	}
	roots_done(&roots);
	return r;
}
