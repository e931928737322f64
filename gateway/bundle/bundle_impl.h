/* bundle: the parts of a bundle, and helpers for both kinds of file. */
#pragma once

#include <jansson.h>

#include "gateway/bundle/bundle.h"

#define BUNDLE_TEXT_MAX   400                 /* of each text in it, with NUL */
#define BUNDLE_NUMBER_MAX ((uint64_t)1 << 53) /* every JSON reader can represent it */

struct bundle_entry {
	struct bundle_request look;
	char text[POLICY_DESTINATION_TEXT_MAX];
	char *rule, *because, *program, *chain, *plea;
	char *commands[BUNDLE_COMMANDS_MAX];
};

struct bundle_origin {
	char *run, *session;
	int64_t at_s;
	uint8_t key[SIGN_KEY_BYTES];
};

struct bundle {
	struct bundle_entry **entries; /* sorted by their text */
	size_t count, room;
	struct bundle_origin *sources;
	size_t source_count;
	uint64_t runs, others;
};

/* The canonical form of @object: no spaces, members sorted by name, ASCII. Returned owned. */
char *bundle_json_text(const json_t *object);
/* Has @object these members and no others? */
bool bundle_json_has_only(const json_t *object, const char *const *names, size_t count);
/* The text of a member if it is visible ASCII and not too long; else NULL. Borrowed. */
const char *bundle_json_string(const json_t *object, const char *name);
bool bundle_json_number(const json_t *object, const char *name, uint64_t *ret);
bool bundle_json_key(const json_t *object, const char *name, uint8_t ret[SIGN_KEY_BYTES]);
/* Parses "https://a.test:443", only in our own spelling. */
bool bundle_json_destination(const char *text, struct policy_destination *ret);
/* Removes "signature" from @object and decodes it: at most @size bytes. */
int bundle_json_signature(json_t *object, const char *name, void *ret, size_t size,
			  size_t *ret_len);
/* "PREFIX\n" and @text; the prefix makes a signature invalid for other kinds of file. Owned. */
char *bundle_json_message(const char *prefix, const char *text, size_t *ret_len);
