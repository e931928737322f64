#include "exec/exec_sandbox.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/sandbox/paths.h"

struct exec_sandbox {
	enum exec_mode mode; /* the user's name for it; redundant with the rest */
	enum exec_files files;
	enum exec_network network;
	struct exec_entry *entries; /* sorted by path, each path once, paths owned */
	size_t count;
	struct paths sockets; /* sorted */
};

static const char *const mode_names[] = {
	[EXEC_MODE_READ_ONLY] = "read-only", [EXEC_MODE_WORKSPACE_WRITE] = "workspace-write",
	[EXEC_MODE_EXTERNAL] = "external",   [EXEC_MODE_FULL_ACCESS] = "danger-full-access",
	[EXEC_MODE_SPLIT] = "split",
};
static const char *const files_names[] = { "restricted", "external", "full" };
static const char *const network_names[] = { "restricted", "enabled" };
static const char *const access_names[] = { "deny", "read", "write" };

/* These are private to the command and empty, unless an entry names them or the directory around
 * them is writable: read access to "/" does not apply inside them. */
static const char *const private[] = { "/run", "/tmp", "/var/run" };

/* Removes empty and "." components: returned owned. ".." is refused: its meaning depends on links,
 * and no file is read here. */
static char *normal(const char *path, struct err *why)
{
	if (!path || path[0] != '/' || strlen(path) >= PATH_MAX) {
		(void)err_set(why, -EINVAL, "%.80s is not an absolute path",
			      path ? path : "(none)");
		return NULL;
	}
	char *out = mem_new(strlen(path) + 2);
	size_t len = 0;

	for (const char *at = path; *at;) {
		at += strspn(at, "/");
		size_t part = strcspn(at, "/");

		if (part == 2 && at[0] == '.' && at[1] == '.') {
			(void)err_set(why, -EINVAL,
				      "%.200s contains `..`; write the path without it", path);
			free(out);
			return NULL;
		}
		if (part > 0 && !(part == 1 && at[0] == '.')) {
			out[len++] = '/';
			memcpy(out + len, at, part);
			len += part;
		}
		at += part;
	}
	if (len == 0)
		out[len++] = '/';
	out[len] = '\0';
	return out;
}

/* The index of @path, or where to insert it; *@ret_found: it is there. */
static size_t place_of(const struct exec_sandbox *s, const char *path, bool *ret_found)
{
	size_t i = 0;
	int order = 1;

	while (i < s->count && (order = strcmp(s->entries[i].path, path)) < 0)
		i++;
	*ret_found = i < s->count && order == 0;
	return i;
}

/* Takes @path. */
static void insert(struct exec_sandbox *s, size_t at, char *path, enum exec_access access)
{
	s->entries = mem_grow(s->entries, s->count + 1, sizeof(*s->entries));
	memmove(s->entries + at + 1, s->entries + at, (s->count - at) * sizeof(*s->entries));
	s->entries[at] = (struct exec_entry){ path, access };
	s->count++;
}

/* Of two entries for one path the weaker access wins. */
static int add(struct exec_sandbox *s, const char *given, enum exec_access access, struct err *why)
{
	char *path = normal(given, why);
	bool is_there;

	if (!path)
		return -EINVAL;
	size_t at = place_of(s, path, &is_there);

	if (!is_there) {
		insert(s, at, path, access);
	} else {
		if (access < s->entries[at].access)
			s->entries[at].access = access;
		free(path);
	}
	return s->count <= EXEC_ENTRIES_MAX
		       ? 0
		       : err_set(why, -E2BIG, "the sandbox has more than %d paths; name fewer",
				 EXEC_ENTRIES_MAX);
}

/* The innermost entry that is @path or contains it; NULL: none. */
static const struct exec_entry *holder(const struct exec_sandbox *s, const char *path)
{
	const struct exec_entry *best = NULL;

	/* Sorted: a directory comes before its contents. */
	for (size_t i = 0; i < s->count; i++)
		if (paths_is_within(path, s->entries[i].path))
			best = &s->entries[i];
	return best;
}

static const char *private_holder(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(private); i++)
		if (paths_is_within(path, private[i]))
			return private[i];
	return NULL;
}

/* @path is the result of normal(). */
static enum exec_access access_of(const struct exec_sandbox *s, const char *path)
{
	const struct exec_entry *entry = holder(s, path);

