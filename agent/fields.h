/* fields: the members of one JSON object into a struct, by a table. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum fields_kind {
	FIELDS_TEXT,   /* const char *, borrowed; @max bytes */
	FIELDS_FLAG,   /* bool */
	FIELDS_NUMBER, /* int64_t of 0 to @max */
	FIELDS_WORDS,  /* const char **: an owned list of borrowed text, NULL-terminated; @max */
	FIELDS_OBJECT, /* const json_t *, borrowed */
	FIELDS_CHOICE  /* int: the place in @choices */
};
/* Tables end with { 0 }. */
struct fields_entry {
	const char *name;
	enum fields_kind kind;
	size_t offset;
	uint64_t max;
	bool is_needed;
	const char *const *choices; /* NULL-terminated */
};

/* What is not there, or null, leaves @into as it was. @is_strict: a member that is not known is
 * wrong, because it might have narrowed what is asked for; else it is ignored. 0, or -EINVAL with
 * @why; fields_forget() in both cases. */
int fields_read(const json_t *object, const struct fields_entry *table, bool is_strict, void *into,
		struct err *why);
void fields_forget(const struct fields_entry *table, void *into);
