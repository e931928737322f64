/* fields: reads the members of a JSON object into a struct, according to a table. */
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
	FIELDS_LIST,   /* const json_t *, borrowed: an array of at most @max */
	FIELDS_CHOICE  /* int: the index in @choices */
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

/* A member that is missing or null leaves @into unchanged. @is_strict: an unknown member is an
 * error, because it might narrow what is asked for; else it is ignored. 0, or -EINVAL with @why;
 * call fields_forget() in both cases. */
int fields_read(const json_t *object, const struct fields_entry *table, bool is_strict, void *into,
		struct err *why);
void fields_forget(const struct fields_entry *table, void *into);
