/* trust_store: lists in the hidden state folder that record which files count with their present
 * content. */
#pragma once

#include "policies/policies.h"

struct err;

/* Each line of a list is "KEY  NAME"; in the first two lists the key is a digest and the name is a
 * path. */
#define TRUST_STORE_TRUSTED "trusted" /* by a person */
#define TRUST_STORE_NOTED   "noted"   /* at their first use; docs/decisions/0008 */
#define TRUST_STORE_REACHED "reached" /* folders that commands could write: policy_reach.c */

/* The content of the list, or "" if it is missing, returned owned; -errno: it cannot be read, or
 * others can write it. @state: a folder; NULL or missing: no list. */
int trust_store_read(const char *state, const char *list, char **ret, struct err *why);
/* The same, but a list that cannot be read is empty, so it trusts nothing. */
char *trust_store_load(const char *state, const char *list);
/* The line of @name in @text, or NULL. */
const char *trust_store_find(const char *text, const char *name);
/* The trust of @name, whose digest is @digest. */
enum policy_trust trust_store_look(const char *text, const char *name, const char *digest);
/* Replaces the line of @name by "@key  @name"; it is on disk when the function returns. */
int trust_store_put(const char *state, const char *list, const char *name, const char *key,
		    struct err *why);
/* Replaces the whole list. */
int trust_store_replace(const char *state, const char *list, const char *text, struct err *why);
/* Records that the present content of the file @path is trusted. */
int trust_store_add(const char *state, const char *path, struct err *why);
