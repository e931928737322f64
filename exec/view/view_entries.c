#include "exec/view/view_entries.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"
#include "exec/exec_plan.h"
#include "exec/exec_sandbox.h"
#include "exec/sandbox/mounts.h"
#include "exec/sandbox/paths.h"
#include "exec/sandbox/plan.h"
#include "exec/view/view_place.h"
#include "exec/run/wire.h"

/* Private to the command unless an entry names them; the first one becomes /tmp. */
static const char *const private[] = { "/tmp", "/run", "/var/run" };

/* An entry of the sandbox, with its place in the file system. */
struct place {
	char *path; /* canonical, owned */
	const char *given;
	enum exec_access access;
	bool is_missing;
};

struct places {
	struct place list[EXEC_ENTRIES_MAX];
	size_t count;
};

static bool is_root(const char *path)
{
	return strcmp(path, "/") == 0;
}

static int add_place(struct places *places, const struct exec_entry *entry,
		     const struct paths *writable, struct err *why)
{
	struct place *place = &places->list[places->count];
	int r = paths_resolve(entry->path, writable, &place->path, why);

	if (r < 0 && r != -ENOENT)
		return err_prefix(why, r, "cannot %s a path",
				  entry->access == EXEC_DENY ? "deny" : "open");
	place->given = entry->path;
	place->access = entry->access;
	place->is_missing = r == -ENOENT;
	places->count++;
	return 0;
}

/* Why @path cannot be used: it must be a plain name such as "/tmp/x", and must not control the
 * machine's devices or its processes. */
static const char *unfit(const char *path)
{
	static const struct plan nothing_fresh;

	return view_place_unfit(&nothing_fresh, path);
}

static int add_writable(struct plan *plan, const struct place *place, struct err *why)
{
	if (place->is_missing) {
		paths_add(&plan->missing, place->given);
		return 0;
	}
	if (unfit(place->path))
		return err_set(why, -EINVAL, "%s cannot be writable: %s", place->given,
			       unfit(place->path));
	if (!paths_has(&plan->writable, place->path))
		paths_add(&plan->writable, place->path);
	return 0;
}

/* Links are followed once, now: the user who named the path decided on its target, unless the link
 * lies in one of @theirs. */
static int add_all_writable(struct plan *plan, const struct exec_entry *entries, size_t count,
			    const struct paths *theirs, struct places *places, struct err *why)
{
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		if (entries[i].access != EXEC_WRITE || is_root(entries[i].path))
			continue;
		r = add_place(places, &entries[i], theirs, why);
		if (r == 0)
			r = add_writable(plan, &places->list[places->count - 1], why);
	}
	if (plan->flags & WIRE_OPEN)
		paths_add(&plan->writable, "/");
	paths_sort(&plan->writable);
	return r;
}

/* The folders whose links the command, or one of @theirs, could change. */
static struct paths steered_of(const struct plan *plan, const struct paths *theirs)
{
	struct paths steered = { 0 };

	for (size_t i = 0; i < plan->writable.count; i++)
		paths_add(&steered, plan->writable.list[i]);
	for (size_t i = 0; i < theirs->count; i++)
		paths_add(&steered, theirs->list[i]);
	return steered;
}

/* An entry whose path goes through a link is refused if the command, or one of @theirs, could
 * change that link. */
static int find_others(const struct plan *plan, const struct exec_entry *entries, size_t count,
		       const struct paths *theirs, struct places *places, struct err *why)
{
	struct paths steered = steered_of(plan, theirs);
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		if (entries[i].access != EXEC_WRITE && !is_root(entries[i].path))
			r = add_place(places, &entries[i], &steered, why);
	paths_done(&steered);
	return r;
}

static int add_fresh(struct plan *plan, const struct places *places, struct err *why)
{
	for (size_t i = 0; i < ARRAY_SIZE(private); i++) {
		auto_free char *path = NULL;
		int r = paths_resolve(private[i], NULL, &path, why);
		bool is_named = false;

		if (r < 0 && r != -ENOENT)
			return err_prefix(why, r, "cannot give the command a fresh directory");
		for (size_t k = 0; k < places->count; k++)
			is_named |= places->list[k].access != EXEC_DENY &&
				    strcmp(places->list[k].path, path) == 0;
		/* A path that does not exist needs a fresh directory only if the root is empty. */
		if (is_named || (r == -ENOENT && !(plan->flags & WIRE_EMPTY)) ||
		    paths_holder(&plan->fresh, path))
			continue;
		paths_add(&plan->fresh, path);
		plan->has_fresh_tmp |= i == 0;
	}
	return 0;
}

