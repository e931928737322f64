#include "cli/init/lines.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

static size_t find(const json_t *list, const json_t *value)
{
	size_t i = 0;

	while (i < json_array_size(list) && !json_equal(json_array_get(list, i), value))
		i++;
	return i;
}

/* Adds @ours to @object. 1: it has changed; 0; -EINVAL: there is another value. */
static int add(json_t *object, json_t *ours)
{
	const char *key;
	json_t *value;
	int r = 0;

	json_object_foreach(ours, key, value)
	{
		json_t *there = json_object_get(object, key);
		int changed = 0;

		if (!there) {
			changed = json_object_set_new(object, key, json_deep_copy(value)) < 0
					  ? -EINVAL
					  : 1;
		} else if (json_is_object(there) && json_is_object(value)) {
			changed = add(there, value);
		} else if (json_is_array(there) && json_is_array(value)) {
			for (size_t i = 0; i < json_array_size(value); i++) {
				json_t *one = json_array_get(value, i);

				if (find(there, one) == json_array_size(there))
					changed = json_array_append(there, one) < 0 ? -EINVAL : 1;
			}
		} else if (!json_equal(there, value)) {
			return -EINVAL;
		}
		if (changed < 0)
			return changed;
		r |= changed;
	}
	return r;
}

/* 1: it has changed; 0. */
static int take_out(json_t *object, json_t *ours)
{
	const char *key;
	json_t *value;
	int r = 0;

	json_object_foreach(ours, key, value)
	{
		json_t *there = json_object_get(object, key);
		bool is_object = json_is_object(there) && json_is_object(value);
		bool is_list = json_is_array(there) && json_is_array(value);
		int changed = is_object ? take_out(there, value) : 0;

		for (size_t i = 0; is_list && i < json_array_size(value); i++) {
			size_t at = find(there, json_array_get(value, i));

			if (at < json_array_size(there))
				changed = json_array_remove(there, at) == 0;
		}
		if (there && !is_object && !is_list && json_equal(there, value))
			changed = json_object_del(object, key) == 0;
		else if (changed && ((is_object && json_object_size(there) == 0) ||
				     (is_list && json_array_size(there) == 0)))
			(void)json_object_del(object, key);
		r |= changed;
	}
	return r;
}

int lines_change_json(const char *before, const char *ours, bool adds, char **ret, const char *name,
		      struct err *why)
{
	json_error_t error;
	json_t *root = before ? json_loads(before, JSON_REJECT_DUPLICATES, &error) : json_object();
	json_t *lines = json_loads(ours, 0, NULL);
	int r = 0;

	*ret = NULL;
	if (!root)
		r = err_set(why, -EINVAL, "%s:%d:%d: %s", name, error.line, error.column,
			    error.text);
	else if (!json_is_object(root))
		r = err_set(why, -EINVAL, "%s is not a JSON object", name);
	else
		r = adds ? add(root, lines) : take_out(root, lines);
	if (r == -EINVAL && !why->text[0])
		r = err_set(why, -EINVAL,
			    "%s has other values for what would be added (see `sallyport init "
			    "--agent`); change it yourself",
			    name);
	if (r > 0) {
		char *text = json_dumps(root, JSON_INDENT(2));

		*ret = mem_printf("%s\n", text ? text : "{}");
		free(text);
		r = 0;
	}
	json_decref(root);
	json_decref(lines);
	return r;
}

int lines_change_text(const char *before, const char *ours, bool adds, char **ret)
{
	const char *there = before ? strstr(before, ours) : NULL;
	size_t len = before ? strlen(before) : 0;

	*ret = NULL;
	if (adds && !there)
		*ret = mem_printf("%s%s%s%s", before ? before : "",
				  len > 0 && before[len - 1] != '\n' ? "\n" : "",
				  len > 0 ? "\n" : "", ours);
	else if (!adds && there)
		*ret = mem_printf("%.*s%s", (int)(there - before), before, there + strlen(ours));
	return 0;
}
