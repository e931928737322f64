#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/replace.h"
#include "base/text.h"
#include "policies/files/files_impl.h"
#include "policies/policies_tools.h"

#define ANSWERS_PROVENANCE_MAX 1024
#define ANSWERS_LINE_MAX       2048

/* The file that is being changed. The lock is on the folder, because the file itself is
 * replaced. */
struct answers {
	int folder;
	const char *name;        /* of the file in @folder */
	char new_name[NAME_MAX]; /* the new file, until it is complete */
	char *text;              /* the previous content; owned */
	size_t len;
	mode_t mode;
	bool exists;
};

static int answers_make_folders(const char *path, struct err *why)
{
	auto_free char *copy = mem_strdup(path);

	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(copy, 0700) < 0 && errno != EEXIST)
			return err_errno(why, errno, "cannot create the folder %s", copy);
		*slash = '/';
	}
	return 0;
}

static int answers_read(struct answers *answers, struct err *why)
{
	struct stat status;
	auto_close int fd = openat(answers->folder, answers->name,
				   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT) {
		answers->text = mem_strdup("");
		answers->mode = 0600;
		return 0;
	}
	if (fd < 0 && errno == ELOOP)
		return err_set(why, -ELOOP, "it is a symbolic link");
	if (fd < 0)
		return err_errno(why, errno, "cannot open");
	int r = files_check_file(fd, &status, why);

	if (r < 0)
		return r;
	answers->exists = true;
	answers->mode = status.st_mode & 0777;
	return fd_read_all(fd, POLICY_MAX_BYTES - ANSWERS_LINE_MAX, &answers->text, &answers->len,
			   why);
}

/* The next word of a line; empty at its end or at a comment. */
static size_t answers_word(const char **at, const char *end, const char **ret_word)
{
	while (*at < end && (**at == ' ' || **at == '\t'))
		(*at)++;
	*ret_word = *at;
	while (*at < end && **at != ' ' && **at != '\t' && **ret_word != '#')
		(*at)++;
	return (size_t)(*at - *ret_word);
}

/* Compares word by word, ignoring the number of blanks. @want is NUL-terminated. */
static bool answers_are_words(const char **line, const char *end, const char *want)
{
	const char *want_end = want + strlen(want), *word, *wanted;
	size_t len;

	do {
		size_t want_len = answers_word(&want, want_end, &wanted);

		if (want_len == 0)
			return true;
		len = answers_word(line, end, &word);
		if (len != want_len || memcmp(word, wanted, len) != 0)
			return false;
	} while (len > 0);
	return true;
}

static bool answers_is_line(const char *line, const char *end, const char *action, const char *text)
{
	const char *rest;

	return answers_are_words(&line, end, "answer") && answers_are_words(&line, end, action) &&
	       answers_are_words(&line, end, text) && answers_word(&line, end, &rest) == 0;
}

/* Finds the first line with @text, with its line break; false: there is none. */
static bool answers_find(const struct answers *answers, const char *action, const char *text,
			 size_t *ret_at, size_t *ret_len)
{
	const char *at = answers->text, *end = at + answers->len;

	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		if (answers_is_line(at, stop ? stop : end, action, text)) {
			*ret_at = (size_t)(at - answers->text);
			*ret_len = (size_t)((stop ? stop + 1 : end) - at);
			return true;
		}
		at = stop ? stop + 1 : end;
	}
	return false;
}

static void answers_take_out(struct answers *answers, size_t at, size_t len)
{
	memmove(answers->text + at, answers->text + at + len, answers->len - at - len);
	answers->len -= len;
}

/* Finds the last `answer` line, with its line break; false: there is none. */
static bool answers_last(const struct answers *answers, size_t *ret_at, size_t *ret_len)
{
	const char *at = answers->text, *end = at + answers->len;
	bool is_found = false;

	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at)), *line = at, *word;
		size_t len = answers_word(&line, stop ? stop : end, &word);

		stop = stop ? stop + 1 : end;
		if (len == strlen("answer") && memcmp(word, "answer", len) == 0) {
			*ret_at = (size_t)(at - answers->text);
			*ret_len = (size_t)(stop - at);
			is_found = true;
		}
		at = stop;
	}
	return is_found;
}

