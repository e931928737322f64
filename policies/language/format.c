#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/replace.h"
#include "policies/files/files_impl.h"
#include "policies/policies_tools.h"
#include "policies/engine/policy_impl.h"
#include "policies/language/words_impl.h"

/* The canonical layout: one blank between words, three before a comment behind them, no blanks at
 * the ends of a line, hosts in lower case. Order, comments and blank lines do not change. */

struct format_out {
	char *text;
	size_t len, room;
};

static void format_add(struct format_out *out, const char *text, size_t len)
{
	out->text = mem_reserve(out->text, &out->room, out->len + len + 1, 1);
	memcpy(out->text + out->len, text, len);
	out->len += len;
	out->text[out->len] = '\0';
}

/* Which word of the line is its destination; the words behind `except` are further ones. */
static size_t format_destination(const struct words *words)
{
	if (words->count == 0)
		return 0;
	/* The words of a command do not change. */
	if (words->count > 2 && words_is(&words->list[2], "command"))
		return 0;
	if (words_is(&words->list[0], "answer") || words_is(&words->list[0], "expect"))
		return 2;
	if (words_is(&words->list[0], "allow") || words_is(&words->list[0], "ask") ||
	    words_is(&words->list[0], "deny"))
		return 1;
	return 0;
}

/* A destination in plain ASCII means the same in lower case. Nothing else changes: the text of
 * `because`, the case of `path` and `method`, hosts in other alphabets. */
static void format_word(struct format_out *out, const struct word *word, bool is_destination)
{
	size_t at = out->len;

	format_add(out, word->is_quoted ? word->text - 1 : word->text,
		   word->len + (word->is_quoted ? 2 : 0));
	for (size_t i = at; is_destination && !word->is_quoted && i < out->len; i++) {
		if (out->text[i] >= 'A' && out->text[i] <= 'Z')
			out->text[i] = (char)(out->text[i] + 32);
	}
}

static void format_words(struct format_out *out, const struct words *words)
{
	size_t destination = format_destination(words);
	bool is_exception = false;

	for (size_t i = 0; i < words->count; i++) {
		const struct word *word = &words->list[i];
		bool is_host = destination > 0 && (i == destination || is_exception) &&
			       memchr(word->text, '.', word->len);

		if (i > 0)
			format_add(out, " ", 1);
		format_word(out, word, is_host);
		is_exception |= destination > 0 && i > destination && words_is(word, "except");
		/* Hosts contain dots; the first word without one is the next clause. */
		if (is_exception && !words_is(word, "except") &&
		    !memchr(word->text, '.', word->len) && !memchr(word->text, ':', word->len))
			is_exception = false;
	}
}

static void format_line(struct format_out *out, const char *line, size_t len, struct words *words)
{
	while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\t'))
		len--;
	/* A line that cannot be parsed does not change: the reader reports it. */
	if (words_split(line, len, words, NULL) < 0) {
		format_add(out, line, len);
		return;
	}
	size_t start = out->len;

	format_words(out, words);
	if (words->comment < len && words->count > 0)
		format_add(out, "   ", 3);
	format_add(out, line + words->comment, len - words->comment);
	if (out->len - start <= POLICY_LINE_MAX)
		return;
	out->len = start; /* the blanks before the comment made the line too long to parse */
	format_add(out, line, len);
}

char *policy_format(const char *text, size_t len, size_t *ret_len)
{
	auto_free struct words *words = mem_new(sizeof(*words));
	struct format_out out = { 0 };

	format_add(&out, "", 0);
	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t line_len = end ? (size_t)(end - text) - at : len - at;

		format_line(&out, text + at, line_len, words);
		format_add(&out, "\n", 1);
		at += line_len + 1;
	}
	*ret_len = out.len;
	return out.text;
}

/* A file with errors is not formatted: its meaning is unknown. */
static int format_check(const char *path, const char *text, size_t len, struct err *why)
{
	struct policy *policy = policy_new();

	policy->is_text_only = true;
	int r = memchr(text, '\0', len) ? -EINVAL : policy_load(policy, path);

	if (r < 0)
		(void)err_set(why, -EINVAL,
			      "the file has errors; `sallyport policy check` shows them");
	policy_free(policy);
	return r < 0 ? -EINVAL : 0;
}

static int format_write(int folder, const char *name, const char *text, size_t len, mode_t mode,
			struct err *why)
{
	auto_free char *fresh = mem_printf(".%s.new", name);
	const struct replace what = { folder, name, fresh, mode & 0777, true };
	int r = replace_file(&what, text, len);

	return r < 0 ? err_errno(why, -r, "cannot write") : 0;
}

static int format_locked(int folder, const char *name, const char *path, bool is_check_only,
			 bool *ret_changed, struct err *why)
{
	auto_free char *text = NULL, *laid_out = NULL;
	struct stat status;
	size_t len, new_len;
	auto_close int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return err_errno(why, errno, "cannot open");
	int r = files_check_file(fd, &status, why);

	if (r == 0)
		r = fd_read_all(fd, POLICY_MAX_BYTES, &text, &len, why);
	if (r == 0)
		r = format_check(path, text, len, why);
	if (r < 0)
		return r;
	assert(text);
	laid_out = policy_format(text, len, &new_len);
	*ret_changed = new_len != len || memcmp(laid_out, text, len) != 0;
	if (is_check_only || !*ret_changed)
		return 0;
	return format_write(folder, name, laid_out, new_len, status.st_mode, why);
}

int policy_format_file(const char *path, bool is_check_only, bool *ret_changed, struct err *why)
{
	const char *name;
	auto_close int folder = files_open_folder(path, &name, why);

	if (folder < 0)
		return err_prefix(why, folder, "%s", path);
	int r = files_check_folder(folder, why);

	/* The same lock as for appending answers, so that none is lost. */
	if (r == 0 && !is_check_only)
		r = files_lock(folder, why);
	if (r == 0)
		r = format_locked(folder, name, path, is_check_only, ret_changed, why);
	return r < 0 ? err_prefix(why, r, "%s", path) : 0;
}
