#include "agent/rpc/fields.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

static int read_text(const struct fields_entry *entry, const json_t *value, void *place,
		     struct err *why)
{
	if (!json_is_string(value))
		return err_set(why, -EINVAL, "\"%s\" must be text", entry->name);
	if (json_string_length(value) > entry->max)
		return err_set(why, -EINVAL, "\"%s\" is longer than %llu bytes", entry->name,
			       (unsigned long long)entry->max);
	*(const char **)place = json_string_value(value);
	return 0;
}

static int read_number(const struct fields_entry *entry, const json_t *value, void *place,
		       struct err *why)
{
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value) || number < 0 || (uint64_t)number > entry->max)
		return err_set(why, -EINVAL, "\"%s\" must be a whole number from 0 to %llu",
			       entry->name, (unsigned long long)entry->max);
	*(int64_t *)place = number;
	return 0;
}

static int read_words(const struct fields_entry *entry, const json_t *value, void *place,
		      struct err *why)
{
	size_t count = json_array_size(value);

	if (!json_is_array(value) || count > entry->max)
		return err_set(why, -EINVAL, "\"%s\" must be a list of at most %llu texts",
			       entry->name, (unsigned long long)entry->max);
	auto_free const char **words = mem_new_array(count + 1, sizeof(*words));

	for (size_t i = 0; i < count; i++) {
		words[i] = json_string_value(json_array_get(value, i));
		if (!words[i])
			return err_set(why, -EINVAL, "\"%s\" must be a list of texts", entry->name);
	}
	*(const char ***)place = take(words);
	return 0;
}

static int read_choice(const struct fields_entry *entry, const json_t *value, void *place,
		       struct err *why)
{
	const char *word = json_string_value(value);
	char list[256] = "";

	for (int i = 0; word && entry->choices[i]; i++) {
		if (strcmp(word, entry->choices[i]) != 0)
			continue;
		*(int *)place = i;
		return 0;
	}
	for (size_t i = 0, len = 0; entry->choices[i] && len < sizeof(list); i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", i ? ", " : "",
					entry->choices[i]);
	return err_set(why, -EINVAL, "\"%s\" must be one of %s", entry->name, list);
}

static int read_one(const struct fields_entry *entry, const json_t *value, void *place,
		    struct err *why)
{
	switch (entry->kind) {
	case FIELDS_TEXT:
		return read_text(entry, value, place, why);
	case FIELDS_FLAG:
		if (!json_is_boolean(value))
			return err_set(why, -EINVAL, "\"%s\" must be true or false", entry->name);
		*(bool *)place = json_is_true(value);
		return 0;
	case FIELDS_NUMBER:
		return read_number(entry, value, place, why);
	case FIELDS_WORDS:
		return read_words(entry, value, place, why);
	case FIELDS_OBJECT:
		if (!json_is_object(value))
			return err_set(why, -EINVAL, "\"%s\" must be an object", entry->name);
		*(const json_t **)place = value;
		return 0;
	case FIELDS_LIST:
		if (!json_is_array(value) || json_array_size(value) > entry->max)
			return err_set(why, -EINVAL, "\"%s\" must be a list of at most %llu",
				       entry->name, (unsigned long long)entry->max);
		*(const json_t **)place = value;
		return 0;
	case FIELDS_CHOICE:
		return read_choice(entry, value, place, why);
	default:
		return err_set(why, -EINVAL, "\"%s\" cannot be read", entry->name);
	}
}

static int refuse_unknown(const json_t *object, const struct fields_entry *table, struct err *why)
{
	const char *name;
	json_t *value;

	/* jansson's iterator does not take a const pointer; nothing is changed. */
	json_object_foreach((json_t *)(uintptr_t)object, name, value)
	{
		const struct fields_entry *entry = table;

		while (entry->name && strcmp(entry->name, name) != 0)
			entry++;
		if (entry->name)
			continue;
		auto_free char *shown = text_visible_dup(name);

		return err_set(why, -EINVAL, "\"%.64s\" is unknown", shown);
	}
	return 0;
}

int fields_read(const json_t *object, const struct fields_entry *table, bool is_strict, void *into,
		struct err *why)
{
	int r = is_strict ? refuse_unknown(object, table, why) : 0;

	for (const struct fields_entry *entry = table; entry->name && r == 0; entry++) {
		const json_t *value = json_object_get(object, entry->name);

		if (value && !json_is_null(value))
			r = read_one(entry, value, (char *)into + entry->offset, why);
		else if (entry->is_needed)
			r = err_set(why, -EINVAL, "\"%s\" is missing", entry->name);
	}
	return r;
}

void fields_forget(const struct fields_entry *table, void *into)
{
	for (const struct fields_entry *entry = table; entry->name; entry++) {
		if (entry->kind == FIELDS_WORDS) {
			const char ***place = (const char ***)((char *)into + entry->offset);

			free(take(*place));
		}
	}
}
