#include "base/sign.h"

#include <errno.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/mem.h"

#define RAW_PREFIX "ed25519:"
#define PEM_BEGIN  "-----BEGIN PRIVATE KEY-----"
#define PEM_END    "-----END PRIVATE KEY-----"

/* OneAsymmetricKey of version 0 with the algorithm 1.3.101.112, up to the seed (RFC 8410 §7). All
 * of them are the same 16 bytes, so there is nothing to parse. */
static const uint8_t pem_head[] = { 0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06,
				    0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20 };

_Static_assert(crypto_sign_SEEDBYTES == SIGN_KEY_BYTES, "the seed is the key");
_Static_assert(crypto_sign_PUBLICKEYBYTES == SIGN_KEY_BYTES && crypto_sign_BYTES == SIGN_BYTES,
	       "RFC 8032");

/* As the library keeps it: the seed, and the public key behind it. To be wiped. -EIO: the library
 * cannot begin. */
static int sign_private(const struct sign_key *key, uint8_t ret_public[SIGN_KEY_BYTES],
			uint8_t ret[crypto_sign_SECRETKEYBYTES], struct err *why)
{
	if (sodium_init() < 0 || crypto_sign_seed_keypair(ret_public, ret, key->seed) != 0)
		return err_set(why, -EIO, "libsodium cannot begin");
	return 0;
}

/* From the seed to the whole key. */
static int sign_key_complete(struct sign_key *key, struct err *why)
{
	uint8_t private[crypto_sign_SECRETKEYBYTES];
	int r = sign_private(key, key->public, private, why);

	explicit_bzero(private, sizeof(private));
	return r;
}

int sign_key_make(struct sign_key *ret, struct err *why)
{
	struct sign_key key = { 0 };

	if (getrandom(key.seed, sizeof(key.seed), 0) != sizeof(key.seed))
		return err_set(why, -EIO, "no random numbers");
	int r = sign_key_complete(&key, why);

	if (r == 0)
		*ret = key;
	sign_key_forget(&key);
	return r;
}

void sign_key_forget(struct sign_key *key)
{
	explicit_bzero(key, sizeof(*key));
}

/* What stands between the lines, without line breaks. Returned owned; NULL: no PEM of ours. */
static char *sign_pem_body(const char *pem, size_t len)
{
	auto_free char *text = mem_strndup(pem, len);
	const char *at = strstr(text, PEM_BEGIN);
	const char *end = at ? strstr(at, PEM_END) : NULL;
	char *body, *out;

	if (!end)
		return NULL;
	body = out = mem_new((size_t)(end - at) + 1);
	for (at += strlen(PEM_BEGIN); at < end; at++) {
		if (*at != '\n' && *at != '\r')
			*out++ = *at;
	}
	explicit_bzero(text, strlen(text));
	return body;
}

int sign_key_from_pem(const char *pem, size_t len, struct sign_key *ret, struct err *why)
{
	auto_free char *body = sign_pem_body(pem, len);
	uint8_t bytes[sizeof(pem_head) + SIGN_KEY_BYTES] = { 0 };
	struct sign_key key = { 0 };
	size_t bytes_len = 0;
	int r = -EBADMSG;

	if (body)
		r = base64_decode(body, strlen(body), bytes, sizeof(bytes), &bytes_len);
	if (r < 0 || bytes_len != sizeof(bytes) || memcmp(bytes, pem_head, sizeof(pem_head)) != 0) {
		r = err_set(why, -EBADMSG,
			    "not an Ed25519 key in PEM without a passphrase, as `openssl genpkey "
			    "-algorithm ed25519` makes it");
	} else {
		memcpy(key.seed, bytes + sizeof(pem_head), sizeof(key.seed));
		r = sign_key_complete(&key, why);
	}
	if (r == 0)
		*ret = key;
	sign_key_forget(&key);
	explicit_bzero(bytes, sizeof(bytes));
	if (body)
		explicit_bzero(body, strlen(body));
	return r;
}

char *sign_key_to_pem(const struct sign_key *key)
{
	uint8_t bytes[sizeof(pem_head) + SIGN_KEY_BYTES];

	memcpy(bytes, pem_head, sizeof(pem_head));
	memcpy(bytes + sizeof(pem_head), key->seed, SIGN_KEY_BYTES);
	auto_free char *body = base64_encode(bytes, sizeof(bytes));

	explicit_bzero(bytes, sizeof(bytes));
	return mem_printf(PEM_BEGIN "\n%s\n" PEM_END "\n", body);
}

int sign_bytes(const struct sign_key *key, const void *bytes, size_t len,
	       uint8_t ret_signature[SIGN_BYTES], struct err *why)
{
	uint8_t private[crypto_sign_SECRETKEYBYTES], public[SIGN_KEY_BYTES];
	int r = sign_private(key, public, private, why);

	if (r == 0 && crypto_sign_detached(ret_signature, NULL, bytes, len, private) != 0)
		r = err_set(why, -EIO, "libsodium could not sign");
	explicit_bzero(private, sizeof(private));
	return r;
}

int sign_check(const uint8_t public[SIGN_KEY_BYTES], const void *bytes, size_t len,
	       const uint8_t signature[SIGN_BYTES])
{
	bool is_good = sodium_init() >= 0 &&
		       crypto_sign_verify_detached(signature, bytes, len, public) == 0;

	return is_good ? 0 : -EBADMSG;
}

int sign_public_parse(const char *text, uint8_t ret[SIGN_KEY_BYTES])
{
	uint8_t bytes[SIGN_KEY_BYTES];
	size_t len = 0;

	if (strncmp(text, RAW_PREFIX, strlen(RAW_PREFIX)) != 0)
		return sign_ssh_public(text, ret);
	text += strlen(RAW_PREFIX);
	if (base64_decode(text, strlen(text), bytes, sizeof(bytes), &len) < 0 ||
	    len != sizeof(bytes))
		return -EBADMSG;
	memcpy(ret, bytes, sizeof(bytes));
	return 0;
}

const char *sign_public_text(const uint8_t public[SIGN_KEY_BYTES], char out[SIGN_PUBLIC_TEXT_MAX])
{
	auto_free char *text = base64_encode(public, SIGN_KEY_BYTES);

	(void)snprintf(out, SIGN_PUBLIC_TEXT_MAX, RAW_PREFIX "%s", text);
	return out;
}
