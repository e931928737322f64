/* The file of requests. */
#include <errno.h>
#include <string.h>

#include "base/crypto/base64.h"
#include "base/crypto/digest.h"
#include "base/err.h"
#include "base/mem.h"
#include "gateway/bundle/bundle_impl.h"

#define FILE_FORMAT  "sallyport-bundle"
#define FILE_MESSAGE "sallyport-bundle-v1" /* the beginning of the signed message */

/* What is left out if a file would be too large, in this order. */
enum brevity { FILE_WHOLE, FILE_WITHOUT_TEXTS, FILE_WITHOUT_SOURCES, FILE_BREVITIES };

static json_t *commands_json(const struct bundle_entry *entry, enum brevity brevity)
{
	json_t *list = json_array();

	for (size_t i = 0; brevity == FILE_WHOLE && i < BUNDLE_COMMANDS_MAX && entry->commands[i];
	     i++)
		json_array_append_new(list, json_string(entry->commands[i]));
	return list;
}

static json_t *entry_json(const struct bundle_entry *entry, enum brevity brevity)
{
	bool has_texts = brevity == FILE_WHOLE;

	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:s, s:s, s:s, s:s, s:s, s:o}", "destination",
			 entry->text, "count", (json_int_t)entry->look.count, "runs",
			 (json_int_t)entry->look.runs, "first", (json_int_t)entry->look.first_s,
			 "last", (json_int_t)entry->look.last_s, "rule",
			 has_texts ? entry->rule : "", "because", has_texts ? entry->because : "",
			 "program", has_texts ? entry->program : "", "chain",
			 has_texts ? entry->chain : "", "plea", has_texts ? entry->plea : "",
			 "commands", commands_json(entry, brevity));
}

static json_t *origin_json(const struct bundle_origin *origin)
{
	char key[SIGN_PUBLIC_TEXT_MAX];

	return json_pack("{s:s, s:s, s:I, s:s}", "run", origin->run, "session", origin->session,
			 "at", (json_int_t)origin->at_s, "key", sign_public_text(origin->key, key));
}

/* All members except the signature. Returned owned. */
static json_t *bundle_json(const struct bundle *bundle, const uint8_t signer[SIGN_KEY_BYTES],
			   enum brevity brevity)
{
	json_t *requests = json_array(), *sources = json_array();
	char key[SIGN_PUBLIC_TEXT_MAX];

	for (size_t i = 0; i < bundle->count; i++)
		json_array_append_new(requests, entry_json(bundle->entries[i], brevity));
	for (size_t i = 0; brevity != FILE_WITHOUT_SOURCES && i < bundle->source_count; i++)
		json_array_append_new(sources, origin_json(&bundle->sources[i]));
	return json_pack("{s:s, s:i, s:o, s:o, s:I, s:I, s:s}", "format", FILE_FORMAT, "version", 1,
			 "requests", requests, "sources", sources, "runs", (json_int_t)bundle->runs,
			 "others", (json_int_t)bundle->others, "key",
			 sign_public_text(signer, key));
}

static int write_as(const struct bundle *bundle, const struct sign_key *key, enum brevity brevity,
		    char **ret_text, struct err *why)
{
	uint8_t signature[SIGN_BYTES];
	json_t *object = bundle_json(bundle, key->public, brevity);
	auto_free char *text = bundle_json_text(object);
	size_t len;
	auto_free char *message = bundle_json_message(FILE_MESSAGE, text, &len);
	int r = object ? sign_bytes(key, message, len, signature, why)
		       : err_set(why, -EINVAL, "the requests cannot be written as JSON");

	if (r == 0) {
		auto_free char *shown = base64_encode(signature, sizeof(signature));

		json_object_set_new(object, "signature", json_string(shown));
		auto_free char *signed_text = bundle_json_text(object);

		*ret_text = mem_printf("%s\n", signed_text);
	}
	json_decref(object);
	return r;
}

int bundle_file_write(const struct bundle *bundle, const struct sign_key *key, char **ret_text,
		      struct err *why)
{
	for (enum brevity brevity = FILE_WHOLE; brevity < FILE_BREVITIES; brevity++) {
		auto_free char *text = NULL;
		int r = write_as(bundle, key, brevity, &text, why);

		if (r < 0)
			return r;
		if (strlen(text) <= BUNDLE_MAX_BYTES) {
			*ret_text = take(text);
			return 0;
		}
	}
	return err_set(why, -E2BIG, "there are more questions than a bundle can hold");
}

static bool read_commands(const json_t *list, struct bundle_request *ret)
{
	size_t count = json_array_size(list);

	if (!json_is_array(list) || count > BUNDLE_COMMANDS_MAX)
		return false;
	for (size_t i = 0; i < count; i++) {
		const json_t *command = json_array_get(list, i);

		/* Copying makes it visible. */
		if (!json_is_string(command))
			return false;
		ret->commands[i] = json_string_value(command);
	}
	return true;
}

