#include <errno.h>
#include <string.h>

#include "base/crypto/base64.h"
#include "base/mem.h"
#include "gateway/bundle/bundle_impl.h"
#include "policies/policies_tools.h"

#define KEY_PREFIX "ed25519:" /* of sign_public_text() */

char *bundle_json_text(const json_t *object)
{
	auto_free char *text =
		json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);

	return mem_strdup(text ? text : "");
}

bool bundle_json_has_only(const json_t *object, const char *const *names, size_t count)
{
	if (!json_is_object(object) || json_object_size(object) != count)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!json_object_get(object, names[i]))
			return false;
	}
	return true;
}

const char *bundle_json_string(const json_t *object, const char *name)
{
	const json_t *member = json_object_get(object, name);
	const char *text = json_string_value(member);
	size_t len = json_string_length(member);

	if (!text || len >= BUNDLE_TEXT_MAX || strlen(text) != len)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < 0x20 || text[i] >= 0x7f)
			return NULL;
	}
	return text;
}

bool bundle_json_number(const json_t *object, const char *name, uint64_t *ret)
{
	const json_t *member = json_object_get(object, name);
	json_int_t value = json_integer_value(member);

	if (!json_is_integer(member) || value < 0 || (uint64_t)value > BUNDLE_NUMBER_MAX)
		return false;
	*ret = (uint64_t)value;
	return true;
}

bool bundle_json_key(const json_t *object, const char *name, uint8_t ret[SIGN_KEY_BYTES])
{
	const char *text = bundle_json_string(object, name);

	return text && strncmp(text, KEY_PREFIX, strlen(KEY_PREFIX)) == 0 &&
	       sign_public_parse(text, ret) == 0;
}

bool bundle_json_destination(const char *text, struct policy_destination *ret)
{
	char again[POLICY_DESTINATION_TEXT_MAX];
	struct policy_destination dst;

	if (!text || policy_destination_parse(text, &dst, NULL) < 0 ||
	    strcmp(policy_destination_text(&dst, again), text) != 0)
		return false;
	*ret = dst;
	return true;
}

int bundle_json_signature(json_t *object, const char *name, void *ret, size_t size, size_t *ret_len)
{
	const json_t *member = json_object_get(object, name);
	const char *text = json_string_value(member);
	int r = text ? base64_decode(text, json_string_length(member), ret, size, ret_len)
		     : -EBADMSG;

	if (r == 0 && json_object_del(object, name) < 0)
		r = -EBADMSG;
	return r;
}

char *bundle_json_message(const char *prefix, const char *text, size_t *ret_len)
{
	char *message = mem_printf("%s\n%s", prefix, text);

	*ret_len = strlen(message);
	return message;
}
