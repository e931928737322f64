/* docs/decisions/0008 */
#include "cli/policy/policy_reach.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/run/run_sources.h"
#include "cli/view/reach.h"
#include "cli/view/trust_store.h"

#define DIGEST_SEEN 12 /* digits of a digest that a message shows */

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
static int check_digest(const struct policy_reach *reach, struct run_file *file, const char *shown,
			bool may_be_theirs, struct err *why)
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
	file->is_first = true;
	return 0;
}

static int check_file(const struct policy_reach *reach, const struct reach *roots,
		      struct run_file *file, struct err *why)
{
	auto_free struct reach_found *found = mem_new(sizeof(*found));
	auto_free char *shown = text_visible_dup(file->asked);
	auto_free char *asked = file->asked[0] == '/'
					? mem_strdup(file->asked)
					: mem_printf("%s/%s", reach->cwd, file->asked);

	int r = reach_look(roots, asked, found);

	if (r < 0)
		return refuse_path(shown, r, why);
	if (strcmp(found->path, file->path) != 0 || strchr(file->path, '\n'))
		return err_set(why, -EAGAIN,
			       "the path of policy %s changed while the file was read", shown);
	return found->is_in_reach ? check_digest(reach, file, shown, found->may_be_theirs, why) : 0;
}

/* A project's file loosens nothing before its content is trusted. */
static bool is_of_person(enum policy_layer layer)
{
	return layer != POLICY_PROJECT && layer != POLICY_TRUSTED;
}

static int check_named(const struct reach *roots, char *const *paths, struct err *why)
{
	auto_free struct reach_found *found = mem_new(sizeof(*found));

	for (; *paths; paths++) {
		auto_free char *shown = text_visible_dup(*paths);

		if (reach_look(roots, *paths, found) == -EMLINK)
			return err_set(why, -EPERM,
				       "%s: a symbolic link in this path lies where commands can "
				       "write, so a command could redirect it; name the target "
				       "itself",
				       shown);
	}
	return 0;
}

int policy_reach_check(const struct policy_reach *reach, struct run_loaded *loaded, struct err *why)
{
	struct reach *roots = reach_open(reach->state, why);
	int r = roots ? 0 : -EIO;

	if (roots)
		reach_add(roots, reach->writable, reach->config);
	for (size_t i = 0; i < loaded->file_count && r == 0; i++)
		if (is_of_person(loaded->files[i].layer) && loaded->files[i].path[0] == '/')
			r = check_file(reach, roots, &loaded->files[i], why);
	if (r == 0)
		r = check_named(roots, reach->named, why);
	reach_close(roots);
	return r;
}

static int keep_file(const char *state, const struct run_file *file, struct err *why)
{
	auto_free char *noted = trust_store_load(state, TRUST_STORE_NOTED);
	auto_free char *shown = text_visible_dup(file->asked);

	if (trust_store_look(noted, file->path, file->bytes) == POLICY_TRUSTED_NOW)
		return 0; /* it is named twice */
	(void)cli_fail(0,
		       "policy %s lies where commands can write; from now on it counts only as it "
		       "is now, or as you trust it later (sallyport policy trust %s)",
		       shown, shown);
	return trust_store_put(state, TRUST_STORE_NOTED, file->path, file->bytes, why);
}

int policy_reach_keep(const char *state, const struct run_loaded *loaded, struct err *why)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < loaded->file_count; i++)
		if (loaded->files[i].is_first)
			r = keep_file(state, &loaded->files[i], why);
	return r;
}

int policy_reach_check_paths(const char *state, char *const *paths, struct err *why)
{
	struct reach *roots = reach_open(state, why);

	if (!roots)
		return -EIO;
	int r = check_named(roots, paths, why);

	reach_close(roots);
	return r;
}

int policy_reach_note(const struct policy_reach *reach, struct err *why)
{
	return reach_note(reach->state, reach->writable, reach->config, why);
}