	if (s->files != EXEC_FILES_RESTRICTED)
		return entry ? entry->access : EXEC_WRITE;
	if (!entry)
		return EXEC_DENY;

	const char *own = private_holder(path);

	return own && entry->access == EXEC_READ && strlen(own) > strlen(entry->path)
		       ? EXEC_DENY
		       : entry->access;
}

static int add_workspace(struct exec_sandbox *s, const struct exec_sandbox_config *config,
			 struct err *why)
{
	int r = config->cwd ? add(s, config->cwd, EXEC_WRITE, why)
			    : err_set(why, -EINVAL,
				      "a workspace-write sandbox needs a working directory");

	if (r == 0 && access_of(s, "/") == EXEC_WRITE)
		return err_set(why, -EINVAL,
			       "a workspace cannot be the whole file system; start the command in "
			       "a directory of its own");

	for (const char *const *dir = config->writable; dir && *dir && r == 0; dir++)
		r = add(s, *dir, EXEC_WRITE, why);
	if (r == 0 && !config->has_no_tmp)
		r = add(s, "/tmp", EXEC_WRITE, why);
	if (r == 0 && !config->has_no_tmpdir && config->tmpdir)
		r = add(s, config->tmpdir, EXEC_WRITE, why);
	return r;
}

/* Outside the split form an entry may only take access away. One that gives access would make the
 * name of the mode wrong. One that makes a path readable that was not writable would have no
 * effect, but look like a restriction. */
static int check_narrows(const struct exec_sandbox *base, const struct exec_entry *entry,
			 struct err *why)
{
	auto_free char *path = normal(entry->path, why);

	if (!path)
		return -EINVAL;
	if (entry->access == EXEC_DENY ||
	    (entry->access == EXEC_READ && base->files == EXEC_FILES_RESTRICTED &&
	     access_of(base, path) == EXEC_WRITE))
		return 0;
	if (entry->access == EXEC_READ && base->files == EXEC_FILES_RESTRICTED &&
	    access_of(base, path) == EXEC_READ)
		return err_set(why, -EINVAL,
			       "%s: a %s sandbox shows all files, so naming a path for reading "
			       "restricts nothing; use the mode split and list every path",
			       path, mode_names[base->mode]);
	return err_set(
		why, -EINVAL,
		"%s: a %s sandbox cannot open a path to %s; use the mode split and list every path",
		path, mode_names[base->mode], access_names[entry->access]);
}

static int add_entries(struct exec_sandbox *s, const struct exec_sandbox_config *config,
		       struct err *why)
{
	int r = 0;

	for (size_t i = 0; i < config->entry_count && r == 0; i++) {
		const struct exec_entry *entry = &config->entries[i];

		if ((unsigned int)entry->access > EXEC_WRITE)
			return err_set(why, -EINVAL,
				       "the access of a path is not one of deny, read and write");
		if (s->mode != EXEC_MODE_SPLIT)
			r = check_narrows(s, entry, why);
	}
	for (size_t i = 0; i < config->entry_count && r == 0; i++)
		r = add(s, config->entries[i].path, config->entries[i].access, why);
	return r;
}

struct exec_sandbox *exec_sandbox_new(const struct exec_sandbox_config *config, struct err *why)
{
	if ((unsigned int)config->mode > EXEC_MODE_SPLIT ||
	    (unsigned int)config->network > EXEC_NETWORK_ENABLED) {
		(void)err_set(why, -EINVAL, "the sandbox has an unknown mode or network");
		return NULL;
	}
	struct exec_sandbox *s = mem_new(sizeof(*s));
	int r = 0;

	s->mode = config->mode;
	s->network = config->network;
	switch (config->mode) {
	case EXEC_MODE_READ_ONLY:
		r = add(s, "/", EXEC_READ, why);
		/* Else it would be inside a private directory, and empty. */
		if (r == 0 && config->cwd && private_holder(config->cwd))
			r = add(s, config->cwd, EXEC_READ, why);
		break;
	case EXEC_MODE_WORKSPACE_WRITE:
		r = add_workspace(s, config, why);
		r = r < 0 ? r : add(s, "/", EXEC_READ, why);
		break;
	case EXEC_MODE_EXTERNAL:
		s->files = EXEC_FILES_EXTERNAL;
		break;
	case EXEC_MODE_FULL_ACCESS:
		s->files = EXEC_FILES_FULL;
		s->network = EXEC_NETWORK_ENABLED;
		break;
	case EXEC_MODE_SPLIT:
		break;
	}
	if (r == 0)
		r = add_entries(s, config, why);
	if (r == 0)
		return s;
	exec_sandbox_free(s);
	return NULL;
}

