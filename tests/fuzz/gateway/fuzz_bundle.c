#include <jansson.h>
#include <string.h>

#include "base/crypto/base64.h"
#include "base/mem.h"
#include "gateway/bundle/bundle.h"
#include "tests/fuzz/fuzz.h"

static void check_text(const char *text)
{
	fuzz_must(text && strlen(text) < 1024);
	for (; *text; text++)
		fuzz_must(*text >= 0x20 && *text < 0x7f);
}

static void check_file(const char *text, size_t len)
{
	struct bundle *bundle = NULL;
	uint8_t signer[SIGN_KEY_BYTES];
	char digest[65];

	if (bundle_file_read(text, len, &bundle, signer, digest, NULL) < 0) {
		fuzz_must(!bundle);
		return;
	}
	for (size_t i = 0; i < bundle_count(bundle); i++) {
		const struct bundle_request *look = bundle_look(bundle, i);

		check_text(look->rule);
		check_text(look->because);
		check_text(look->program);
		check_text(look->chain);
		check_text(look->plea);
		for (size_t j = 0; j < BUNDLE_COMMANDS_MAX && look->commands[j]; j++)
			check_text(look->commands[j]);
	}
	bundle_free(bundle);
}

/* Signed as by the owner of a key. Returned owned. */
static char *sign_all(json_t *object)
{
	struct sign_key key = { { 0 }, { 0 } };
	char public[SIGN_PUBLIC_TEXT_MAX];
	uint8_t signature[SIGN_BYTES];

	fuzz_must(sign_key_make(&key, NULL) == 0);
	json_object_set_new(object, "key", json_string(sign_public_text(key.public, public)));
	json_object_del(object, "signature");
	auto_free char *text =
		json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
	auto_free char *message = mem_printf("sallyport-bundle-v1\n%s", text ? text : "");

	fuzz_must(sign_bytes(&key, message, strlen(message), signature, NULL) == 0);
	auto_free char *shown = base64_encode(signature, sizeof(signature));

	json_object_set_new(object, "signature", json_string(shown));
	return json_dumps(object, JSON_COMPACT);
}

/* Once unchanged, and once with a valid signature: the form is checked in both cases.
 */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	json_t *object = json_loadb((const char *)bytes, len, 0, NULL);

	check_file((const char *)bytes, len);
	if (json_is_object(object)) {
		auto_free char *text = sign_all(object);

		if (text)
			check_file(text, strlen(text));
	}
	json_decref(object);
	return 0;
}
