#include "agent/changes.h"

#include <errno.h>
#include <string.h>

#include "agent/rpc/fields.h"
#include "agent/rpc/limits.h"
#include "base/err.h"
#include "base/mem.h"

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

/* Begins with a hunk, and has only lines that a hunk can have: so no header names another file than
 * the path of the change. */
static bool is_diff(const char *text)
{
	if (strncmp(text, "@@ -", 4) != 0)
		return false;
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, "@@ -", 4) != 0 && *line && !strchr(" +-\\\n", *line))
			return false;
	}
	return true;
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
			       "\"unified_diff\" must begin with `@@ -` and have only lines of "
			       "hunks, without a header");
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
