#include "cli/bundle_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crypto/key_file.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/replace.h"
#include "base/text.h"
#include "cli/cli.h"
#include "gateway/bundle/bundle.h"

int bundle_files_open(const char *path, struct bundle_place *ret, struct err *why)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	auto_free char *folder =
		slash ? mem_strndup(path, (size_t)(slash - path) + 1) : mem_strdup(".");

	if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return err_set(why, -EINVAL, "%s is not the name of a file", path);
	ret->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret->folder < 0)
		return err_errno(why, errno, "cannot write %s: cannot open its folder %s", path,
				 folder);
	ret->name = mem_strdup(name);
	return 0;
}

void bundle_files_close(struct bundle_place *place)
{
	fd_close(place->folder);
	free(place->name);
	*place = (struct bundle_place){ .folder = -1 };
}

int bundle_files_write(const struct bundle_place *place, const char *text, mode_t mode,
		       struct err *why)
{
	/* The pid makes the name unique: the folder may belong to another user, so it is not
	 * locked. */
	auto_free char *fresh = mem_printf(".%s.%d.new", place->name, (int)getpid());
	const struct replace what = { place->folder, place->name, fresh, mode, true };
	int r = replace_file(&what, text, strlen(text));

	return r < 0 ? err_errno(why, -r, "cannot write %s", place->name) : 0;
}

int bundle_files_read(const char *path, size_t max, char **ret_text, size_t *ret_len,
		      struct err *why)
{
	auto_close int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return err_errno(why, errno, "cannot open %s", path);
	if (!S_ISREG(status.st_mode))
		return err_set(why, -EINVAL, "%s is not a regular file", path);
	int r = fd_read_all(fd, max, ret_text, ret_len, why);

	return r < 0 ? err_prefix(why, r, "%s", path) : 0;
}

int bundle_files_key(const char *state, bool is_needed, struct sign_key *ret, struct err *why)
{
	int r = !state ? -ENOENT : is_needed ? cli_make_dirs(state) : 0;

	if (r < 0)
		return err_errno(why, -r, "cannot make the folder for the key that signs");
	return key_file_read(state, is_needed, ret, why);
}

int bundle_files_replies(char *const *paths, struct bundle_reply **ret, size_t *ret_count,
			 struct err *why)
{
	size_t count = mem_count_list(paths);

	*ret = mem_new_array(count + 1, sizeof(**ret));
	for (*ret_count = 0; *ret_count < count; (*ret_count)++) {
		const char *path = paths[*ret_count];
		struct bundle_reply *reply = &(*ret)[*ret_count];
		int r = bundle_files_read(path, BUNDLE_ANSWERS_MAX_BYTES, &reply->text, &reply->len,
					  why);

		if (r < 0)
			return r;
		reply->path = text_visible_dup(path);
	}
	return 0;
}

static int add_replies(struct bundle_answers *answers, const struct policy *policy,
		       const struct bundle_reply *replies, size_t count, int64_t now_s,
		       struct err *why)
{
	int result = 0;

	for (size_t i = 0; i < count; i++) {
		int r = bundle_answers_add(answers, policy, replies[i].text, replies[i].len, now_s,
					   why);

		if (r < 0)
			result = err_prefix(why, r, "%s", replies[i].path);
	}
	return result;
}

int bundle_files_answer(struct policy *policy, const struct bundle_reply *replies, size_t count,
			int64_t now_s, size_t *ret_lacking, struct err *why)
{
	struct bundle_answers *answers = bundle_answers_new();
	auto_free char *text = NULL;
	int result = add_replies(answers, policy, replies, count, now_s, why);
	int r = bundle_answers_policy(answers, policy, &text, ret_lacking);

	bundle_answers_free(answers);
	if (r == 0 && text[0] != '\0')
		r = policy_load_text_layer(policy, "<answers>", text, POLICY_COMMAND_LINE);
	return r < 0 ? err_set(why, r, "the answers cannot be read as policy") : result;
}

void bundle_files_forget(struct bundle_reply *replies, size_t count)
{
	for (size_t i = 0; replies && i < count; i++) {
		free(replies[i].path);
		free(replies[i].text);
	}
	free(replies);
}
