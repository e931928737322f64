/* bundle: what a bundle is made of, and what both kinds of file have in common. */
#pragma once

#include <jansson.h>

#include "gateway/bundle/bundle.h"

#define BUNDLE_TEXT_MAX   400                 /* of any text in it, with NUL */
#define BUNDLE_NUMBER_MAX ((uint64_t)1 << 53) /* any reader of JSON can hold it */

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
	struct bundle_entry **entries; /* by their text */
	size_t count, room;
	struct bundle_origin *sources;
	size_t source_count;
	uint64_t runs, others;
};

/* The one spelling of @object: no spaces, members by name, ASCII. Returned owned. */
char *bundle_json_text(const json_t *object);
/* Has @object these members and no others? */
bool bundle_json_has_only(const json_t *object, const char *const *names, size_t count);
/* The text of a member when it is visible ASCII and not too long; NULL. Borrowed. */
const char *bundle_json_string(const json_t *object, const char *name);
bool bundle_json_number(const json_t *object, const char *name, uint64_t *ret);
bool bundle_json_key(const json_t *object, const char *name, uint8_t ret[SIGN_KEY_BYTES]);
/* "https://a.test:443", spelt as we spell it. */
bool bundle_json_destination(const char *text, struct policy_destination *ret);
/* Takes "signature" out of @object: its bytes, at most @size. */
int bundle_json_signature(json_t *object, const char *name, void *ret, size_t size,
			  size_t *ret_len);
/* "PREFIX\n" and @text, in front of which no other kind of file's signature is good. Owned. */
char *bundle_json_message(const char *prefix, const char *text, size_t *ret_len);
