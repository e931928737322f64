#include "agent/changes.h"

#include <errno.h>
#include <string.h>

#include "agent/rpc/fields.h"
#include "agent/rpc/limits.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

enum kind { ADD, DELETE, UPDATE };
static const char *const kinds[] = {
	[ADD] = "add",
	[DELETE] = "delete",
	[UPDATE] = "update",
	NULL,
};
struct change {
	const char *path, *content, *diff, *move;
	int kind;
};
static const struct fields_entry fields[] = {
	{ "path", FIELDS_TEXT, offsetof(struct change, path), AGENT_PATH_MAX, true, NULL },
	{ "kind", FIELDS_CHOICE, offsetof(struct change, kind), 0, true, kinds },
	{ "content", FIELDS_TEXT, offsetof(struct change, content), CHANGES_BYTES_MAX, false,
	  NULL },
	{ "unified_diff", FIELDS_TEXT, offsetof(struct change, diff), CHANGES_BYTES_MAX, false,
	  NULL },
	{ "move_path", FIELDS_TEXT, offsetof(struct change, move), AGENT_PATH_MAX, false, NULL },
	{ 0 },
};

/* The lines of a hunk that are still to come, of the file before and of the file after. */
struct hunk {
	uint64_t old, new;
};

/* Reads `NUMBER` or `NUMBER,COUNT`; without a count it is 1. NULL: it is neither. */
static const char *read_range(const char *at, uint64_t *ret_count)
{
	size_t len = strspn(at, "0123456789");
	int r = text_to_u64(at, len, UINT32_MAX, ret_count);

	*ret_count = 1;
	at += len;
	if (r < 0 || *at != ',')
		return r < 0 ? NULL : at;
	len = strspn(++at, "0123456789");
	return text_to_u64(at, len, UINT32_MAX, ret_count) < 0 ? NULL : at + len;
}

static bool read_hunk(const char *line, struct hunk *ret)
{
	const char *at = strncmp(line, "@@ -", 4) == 0 ? read_range(line + 4, &ret->old) : NULL;

	at = at && strncmp(at, " +", 2) == 0 ? read_range(at + 2, &ret->new) : NULL;
	return at && strncmp(at, " @@", 3) == 0;
}

static bool take_line(char first, struct hunk *hunk)
{
	bool is_old = first != '+', is_new = first != '-';

	if (!strchr(" +-\n", first) || (is_old && hunk->old == 0) || (is_new && hunk->new == 0))
		return false;
	hunk->old -= is_old;
	hunk->new -= is_new;
	return true;
}

/* Has only hunks, each with as many lines as it says: a program that applies them would take a line
 * after these for a header, which could name another file than the path of the change. */
static bool is_diff(const char *text)
{
	struct hunk hunk = { 0 };
	const char *end;

	if (*text != '@')
		return false;
	for (const char *line = text; *line; line = *end ? end + 1 : end) {
		bool is_over = hunk.old == 0 && hunk.new == 0;

		end = line + strcspn(line, "\n");
		if (*line == '\\' || (is_over && *line == '\n'))
			continue; /* "\ No newline at end of file" */
		if (is_over ? !read_hunk(line, &hunk) : !take_line(*line, &hunk))
			return false;
	}
	return hunk.old == 0 && hunk.new == 0;
}

static int check(const struct change *change, struct err *why)
{
	bool is_update = change->kind == UPDATE;

	if (change->kind == ADD && !change->content)
		return err_set(why, -EINVAL, "a change that adds a file needs \"content\"");
	if (is_update ? change->content != NULL : (change->diff || change->move))
		return err_set(why, -EINVAL,
			       "\"unified_diff\" and \"move_path\" are for the kind `update`, and "
			       "\"content\" is for the others");
	if (is_update && !change->diff && !change->move)
		return err_set(why, -EINVAL,
			       "a change that updates a file needs \"unified_diff\" or "
			       "\"move_path\"");
	if (change->diff && !is_diff(change->diff))
		return err_set(why, -EINVAL,
			       "\"unified_diff\" must have only hunks, without a header, each with "
			       "as many lines as its `@@` says");
	return 0;
}

static int read_one(const json_t *object, char ***files, struct err *why)
{
	struct change change = { 0 };
	int r = json_is_object(object) ? fields_read(object, fields, true, &change, why)
				       : err_set(why, -EINVAL, "a change must be an object");

	if (r == 0)
		r = check(&change, why);
	if (r < 0)
		return r;
	mem_append_list(files, mem_strdup(change.path));
	if (change.move)
		mem_append_list(files, mem_strdup(change.move));
	return 0;
}

int changes_read(const json_t *list, char ***ret_files, char **ret_text, struct err *why)
{
	auto_free_list char **files = NULL;
	const json_t *object;
	size_t i;

	if (json_array_size(list) == 0)
		return err_set(why, -EINVAL, "\"changes\" is empty; describe at least one");
	json_array_foreach(list, i, object)
	{
		int r = read_one(object, &files, why);

		if (r < 0)
			return r;
	}
	auto_free char *text = json_dumps(list, JSON_COMPACT);

	if (!text || strlen(text) > CHANGES_BYTES_MAX)
		return err_set(why, -EINVAL, "\"changes\" has more than %u bytes",
			       CHANGES_BYTES_MAX);
	*ret_files = take(files);
	*ret_text = take(text);
	return 0;
}