/* Replaces the file, adding @line unless it is NULL. */
static int answers_replace(struct answers *answers, const char *line, struct err *why)
{
	const struct replace what = { answers->folder, answers->name, answers->new_name,
				      answers->mode, true };
	bool needs_newline = line && answers->len > 0 && answers->text[answers->len - 1] != '\n';
	const char *head = answers->exists ? "" : "version 1\n";
	size_t more = strlen(head) + (line ? strlen(line) : 0) + 2;
	auto_free char *text = mem_new(answers->len + more);

	memcpy(text, answers->text, answers->len);
	int len = snprintf(text + answers->len, more, "%s%s%s", head, needs_newline ? "\n" : "",
			   line ? line : "");
	int r = replace_file(&what, text, answers->len + (size_t)len);

	return r < 0 ? err_errno(why, -r, "cannot write") : 0;
}

/* `for` counts from the comment, so the same line given later is a different answer. */
static bool answers_counts_from_now(const char *text)
{
	const char *end = text + strlen(text), *word;
	size_t len;

	while ((len = answers_word(&text, end, &word)) > 0) {
		if (len == 3 && memcmp(word, "for", 3) == 0)
			return true;
	}
	return false;
}

static int answers_append_locked(struct answers *answers, enum policy_action action,
				 const char *text, const char *line, struct err *why)
{
	size_t at, len;
	int r = files_lock(answers->folder, why);

	if (r == 0)
		r = answers_read(answers, why);
	if (r < 0)
		return r;
	if (answers_find(answers, policy_action_name(action), text, &at, &len)) {
		if (!answers_counts_from_now(text))
			return 0;
		answers_take_out(answers, at, len);
	}
	return answers_replace(answers, line, why);
}

static int answers_remove_locked(struct answers *answers, enum policy_action action,
				 const char *text, struct err *why)
{
	size_t at, len, removed = 0;
	int r = files_lock(answers->folder, why);

	if (r == 0)
		r = answers_read(answers, why);
	if (r < 0)
		return r;
	while (answers_find(answers, policy_action_name(action), text, &at, &len)) {
		answers_take_out(answers, at, len);
		removed++;
	}
	return removed ? answers_replace(answers, NULL, why)
		       : err_set(why, -ENOENT, "that answer is not stored there");
}

static int answers_undo_locked(struct answers *answers, char **ret_line, struct err *why)
{
	size_t at, len;
	int r = files_lock(answers->folder, why);

	if (r == 0)
		r = answers_read(answers, why);
	if (r < 0)
		return r;
	if (!answers_last(answers, &at, &len))
		return err_set(why, -ENOENT, "no answer is stored there");
	auto_free char *line = mem_strndup(answers->text + at, len);

	line[strcspn(line, "\n")] = '\0';
	answers_take_out(answers, at, len);
	r = answers_replace(answers, NULL, why);
	if (r == 0)
		*ret_line = take(line);
	return r;
}

/* Opens the folder and sets the names next to the file. The caller closes answers->folder. */
static int answers_open(struct answers *answers, const char *path, struct err *why)
{
	answers->folder = files_open_folder(path, &answers->name, why);
	if (answers->folder < 0)
		return answers->folder;
	int len = snprintf(answers->new_name, sizeof(answers->new_name), ".%s.new", answers->name);

	if (len < 0 || (size_t)len >= sizeof(answers->new_name) || answers->name[0] == '\0')
		return err_set(why, -ENAMETOOLONG, "it is not a file name");
	return files_check_folder(answers->folder, why);
}

int policy_answer_undo(const char *path, char **ret_line, struct err *why)
{
	struct answers answers = { .folder = -1 };
	int r = answers_open(&answers, path, why);

	if (r == 0)
		r = answers_undo_locked(&answers, ret_line, why);
	fd_close(answers.folder);
	free(answers.text);
	return r < 0 ? err_prefix(why, r, "%s", path) : 0;
}