static int check_missing(const struct plan *plan, const struct place *place, struct err *why)
{
	return mounts_access(plan, place->path) != EXEC_WRITE
		       ? 0
		       : err_set(why, -ENOENT,
				 "%s does not exist, and the command could create it, "
				 "because it can write there; create it first",
				 place->given);
}

/* In an empty root, programs are also found by the names of links such as /lib64. */
static void add_link(struct plan *plan, const struct place *place)
{
	if (!(plan->flags & WIRE_EMPTY) || strcmp(place->given, place->path) == 0 ||
	    paths_holder(&plan->fresh, place->given))
		return;
	for (size_t i = 0; i < plan->links.count; i += 2)
		if (paths_is_within(place->given, plan->links.list[i]))
			return;
	paths_add(&plan->links, place->given);
	paths_add(&plan->links, place->path);
}

static void add_readable(struct plan *plan, const struct place *place)
{
	paths_remove(&plan->writable, place->path);
	switch (mounts_access(plan, place->path)) {
	case EXEC_WRITE:
		paths_add(&plan->read_only, place->path);
		view_place_pin(plan, place->path);
		break;
	case EXEC_DENY:
		/* /proc and /dev are always the command's own, whatever the entries say. */
		if (!paths_is_within(place->path, "/proc") && !paths_is_within(place->path, "/dev"))
			paths_add(&plan->readable, place->path);
		break;
	default:
		break;
	}
}

static void add_denied(struct plan *plan, const struct place *place)
{
	paths_remove(&plan->writable, place->path);
	if (paths_is_within(place->path, "/dev") || mounts_access(plan, place->path) == EXEC_DENY)
		return;
	paths_add(&plan->hidden, place->path);
	view_place_pin(plan, place->path);
}

static int compare(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	int by_path = strcmp(a->path, b->path);

	return by_path ? by_path : (int)a->access - (int)b->access;
}

/* Outer before inner, so that the access of the parent is known. */
static int add_others(struct plan *plan, struct places *places, struct err *why)
{
	int r = 0;

	qsort(places->list, places->count, sizeof(places->list[0]), compare);
	for (size_t i = 0; i < places->count && r == 0; i++) {
		const struct place *place = &places->list[i];
		/* The same place by another name: the weaker access came first. */
		bool is_again = i > 0 && strcmp(place->path, places->list[i - 1].path) == 0;

		if (!place->is_missing && place->access != EXEC_DENY)
			add_link(plan, place);
		if (place->access == EXEC_WRITE || is_again)
			continue;
		if (place->is_missing) {
			paths_add(&plan->missing, place->given);
			if (place->access == EXEC_DENY)
				view_place_hide_absent(plan, place->path);
			else
				r = check_missing(plan, place, why);
		} else if (place->access == EXEC_READ) {
			add_readable(plan, place);
		} else {
			add_denied(plan, place);
		}
	}
	return r;
}

/* Grants the name if only the host can replace the file, so that the daemon may be restarted; else
 * the inode, because the command could put another socket of the host there. */
static void grant_socket(struct plan *plan, const char *path)
{
	auto_free char *parent = paths_parent(path);
	bool is_kept =
		mounts_access(plan, parent) == EXEC_READ && mounts_access(plan, path) == EXEC_READ;
	auto_free char *grant =
		mem_printf("%c%s", is_kept ? WIRE_GRANT_NAME : WIRE_GRANT_INODE, path);

	paths_add(&plan->granted, grant);
}