struct exec_sandbox *exec_sandbox_copy(const struct exec_sandbox *s)
{
	struct exec_sandbox *copy = mem_new(sizeof(*copy));

	copy->mode = s->mode;
	copy->files = s->files;
	copy->network = s->network;
	for (size_t i = 0; i < s->count; i++)
		insert(copy, i, mem_strdup(s->entries[i].path), s->entries[i].access);
	for (size_t i = 0; i < s->sockets.count; i++)
		paths_add(&copy->sockets, s->sockets.list[i]);
	return copy;
}

void exec_sandbox_free(struct exec_sandbox *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		free((char *)(uintptr_t)s->entries[i].path);
	free(s->entries);
	paths_done(&s->sockets);
	free(s);
}

enum exec_mode exec_sandbox_mode(const struct exec_sandbox *s)
{
	return s->mode;
}

enum exec_files exec_sandbox_files(const struct exec_sandbox *s)
{
	return s->files;
}

enum exec_network exec_sandbox_network(const struct exec_sandbox *s)
{
	return s->network;
}

const struct exec_entry *exec_sandbox_entries(const struct exec_sandbox *s, size_t *ret_count)
{
	*ret_count = s->count;
	return s->entries;
}

const char *const *exec_sandbox_sockets(const struct exec_sandbox *s)
{
	static const char *const none[] = { NULL };

	return s->sockets.list ? (const char *const *)s->sockets.list : none;
}

bool exec_sandbox_has_denials(const struct exec_sandbox *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->entries[i].access == EXEC_DENY)
			return true;
	return false;
}

bool exec_sandbox_writes_all(const struct exec_sandbox *s)
{
	bool does = s->files != EXEC_FILES_RESTRICTED || access_of(s, "/") == EXEC_WRITE;

	for (size_t i = 0; i < s->count; i++)
		does = does && s->entries[i].access == EXEC_WRITE;
	return does;
}

bool exec_sandbox_is_unconfined(const struct exec_sandbox *s)
{
	return s->files != EXEC_FILES_RESTRICTED && s->network == EXEC_NETWORK_ENABLED &&
	       s->count == 0;
}

enum exec_access exec_sandbox_access(const struct exec_sandbox *s, const char *given)
{
	auto_free char *path = normal(given, NULL);

	return path ? access_of(s, path) : EXEC_DENY;
}

bool exec_sandbox_is_denied(const struct exec_sandbox *s, const char *given)
{
	auto_free char *path = normal(given, NULL);
	const struct exec_entry *entry = path ? holder(s, path) : NULL;

	return !path || (entry && entry->access == EXEC_DENY);
}

/* normal() of @given, owned; NULL with @why: an entry denies it. */
static char *openable(const struct exec_sandbox *s, const char *given, struct err *why)
{
	char *path = normal(given, why);

	if (path && exec_sandbox_is_denied(s, path)) {
		(void)err_set(
			why, -EPERM,
			"the sandbox denies %s, because it denies %s; no request can open that",
			path, holder(s, path)->path);
		free(path);
		return NULL;
	}
	return path;
}

struct exec_sandbox *exec_sandbox_widen(const struct exec_sandbox *s, const char *given,
					enum exec_access access, struct err *why)
{
	if (access != EXEC_READ && access != EXEC_WRITE) {
		(void)err_set(why, -EINVAL,
			      "a sandbox can be widened for reading or for writing only");
		return NULL;
	}
	auto_free char *path = openable(s, given, why);

	if (!path)
		return NULL;
	struct exec_sandbox *wide = exec_sandbox_copy(s);
	bool is_there;
	size_t at = place_of(wide, path, &is_there);