int policy_answer_remove(const char *path, enum policy_action action, const char *text,
			 struct err *why)
{
	struct answers answers = { .folder = -1 };
	int r = answers_open(&answers, path, why);

	if (r == 0)
		r = answers_remove_locked(&answers, action, text, why);
	fd_close(answers.folder);
	free(answers.text);
	return r < 0 ? err_prefix(why, r, "%s", path) : 0;
}

/* Checks that @text is one valid line that will be read back as it is. */
static int answers_check_line(const char *text, const char *line, struct err *why)
{
	struct policy *policy;
	int r;

	if (strpbrk(text, "\r\n#"))
		return err_set(why, -EINVAL, "this answer cannot be stored");
	auto_free char *whole = mem_printf("version 1\n%s", line);

	policy = policy_new();
	r = policy_load_text_layer(policy, "<answer>", whole, POLICY_USER);
	if (r < 0)
		(void)err_set(why, r, "this answer cannot be stored: %s", policy_errors(policy));
	policy_free(policy);
	return r;
}

int policy_answer_append_text(const char *path, enum policy_action action, const char *text,
			      const char *provenance, struct err *why)
{
	struct answers answers = { .folder = -1 };
	char shown[ANSWERS_PROVENANCE_MAX], line[ANSWERS_LINE_MAX];
	int r;

	if (action == POLICY_ASK)
		return err_set(why, -EINVAL, "this answer cannot be stored");
	/* Visible text contains no line break, so it stays a comment. */
	(void)text_visible(shown, sizeof(shown), provenance, strlen(provenance));
	r = snprintf(line, sizeof(line), "answer %s %s   # %s\n", policy_action_name(action), text,
		     shown);
	if (r < 0 || (size_t)r >= sizeof(line))
		return err_set(why, -E2BIG, "the line is too long");
	r = answers_check_line(text, line, why);
	if (r < 0)
		return r;
	r = answers_make_folders(path, why);
	if (r < 0)
		return err_prefix(why, r, "%s", path);
	r = answers_open(&answers, path, why);
	if (r == 0)
		r = answers_append_locked(&answers, action, text, line, why);
	fd_close(answers.folder);
	free(answers.text);
	return r < 0 ? err_prefix(why, r, "%s", path) : 0;
}

static bool answers_has_line(const struct answers *answers, const char *line)
{
	size_t len = strlen(line);

	for (const char *at = answers->text; *at != '\0';) {
		size_t this_len = strcspn(at, "\n");

		if (this_len == len && memcmp(at, line, len) == 0)
			return true;
		at += this_len + (at[this_len] == '\n');
	}
	return false;
}

static int answers_append_lines_locked(struct answers *answers, const char *const *lines,
				       struct err *why)
{
	auto_free char *text = mem_strdup("");
	int r = files_lock(answers->folder, why);

	if (r == 0)
		r = answers_read(answers, why);
	if (r < 0)
		return r;
	for (size_t i = 0; lines[i]; i++) {
		if (answers_has_line(answers, lines[i]))
			continue;
		mem_append(&text, "%s\n", lines[i]);
	}
	return text[0] ? answers_replace(answers, text, why) : 0;
}

int policy_lines_append(const char *path, const char *const *lines, struct err *why)
{
	struct answers answers = { .folder = -1 };
	int r = 0;

	for (size_t i = 0; lines[i] && r == 0; i++) {
		if (strlen(lines[i]) >= ANSWERS_LINE_MAX)
			return err_set(why, -E2BIG, "the line is too long");
		r = answers_check_line(lines[i], lines[i], why);
	}
	if (r == 0)
		r = answers_make_folders(path, why);
	if (r == 0)
		r = answers_open(&answers, path, why);
	if (r == 0)
		r = answers_append_lines_locked(&answers, lines, why);
	fd_close(answers.folder);
	free(answers.text);
	return r < 0 ? err_prefix(why, r, "%s", path) : 0;
}
