#include "cli/init/install.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crypto/digest.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/replace.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/init/lines.h"
#include "cli/profiles/profiles.h"

#define FILE_MAX  (1U << 20)
#define FILES_MAX 4 /* of one agent */

/* One file of the agent's. All owned. */
struct target {
	const char *text;     /* what is added; borrowed */
	char *path, *folder;  /* as they are opened */
	char *shown;          /* the path, visible */
	char *before, *after; /* NULL: there is no file */
	char *kept;           /* the file with what was there before it was added */
	bool is_same;         /* there is nothing to do */
	mode_t mode;
};

static void target_done(struct target *target)
{
	free(target->path);
	free(target->folder);
	free(target->shown);
	free(target->before);
	free(target->after);
	free(target->kept);
}

static bool is_json(const struct target *target)
{
	size_t len = strlen(target->path);

	return len > 5 && strcmp(target->path + len - 5, ".json") == 0;
}

/* Opens the folder of the file, which may not be a link either. -errno. */
static int target_folder(const struct target *target)
{
	int fd = open(target->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Reads what is there. */
static int target_read(struct target *target, struct err *why)
{
	struct stat info;
	auto_close int folder = target_folder(target);

	if (folder == -ENOTDIR || folder == -ELOOP)
		return err_set(why, folder,
			       "the folder of %s is a link or no folder; change what it leads to "
			       "yourself",
			       target->shown);
	if (folder < 0 && folder != -ENOENT)
		return err_errno(why, -folder, "the folder of %s", target->shown);
	if (lstat(target->path, &info) < 0)
		return errno == ENOENT ? 0 : err_errno(why, errno, "%s", target->shown);
	if (!S_ISREG(info.st_mode))
		return err_set(why, -ELOOP, "%s is not a file; change what it leads to yourself",
			       target->shown);
	auto_close int fd = open(target->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	target->mode = info.st_mode & 0777;
	return fd < 0 ? err_errno(why, errno, "%s", target->shown)
		      : fd_read_all(fd, FILE_MAX, &target->before, NULL, why);
}

static int digest_of(const char *text, char ret[DIGEST_TEXT_MAX])
{
	return digest_text(text, strlen(text), "", 0, ret);
}

/* What was there before, if the file is still as it was left: exactly that is put back. */
static bool target_is_untouched(struct target *target)
{
	char digest[DIGEST_TEXT_MAX];
	json_t *kept =
		target->kept && target->before ? json_load_file(target->kept, 0, NULL) : NULL;
	const char *after = json_string_value(json_object_get(kept, "after"));
	const json_t *before = json_object_get(kept, "before");
	bool is_untouched =
		after && digest_of(target->before, digest) == 0 && strcmp(after, digest) == 0;

	if (is_untouched && json_is_string(before))
		target->after = mem_strdup(json_string_value(before));
	json_decref(kept);
	return is_untouched;
}

/* Computes what the file will contain. */
static int target_change(struct target *target, enum install_mode mode, struct err *why)
{
	bool adds = mode != INSTALL_REMOVE;
	int r = target_read(target, why);

	if (r < 0)
		return r;
	if (!adds && target_is_untouched(target))
		return 0;
	if (!adds && !target->before) {
		target->is_same = true;
		return 0;
	}
	r = is_json(target) ? lines_change_json(target->before, target->text, adds, &target->after,
						target->shown, why)
			    : lines_change_text(target->before, target->text, adds, &target->after);
	target->is_same = r == 0 && !target->after;
	return r;
}

/* Remembers what is there now, for an exact undo. */
static int target_keep(const struct target *target, struct err *why)
{
	char digest[DIGEST_TEXT_MAX];
	json_t *kept;

	if (!target->kept)
		return err_set(why, -ENOENT, "there is no home directory; set HOME");
	auto_free char *folder =
		mem_strndup(target->kept, (size_t)(strrchr(target->kept, '/') - target->kept));
	int r = cli_make_dirs(folder);

	if (r < 0)
		return err_errno(why, -r, "cannot make %s", folder);
	if (digest_of(target->after, digest) < 0)
		return err_set(why, -EIO, "cannot compute a digest");
	kept = json_pack("{s:s, s:s?, s:s}", "path", target->path, "before", target->before,
			 "after", digest);
	if (!kept)
		return err_set(why, -EILSEQ, "%s is not UTF-8", target->shown);
	r = json_dump_file(kept, target->kept, JSON_INDENT(1));
	json_decref(kept);
	return r < 0 ? err_set(why, -EIO, "cannot write %s", target->kept) : 0;
}

static int target_write(const struct target *target, struct err *why)
{
	auto_free char *fresh = mem_printf(".sallyport-%d", (int)getpid());

	if (mkdir(target->folder, 0755) < 0 && errno != EEXIST)
		return err_errno(why, errno, "cannot make the folder of %s", target->shown);
	auto_close int folder = target_folder(target);

	const struct replace what = { .folder = folder,
				      .name = target->path + strlen(target->folder) + 1,
				      .fresh = fresh,
				      .mode = target->mode,
				      .is_durable = true };
	int r = folder < 0      ? folder
		: target->after ? replace_file(&what, target->after, strlen(target->after))
		: unlinkat(folder, what.name, 0) < 0 ? -errno
						     : 0;

	return r < 0 ? err_errno(why, -r, "cannot write %s", target->shown) : 0;
}

static int target_apply(const struct target *target, enum install_mode mode, const char *name)
{
	struct err why = { 0 };
	int r = 0;

	if (target->is_same) {
		(void)printf("%s %s\n", target->shown,
			     mode == INSTALL_REMOVE ? "has none of it" : "has it already");
		return CLI_OK;
	}
	if (mode == INSTALL_SHOW) {
		(void)printf("%s would be:\n%s", target->shown, target->after);
		return CLI_OK;
	}
	if (mode == INSTALL_ADD)
		r = target_keep(target, &why);
	if (r == 0)
		r = target_write(target, &why);
	if (r < 0)
		return cli_fail(CLI_ERROR, "%s", why.text);
	if (mode == INSTALL_ADD)
		(void)printf("%s was changed; to undo it: sallyport init --agent %s --uninstall\n",
			     target->shown, name);
	else
		(void)printf("%s was %s\n", target->shown,
			     target->after ? "changed back" : "removed, as there was none before");
	if (mode == INSTALL_REMOVE && target->kept)
		(void)unlink(target->kept);
	return CLI_OK;
}

static int target_find(struct target *target, const char *path, const char *name)
{
	const char *home = getenv("HOME");
	char here[PATH_MAX], digest[DIGEST_TEXT_MAX];
	auto_free char *state = cli_state_dir();
	bool is_home = path[0] == '~';

	if ((is_home && (!home || home[0] != '/')) || !getcwd(here, sizeof(here)))
		return -ENOENT;
	target->path = mem_printf("%s/%s", is_home ? home : here, is_home ? path + 2 : path);
	target->folder =
		mem_strndup(target->path, (size_t)(strrchr(target->path, '/') - target->path));
	target->shown = text_visible_dup(path);
	target->mode = is_home ? 0600 : 0644;
	if (state &&
	    digest_text(target->path, strlen(target->path), name, strlen(name), digest) == 0)
		target->kept = mem_printf("%s/init/%s.json", state, digest);
	return 0;
}

int install_agent(const struct profile *profile, enum install_mode mode)
{
	struct target targets[FILES_MAX] = { 0 };
	const char *name = profiles_name(profile), *path, *text;
	struct err why = { 0 };
	size_t count = 0;
	int status = CLI_OK;

	for (; count < FILES_MAX && profiles_config(profile, count, &path, &text); count++) {
		targets[count].text = text;
		if (target_find(&targets[count], path, name) < 0)
			status = cli_fail(CLI_ERROR, "there is no home directory; set HOME");
		else if (target_change(&targets[count], mode, &why) < 0)
			status = cli_fail(CLI_ERROR, "%s; nothing was changed", why.text);
		if (status != CLI_OK)
			break;
	}
	if (status == CLI_OK && count == 0)
		status = cli_fail(CLI_USAGE,
				  "%s has no configuration for this; run it as a whole: "
				  "sallyport run --profile %s -- %s",
				  profiles_title(profile), name, profiles_program(profile));
	for (size_t i = 0; i < count && status == CLI_OK; i++)
		status = target_apply(&targets[i], mode, name);
	for (size_t i = 0; i < FILES_MAX; i++)
		target_done(&targets[i]);
	return status;
}