	if (access_of(wide, path) >= access)
		return wide;
	wide->mode = EXEC_MODE_SPLIT;
	if (is_there)
		wide->entries[at].access = access;
	else
		insert(wide, at, take(path), access);
	if (wide->count <= EXEC_ENTRIES_MAX)
		return wide;
	(void)err_set(why, -E2BIG, "the sandbox has more than %d paths; name fewer",
		      EXEC_ENTRIES_MAX);
	exec_sandbox_free(wide);
	return NULL;
}

struct exec_sandbox *exec_sandbox_add_socket(const struct exec_sandbox *s, const char *given,
					     struct err *why)
{
	auto_free char *path = openable(s, given, why);

	if (!path)
		return NULL;
	struct exec_sandbox *wide = exec_sandbox_copy(s);

	if (!paths_has(&wide->sockets, path))
		paths_add(&wide->sockets, path);
	paths_sort(&wide->sockets);
	if (wide->sockets.count <= EXEC_ENTRIES_MAX)
		return wide;
	(void)err_set(why, -E2BIG, "the sandbox has more than %d sockets; name fewer",
		      EXEC_ENTRIES_MAX);
	exec_sandbox_free(wide);
	return NULL;
}

struct exec_sandbox *exec_sandbox_unconfined(const struct exec_sandbox *s, struct err *why)
{
	const struct exec_sandbox_config config = { .mode = EXEC_MODE_FULL_ACCESS };

	if (!exec_sandbox_has_denials(s))
		return exec_sandbox_new(&config, why);
	(void)err_set(
		why, -EPERM,
		"the command cannot run without its sandbox, because the sandbox denies paths");
	return NULL;
}

/* The access by path of both sandboxes changes only at the paths of their entries and at the
 * private ones, so comparing those is enough. */
static bool covers_at(const struct exec_sandbox *wide, const struct exec_sandbox *narrow,
		      const char *path)
{
	return access_of(wide, path) >= access_of(narrow, path);
}

bool exec_sandbox_covers(const struct exec_sandbox *wide, const struct exec_sandbox *narrow)
{
	bool does =
		wide->network >= narrow->network &&
		(wide->files != EXEC_FILES_RESTRICTED || narrow->files == EXEC_FILES_RESTRICTED) &&
		covers_at(wide, narrow, "/");

	for (size_t i = 0; i < ARRAY_SIZE(private) && does; i++)
		does = covers_at(wide, narrow, private[i]);
	for (size_t i = 0; i < wide->count && does; i++)
		does = covers_at(wide, narrow, wide->entries[i].path);
	for (size_t i = 0; i < narrow->count && does; i++)
		does = covers_at(wide, narrow, narrow->entries[i].path);
	if (exec_sandbox_is_unconfined(wide))
		return does;
	does = does && !exec_sandbox_is_unconfined(narrow);
	for (size_t i = 0; i < narrow->sockets.count && does; i++)
		does = paths_has(&wide->sockets, narrow->sockets.list[i]);
	return does;
}

/* A path in the text must not contain a tab or an end of line. */
static void put(FILE *out, bool is_key, const char *word, const char *text)
{
	auto_free char *shown = text_visible_dup(text);

	(void)fprintf(out, is_key ? "%s:%s\t" : "%-11s%s\n", word,
		      shown); /* cannot fail: it is memory */
}

static char *write_out(const struct exec_sandbox *s, bool is_key)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		abort(); /* out of memory */
	put(out, is_key, is_key ? "files" : "sandbox",
	    is_key ? files_names[s->files] : mode_names[s->mode]);
	put(out, is_key, "network", network_names[s->network]);
	for (size_t i = 0; i < s->count; i++)
		put(out, is_key, access_names[s->entries[i].access], s->entries[i].path);
	for (size_t i = 0; i < s->sockets.count; i++)
		put(out, is_key, "socket", s->sockets.list[i]);
	if (fclose(out) != 0)
		abort();
	return text;
}

char *exec_sandbox_text(const struct exec_sandbox *s)
{
	return write_out(s, false);
}

char *exec_sandbox_key(const struct exec_sandbox *s)
{
	return write_out(s, true);
}

bool exec_mode_parse(const char *word, enum exec_mode *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(mode_names); i++)
		if (strcmp(word, mode_names[i]) == 0) {
			*ret = (enum exec_mode)i;
			return true;
		}
	return false;
}

const char *exec_mode_name(enum exec_mode mode)
{
	return mode_names[mode];
}
