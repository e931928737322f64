#include "exec/view/seen.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "exec/exec_made.h"
#include "exec/sandbox/plan.h"

/* Numbers are in the machine's byte order and texts have their NUL, because both ends are this
 * program. */
static const size_t lists[] = {
	offsetof(struct plan, fresh),        offsetof(struct plan, writable),
	offsetof(struct plan, readable),     offsetof(struct plan, pins),
	offsetof(struct plan, hidden),       offsetof(struct plan, read_only),
	offsetof(struct plan, sockets),      offsetof(struct plan, missing),
	offsetof(struct plan, covered),      offsetof(struct plan, folders),
	offsetof(struct plan, open_sockets), offsetof(struct plan, granted),
	offsetof(struct plan, links),        offsetof(struct plan, warnings),
};

struct reader {
	const char *at, *end;
	bool is_bad;
};

static const struct paths *list_of(const struct plan *plan, size_t i)
{
	return (const struct paths *)(const void *)((const char *)plan + lists[i]);
}

/* Writes to memory: the only failure is lack of memory, which ends the process. */
static void put_number(FILE *out, uint32_t number)
{
	(void)fwrite(&number, sizeof(number), 1, out);
}

static void put_text(FILE *out, const char *text)
{
	(void)fwrite(text, strlen(text) + 1, 1, out);
}

void seen_write(FILE *out, const struct plan *plan, int error, const struct err *why)
{
	put_number(out, (uint32_t)-error);
	if (error < 0) {
		put_text(out, why->text);
		return;
	}
	put_number(out, plan->flags);
	put_number(out, plan->has_fresh_tmp);
	put_text(out, plan->cwd);
	put_text(out, plan->tmpdir ? plan->tmpdir : "");
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const struct paths *paths = list_of(plan, i);

		put_number(out, (uint32_t)paths->count);
		for (size_t k = 0; k < paths->count; k++)
			put_text(out, paths->list[k]);
	}
}

static uint32_t get_number(struct reader *reader)
{
	uint32_t number = 0;

	if ((size_t)(reader->end - reader->at) < sizeof(number)) {
		reader->is_bad = true;
		return 0;
	}
	memcpy(&number, reader->at, sizeof(number));
	reader->at += sizeof(number);
	return number;
}

/* Borrowed; "" if there is none. */
static const char *get_text(struct reader *reader)
{
	const char *text = reader->at;
	const char *nul = memchr(text, '\0', (size_t)(reader->end - text));

	reader->is_bad |= !nul;
	reader->at = nul ? nul + 1 : reader->end;
	return nul ? text : "";
}

int seen_read(const struct exec_seen *seen, struct plan *plan, struct err *why)
{
	struct reader reader = { seen->bytes, seen->bytes + seen->len, false };
	uint32_t error = get_number(&reader);

	if (error != 0 && !reader.is_bad)
		return err_set(why, -(int)error, "%s", get_text(&reader));
	plan->flags = get_number(&reader);
	plan->has_fresh_tmp = get_number(&reader) != 0;
	plan->cwd = mem_strdup(get_text(&reader));
	const char *tmpdir = get_text(&reader);

	plan->tmpdir = tmpdir[0] ? mem_strdup(tmpdir) : NULL;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		struct paths *paths = (struct paths *)(uintptr_t)list_of(plan, i);

		for (uint32_t left = get_number(&reader); left > 0 && !reader.is_bad; left--)
			paths_add(paths, get_text(&reader));
	}
	if (reader.is_bad || reader.at != reader.end)
		return err_set(why, -EBADMSG,
			       "the list of files from the helper process is malformed");
	return 0;
}
