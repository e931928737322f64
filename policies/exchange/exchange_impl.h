/* exchange: imports and exports policies of other tools. A format is a line of formats.def, which
 * says how to add one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policies/policies.h"

struct err;

#define EXCHANGE_MAX_BYTES (4U << 20)
#define EXCHANGE_PATH_MAX  1024
#define EXCHANGE_VALUE_MAX 2048
#define EXCHANGE_DEPTH_MAX 32
#define EXCHANGE_RULES_MAX 65536

struct exchange {
	const char *name; /* of the file, printable; borrowed */
	struct err *why;
	char *text, *losses; /* owned */
	size_t text_len, text_room, losses_len, losses_room;
	size_t rule_count;
};

/* Adds a line to the policy. */
void exchange_line(struct exchange *exchange, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Reports a part that the policy cannot express, with the line of the source (0: none): as a
 * comment in the policy, and in the list of losses. */
void exchange_lose(struct exchange *exchange, uint32_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same, but in the list only. @name: of the file, printable. */
void exchange_list(struct exchange *exchange, const char *name, uint32_t line, const char *words);
/* -EBADMSG, with the message in exchange->why. */
int exchange_refuse(struct exchange *exchange, uint32_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Adds "ACTION DESTINATION CLAUSES" if the language accepts it. Otherwise an allow is reported as a
 * loss, and any other action refuses the file. @clauses may be "". */
int exchange_rule(struct exchange *exchange, uint32_t line, enum policy_action action,
		  const char *destination, const char *clauses);
/* Adds @text in double quotes, escaped; control bytes become blanks. Returned owned. */
char *exchange_quote(const char *text);

/* One value of a structured file. @path: keys with '/' between, "#" for an element of a list. */
struct exchange_item {
	const char *path;
	const char *key; /* the last part of @path */
	const char *value;
	bool is_text; /* quoted */
	uint32_t line;
};
typedef int (*exchange_item_fn)(struct exchange *exchange, const struct exchange_item *item,
				void *arg);
/* "permissions/?/network": ? matches any one part. */
bool exchange_is_at(const struct exchange_item *item, const char *path);

/* Strict parsers for these files. Each value is reported in order; text that they cannot parse
 * refuses the file. */
int json_read(struct exchange *exchange, const char *text, size_t len, exchange_item_fn each,
	      void *arg);
int toml_tables_read(struct exchange *exchange, const char *text, size_t len, exchange_item_fn each,
		     void *arg);
int yaml_read(struct exchange *exchange, const char *text, size_t len, exchange_item_fn each,
	      void *arg);

/* The path to the value that is being read. */
struct walk {
	struct exchange *exchange;
	exchange_item_fn each;
	void *arg;
	char path[EXCHANGE_PATH_MAX];
	size_t path_len;
	unsigned int depth;
};
/* Appends a key to the path; NULL: an element of a list. '/' and '#' in a key are replaced by a
 * byte that no host contains. -EBADMSG: too deep. */
int walk_push(struct walk *walk, uint32_t line, const char *key);
/* Cuts the path back to @path_len bytes. */
void walk_pop(struct walk *walk, size_t path_len);
/* Reports a value: returns what @each returns, or -EBADMSG: a NUL byte. */
int walk_value(struct walk *walk, uint32_t line, const char *text, size_t len, bool is_text);

struct export_format;
/* Exports a policy, into exchange->text. */
int export_run(struct exchange *exchange, const struct export_format *format,
	       const struct policy *policy, bool may_widen);

#define FORMAT(name, read, write) int read(struct exchange *exchange, const char *text, size_t len);
#include "policies/exchange/formats.def"
#undef FORMAT