static bool read_request(const json_t *object, struct bundle_request *ret)
{
	static const char *const members[] = { "destination", "count", "runs",    "first",
					       "last",        "rule",  "because", "program",
					       "chain",       "plea",  "commands" };
	uint64_t first, last;

	*ret = (struct bundle_request){
		.rule = bundle_json_string(object, "rule"),
		.because = bundle_json_string(object, "because"),
		.program = bundle_json_string(object, "program"),
		.chain = bundle_json_string(object, "chain"),
		.plea = bundle_json_string(object, "plea"),
	};
	if (!bundle_json_has_only(object, members, ARRAY_SIZE(members)) ||
	    !bundle_json_destination(bundle_json_string(object, "destination"), &ret->dst) ||
	    !bundle_json_number(object, "count", &ret->count) ||
	    !bundle_json_number(object, "runs", &ret->runs) ||
	    !bundle_json_number(object, "first", &first) ||
	    !bundle_json_number(object, "last", &last) || !ret->rule || !ret->because ||
	    !ret->program || !ret->chain || !ret->plea)
		return false;
	ret->first_s = (int64_t)first;
	ret->last_s = (int64_t)last;
	return read_commands(json_object_get(object, "commands"), ret);
}

static bool read_source(const json_t *object, struct bundle_source *ret)
{
	static const char *const members[] = { "run", "session", "at", "key" };
	uint64_t at;

	*ret = (struct bundle_source){
		.run = bundle_json_string(object, "run"),
		.session = bundle_json_string(object, "session"),
	};
	if (!bundle_json_has_only(object, members, ARRAY_SIZE(members)) || !ret->run ||
	    !ret->session || !bundle_json_number(object, "at", &at) ||
	    !bundle_json_key(object, "key", ret->key))
		return false;
	ret->at_s = (int64_t)at;
	return true;
}

static bool read_lists(const json_t *object, struct bundle *bundle)
{
	const json_t *requests = json_object_get(object, "requests");
	const json_t *sources = json_object_get(object, "sources");
	struct bundle_request request;
	struct bundle_source source;

	if (!json_is_array(requests) || json_array_size(requests) > BUNDLE_KEYS_MAX ||
	    !json_is_array(sources) || json_array_size(sources) > BUNDLE_SOURCES_MAX)
		return false;
	for (size_t i = 0; i < json_array_size(requests); i++) {
		if (!read_request(json_array_get(requests, i), &request) ||
		    bundle_has(bundle, &request.dst))
			return false;
		bundle_note(bundle, &request);
	}
	for (size_t i = 0; i < json_array_size(sources); i++) {
		if (!read_source(json_array_get(sources, i), &source))
			return false;
		bundle_add_source(bundle, &source);
	}
	return bundle_json_number(object, "runs", &bundle->runs) &&
	       bundle_json_number(object, "others", &bundle->others);
}

static bool read_head(const json_t *object, uint8_t ret_signer[SIGN_KEY_BYTES])
{
	static const char *const members[] = { "format", "version", "requests", "sources",
					       "runs",   "others",  "key" };
	const char *format = bundle_json_string(object, "format");
	uint64_t version;

	return bundle_json_has_only(object, members, ARRAY_SIZE(members)) && format &&
	       strcmp(format, FILE_FORMAT) == 0 &&
	       bundle_json_number(object, "version", &version) && version == 1 &&
	       bundle_json_key(object, "key", ret_signer);
}

/* Removes the signature from @object, and checks it. */
static int read_signed(json_t *object, uint8_t ret_signer[SIGN_KEY_BYTES], char ret_digest[65],
		       struct err *why)
{
	uint8_t signature[SIGN_BYTES];
	size_t len = 0, message_len;
	int r = bundle_json_signature(object, "signature", signature, sizeof(signature), &len);

	if (r < 0 || len != SIGN_BYTES || !read_head(object, ret_signer))
		return err_set(why, -EBADMSG, "this is not a bundle of requests");
	auto_free char *text = bundle_json_text(object);
	auto_free char *message = bundle_json_message(FILE_MESSAGE, text, &message_len);

	if (sign_check(ret_signer, message, message_len, signature) < 0)
		return err_set(why, -EBADMSG, "the bundle was changed after it was signed");
	return digest_text(text, strlen(text), NULL, 0, ret_digest);
}

int bundle_file_read(const char *text, size_t len, struct bundle **ret,
		     uint8_t ret_signer[SIGN_KEY_BYTES], char ret_digest[65], struct err *why)
{
	struct bundle *bundle = bundle_new();
	json_t *object = len <= BUNDLE_MAX_BYTES
				 ? json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL)
				 : NULL;
	int r = object ? read_signed(object, ret_signer, ret_digest, why)
		       : err_set(why, -EBADMSG, "this is not a bundle of requests");

	if (r == 0 && !read_lists(object, bundle))
		r = err_set(why, -EBADMSG, "the bundle is signed, but its content is not valid");
	json_decref(object);
	if (r == 0)
		*ret = take(bundle);
	bundle_free(bundle);
	return r;
}