/* Sockets that would be invisible are made visible, and none of them is covered. */
int view_entries_open_sockets(struct plan *plan, const char *const *list, const char *const *theirs,
			      struct err *why)
{
	for (const char *const *given = list; given && *given; given++) {
		auto_free char *path = NULL;
		struct stat what;
		const struct paths others = paths_of(theirs);
		struct paths steered = steered_of(plan, &others);
		int r = paths_resolve(*given, &steered, &path, why);

		paths_done(&steered);

		if (r < 0 && r != -ENOENT)
			return err_prefix(why, r, "cannot open a socket to the command");
		if (r == -ENOENT || lstat(path, &what) < 0) {
			paths_add(&plan->missing, *given);
			continue;
		}
		if (!S_ISSOCK(what.st_mode))
			return err_set(why, -ENOTSOCK, "%s is not a socket", *given);
		if (paths_holder(&plan->hidden, path))
			return err_set(why, -EPERM,
				       "%s cannot be opened to the command: the sandbox denies it",
				       *given);
		paths_add(&plan->open_sockets, path);
		grant_socket(plan, path);
		if (mounts_access(plan, path) == EXEC_DENY)
			paths_add(&plan->readable, path);
	}
	return 0;
}

static void set_root(struct plan *plan, const struct exec_sandbox *sandbox)
{
	switch (exec_sandbox_access(sandbox, "/")) {
	case EXEC_WRITE:
		plan->flags |= WIRE_OPEN;
		break;
	case EXEC_DENY:
		plan->flags |= WIRE_EMPTY;
		break;
	case EXEC_READ:
		break;
	}
	if (exec_sandbox_network(sandbox) == EXEC_NETWORK_ENABLED)
		plan->flags |= WIRE_HOST_NETWORK;
}

/* Exceptions if everything may be written: the host's /dev/shm is listed, since /dev is the
 * command's own; and /sys, which controls the machine, stays read-only. */
static int set_open(struct plan *plan, struct err *why)
{
	static const char knobs[] = "/sys", memory[] = "/dev/shm";
	auto_free char *path = NULL;
	int r = paths_resolve(memory, NULL, &path, why);

	if (r == 0 && strcmp(path, memory) == 0)
		paths_add(&plan->writable, path);
	if (r < 0 && r != -ENOENT)
		return r;
	free(take(path));
	r = paths_resolve(knobs, NULL, &path, why);
	if (r == 0)
		paths_add(&plan->read_only, path);
	return r == -ENOENT ? 0 : r;
}

static void set_tmpdir(struct plan *plan)
{
	const char *given = getenv("TMPDIR");
	auto_free char *path = NULL;
	struct stat what;

	if (given && given[0] == '/' && paths_resolve(given, NULL, &path, NULL) == 0 &&
	    stat(path, &what) == 0 && S_ISDIR(what.st_mode) &&
	    mounts_access(plan, path) == EXEC_WRITE)
		plan->tmpdir = mem_strdup(path);
}

static int check_cwd(const struct plan *plan, struct err *why)
{
	const char *cwd = plan->cwd;

	if (mounts_access(plan, cwd) != EXEC_DENY || is_root(cwd) || paths_has(&plan->fresh, cwd) ||
	    mounts_has_way(plan, cwd))
		return 0;
	return err_set(why, -EACCES,
		       "the sandbox does not show the working directory %s to the command; name it "
		       "for reading, or start elsewhere",
		       cwd);
}

static int add_entries(struct plan *plan, const struct exec_plan_config *config,
		       struct places *places, struct err *why)
{
	size_t count;
	const struct exec_entry *entries = exec_sandbox_entries(config->sandbox, &count);
	const struct paths theirs = paths_of(config->theirs), none = { 0 };

	set_root(plan, config->sandbox);
	int r = add_all_writable(plan, entries, count, &theirs, places, why);

	if (r == 0)
		r = find_others(plan, entries, count, config->follows_theirs ? &none : &theirs,
				places, why);
	if (r == 0 && !(plan->flags & WIRE_OPEN))
		r = add_fresh(plan, places, why);
	if (r == 0 && (plan->flags & WIRE_OPEN))
		r = set_open(plan, why);
	if (r == 0)
		r = add_others(plan, places, why);
	return r;
}

int view_entries(struct plan *plan, const struct exec_plan_config *config, struct err *why)
{
	struct places *places = mem_new(sizeof(*places));
	int r = add_entries(plan, config, places, why);

	for (size_t i = 0; i < places->count; i++)
		free(places->list[i].path);
	free(places);
	if (r == 0)
		r = view_entries_open_sockets(plan, exec_sandbox_sockets(config->sandbox),
					      config->theirs, why);
	if (r == 0)
		r = check_cwd(plan, why);
	paths_sort(&plan->writable);
	paths_sort(&plan->readable);
	paths_sort(&plan->missing);
	set_tmpdir(plan);
	return r;
}
