/* To add a format: one file exchange/NAME.c with a function that reads it and calls exchange_rule()
 * and exchange_lose(), its declaration here and one line in table.c. Never wider than the source:
 * what cannot be said is left out of what is allowed, and a denial that cannot be said refuses the
 * whole import. */
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
	const char *name; /* of the file, visible; borrowed */
	struct err *why;
	char *text, *losses; /* owned */
	size_t text_len, text_room, losses_len, losses_room;
	size_t rule_count;
};

/* A line of the policy. */
void exchange_line(struct exchange *exchange, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* What the policy does not say, with the line of the source (0: none): a comment in the policy, and
 * a line of the list. */
void exchange_lose(struct exchange *exchange, uint32_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same, in the list alone. @name: of the file, visible. */
void exchange_list(struct exchange *exchange, const char *name, uint32_t line, const char *words);
/* -EBADMSG, with the words in exchange->why. */
int exchange_refuse(struct exchange *exchange, uint32_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* "ACTION DESTINATION CLAUSES", if the language takes it. An allow it does not take is lost;
 * anything else is refused.
 * @clauses may be "". */
int exchange_rule(struct exchange *exchange, uint32_t line, enum policy_action action,
		  const char *destination, const char *clauses);
/* Adds @text in double quotes, escaped; control bytes become blanks. Returned owned. */
char *exchange_quote(const char *text);

/* One value of a structured file. @path: keys with '/' between, "#" for an element of a list. */
struct exchange_item {
	const char *path;
	const char *key; /* the last part of @path */
	const char *value;
	bool is_text; /* quoted, or plain text of YAML */
	uint32_t line;
};
typedef int (*exchange_item_fn)(struct exchange *exchange, const struct exchange_item *item,
				void *arg);
/* "permissions/?/network": ? stands for any one part. */
bool exchange_is_at(const struct exchange_item *item, const char *path);

/* Strict readers of what these files use. Each value in order; what they cannot read refuses the
 * file. */
int flow_json(struct exchange *exchange, const char *text, size_t len, exchange_item_fn each,
	      void *arg);
int toml_tables_read(struct exchange *exchange, const char *text, size_t len, exchange_item_fn each,
		     void *arg);
int yaml_read(struct exchange *exchange, const char *text, size_t len, exchange_item_fn each,
	      void *arg);

/* Values inside one line or one call: JSON's, and what YAML and Starlark write like it. */
struct flow {
	struct exchange *exchange;
	const char *text;
	size_t len, at;
	uint32_t line;
	unsigned int depth;
	bool is_strict; /* JSON: no comments, no single quotes, no comma at the end */
	char path[EXCHANGE_PATH_MAX];
	size_t path_len;
	char value[EXCHANGE_VALUE_MAX];
	bool is_text;
	exchange_item_fn each;
	void *arg;
};
void flow_skip(struct flow *flow);
int flow_push(struct flow *flow, const char *part);
void flow_pop(struct flow *flow, size_t path_len);
int flow_emit(struct flow *flow);
int flow_value(struct flow *flow);

struct export_format;
/* The way back, in exchange->text. */
int export_run(struct exchange *exchange, const struct export_format *format,
	       const struct policy *policy, bool may_widen);

int codex_config_import(struct exchange *exchange, const char *text, size_t len);
int codex_rules_import(struct exchange *exchange, const char *text, size_t len);
int runtime_import(struct exchange *exchange, const char *text, size_t len);
int smokescreen_import(struct exchange *exchange, const char *text, size_t len);
int harden_import(struct exchange *exchange, const char *text, size_t len);
