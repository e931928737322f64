#include "policies/language/problems_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

#define PROBLEMS_BEFORE    60U /* bytes of the line shown before the error */
#define PROBLEMS_AFTER     60U
#define PROBLEMS_WORDS_MAX 512

static void problems_write(struct problems *problems, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void problems_write(struct problems *problems, const char *format, ...)
{
	va_list args;
	auto_free char *piece = NULL;

	va_start(args, format);
	int len = vasprintf(&piece, format, args);

	va_end(args);
	if (len < 0)
		return;
	problems->text =
		mem_reserve(problems->text, &problems->room, problems->len + (size_t)len + 1, 1);
	memcpy(problems->text + problems->len, piece, (size_t)len + 1);
	problems->len += (size_t)len;
}

/* A tab would move the caret away from its byte, so it is shown as one space. Other unprintable
 * bytes are shown as \xNN. */
static void problems_visible(char *out, size_t size, const char *text, size_t len)
{
	auto_free char *copy = mem_new(len + 1);

	for (size_t i = 0; i < len; i++)
		copy[i] = text[i] == '\t' ? ' ' : text[i];
	(void)text_visible(out, size, copy, len);
}

static void problems_show_line(struct problems *problems, const struct spot *spot)
{
	size_t at = spot->at < spot->len ? spot->at : spot->len;
	size_t first = at > PROBLEMS_BEFORE ? at - PROBLEMS_BEFORE : 0;
	size_t last = spot->len - at > PROBLEMS_AFTER ? at + PROBLEMS_AFTER : spot->len;
	char left[PROBLEMS_BEFORE * 4 + 1], right[PROBLEMS_AFTER * 4 + 1];
	const char *cut_left = first > 0 ? "..." : "";

	problems_visible(left, sizeof(left), spot->text + first, at - first);
	problems_visible(right, sizeof(right), spot->text + at, last - at);
	problems_write(problems, "    %s%s%s%s\n", cut_left, left, right,
		       last < spot->len ? "..." : "");
	problems_write(problems, "    %*s^\n", (int)(strlen(cut_left) + strlen(left)), "");
}

static void problems_count_rest(struct problems *problems)
{
	problems->len = problems->shown_len;
	problems_write(problems, "... and %zu more\n", problems->count - POLICY_PROBLEMS_MAX);
}

static void problems_put(struct problems *problems, const struct spot *spot, const char *kind,
			 const char *instead, const char *words)
{
	char shown[PROBLEMS_WORDS_MAX * 2];

	problems->count++;
	if (problems->count > POLICY_PROBLEMS_MAX) {
		problems_count_rest(problems);
		return;
	}
	problems_visible(shown, sizeof(shown), words, strlen(words));
	if (spot->number > 0)
		problems_write(problems, "%s:%zu:%zu: %s: %s\n", spot->file, spot->number,
			       spot->at + 1, kind, shown);
	else
		problems_write(problems, "%s: %s: %s\n", spot->file, kind, shown);
	if (spot->text)
		problems_show_line(problems, spot);
	if (instead && instead[0]) {
		problems_visible(shown, sizeof(shown), instead, strlen(instead));
		problems_write(problems, "    write: %s\n", shown);
	}
	problems->shown_len = problems->len;
}

void problems_add(struct problems *errors, const struct spot *spot, const char *instead,
		  const char *format, ...)
{
	char words[PROBLEMS_WORDS_MAX];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	problems_put(errors, spot, "error", instead, words);
}

void problems_note(struct problems *notes, const struct spot *spot, const char *format, ...)
{
	char words[PROBLEMS_WORDS_MAX];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	problems_put(notes, spot, "warning", NULL, words);
}
