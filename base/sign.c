#include "base/sign.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/mem.h"

#define PEM_BEGIN "-----BEGIN PRIVATE KEY-----"
#define PEM_END   "-----END PRIVATE KEY-----"

/* OneAsymmetricKey of version 0 with the algorithm 1.3.101.112, up to the seed (RFC 8410 §7). All
 * of them are the same 16 bytes, so there is nothing to parse. */
static const uint8_t pem_head[] = { 0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06,
				    0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20 };

/* Configuration can make OpenSSL load whatever the environment says. Idempotent. */
static void sign_begin(void)
{
	(void)OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
}

static EVP_PKEY *sign_private(const struct sign_key *key)
{
	sign_begin();
	return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, key->seed, sizeof(key->seed));
}

/* From the seed to the whole key. */
static int sign_key_complete(struct sign_key *key, struct err *why)
{
	EVP_PKEY *private = sign_private(key);
	size_t len = sizeof(key->public);
	int is_good = private && EVP_PKEY_get_raw_public_key(private, key->public, &len);

	EVP_PKEY_free(private);
	return is_good ? 0 : err_set(why, -EIO, "OpenSSL has no Ed25519");
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
	uint8_t bytes[sizeof(pem_head) + SIGN_KEY_BYTES];
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
	EVP_PKEY *private = sign_private(key);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	size_t signature_len = SIGN_BYTES;
	bool is_good = private && context &&
		       EVP_DigestSignInit(context, NULL, NULL, NULL, private) == 1 &&
		       EVP_DigestSign(context, ret_signature, &signature_len, bytes, len) == 1 &&
		       signature_len == SIGN_BYTES;

	EVP_MD_CTX_free(context);
	EVP_PKEY_free(private);
	return is_good ? 0 : err_set(why, -EIO, "OpenSSL could not sign");
}

int sign_check(const uint8_t public[SIGN_KEY_BYTES], const void *bytes, size_t len,
	       const uint8_t signature[SIGN_BYTES])
{
	sign_begin();
	EVP_PKEY *key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, public, SIGN_KEY_BYTES);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool is_good = key && context &&
		       EVP_DigestVerifyInit(context, NULL, NULL, NULL, key) == 1 &&
		       EVP_DigestVerify(context, signature, SIGN_BYTES, bytes, len) == 1;

	EVP_MD_CTX_free(context);
	EVP_PKEY_free(key);
	return is_good ? 0 : -EBADMSG;
}
