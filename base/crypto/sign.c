#include "base/crypto/sign.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/crypto/base64.h"
#include "base/err.h"
#include "base/mem.h"

#define RAW_PREFIX "ed25519:"
#define PEM_BEGIN  "-----BEGIN PRIVATE KEY-----\n"
#define PEM_END    "\n-----END PRIVATE KEY-----\n"

/* RFC 8410 §7: a private key without attributes is these bytes and the seed. */
static const uint8_t pkcs8[] = { 0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06,
				 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20 };
#define PKCS8_BYTES (sizeof(pkcs8) + SIGN_KEY_BYTES)
#define PEM_BYTES   (sizeof(PEM_BEGIN) - 1 + BASE64_LEN(PKCS8_BYTES) + sizeof(PEM_END) - 1)

/* Before anything else of EVP: openssl.cnf, or what the environment names in its place, may load
 * code. OpenSSL does not begin without this call, so no process pays for it that signs and checks
 * nothing. Without its tables of names it would begin in 0.6 ms and not in 1.5, but they can never
 * be added later, and the same process may need them for TLS. */
static bool sign_begin(void)
{
	return OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) == 1;
}

void sign_prepare(void)
{
	if (sign_begin())
		EVP_KEYMGMT_free(EVP_KEYMGMT_fetch(NULL, "ED25519", NULL)); /* OpenSSL keeps it */
}

/* Returned owned, or NULL. */
static EVP_PKEY *sign_private(const uint8_t seed[SIGN_KEY_BYTES])
{
	return sign_begin()
		       ? EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, SIGN_KEY_BYTES)
		       : NULL;
}

static int sign_key_of(const uint8_t seed[SIGN_KEY_BYTES], struct sign_key *ret)
{
	EVP_PKEY *private = sign_private(seed);
	size_t len = SIGN_KEY_BYTES;
	bool is_done = private && EVP_PKEY_get_raw_public_key(private, ret->public, &len) == 1;

	EVP_PKEY_free(private);
	if (is_done)
		memcpy(ret->seed, seed, SIGN_KEY_BYTES);
	return is_done ? 0 : -EIO;
}

int sign_key_make(struct sign_key *ret, struct err *why)
{
	uint8_t seed[SIGN_KEY_BYTES];

	if (getrandom(seed, sizeof(seed), 0) != sizeof(seed))
		return err_set(why, -EIO, "cannot get random numbers");
	int r = sign_key_of(seed, ret);

	explicit_bzero(seed, sizeof(seed));
	return r < 0 ? err_set(why, -EIO, "OpenSSL cannot make a key") : 0;
}

void sign_key_forget(struct sign_key *key)
{
	explicit_bzero(key, sizeof(*key));
}

int sign_key_from_pem(const char *pem, size_t len, struct sign_key *ret, struct err *why)
{
	uint8_t der[PKCS8_BYTES];
	size_t der_len = 0;
	bool is_key =
		len == PEM_BYTES && memcmp(pem, PEM_BEGIN, sizeof(PEM_BEGIN) - 1) == 0 &&
		memcmp(pem + len - (sizeof(PEM_END) - 1), PEM_END, sizeof(PEM_END) - 1) == 0 &&
		base64_decode(pem + sizeof(PEM_BEGIN) - 1, BASE64_LEN(PKCS8_BYTES), der,
			      sizeof(der), &der_len) == 0 &&
		der_len == sizeof(der) && memcmp(der, pkcs8, sizeof(pkcs8)) == 0;
	int r = is_key ? sign_key_of(der + sizeof(pkcs8), ret) : -EBADMSG;

	explicit_bzero(der, sizeof(der));
	if (r == -EIO)
		return err_set(why, r, "OpenSSL cannot read a key");
	return r < 0 ? err_set(why, r,
			       "this is not an Ed25519 key in PEM without a passphrase; `openssl "
			       "genpkey -algorithm ed25519` makes one")
		     : 0;
}

char *sign_key_to_pem(const struct sign_key *key)
{
	uint8_t der[PKCS8_BYTES];

	memcpy(der, pkcs8, sizeof(pkcs8));
	memcpy(der + sizeof(pkcs8), key->seed, SIGN_KEY_BYTES);
	char *text = base64_encode(der, sizeof(der));
	char *pem = mem_new(PEM_BYTES + 1);

	(void)snprintf(pem, PEM_BYTES + 1, PEM_BEGIN "%s" PEM_END, text);
	explicit_bzero(der, sizeof(der));
	explicit_bzero(text, strlen(text));
	free(text);
	return pem;
}

int sign_bytes(const struct sign_key *key, const void *bytes, size_t len,
	       uint8_t ret_signature[SIGN_BYTES], struct err *why)
{
	EVP_PKEY *private = sign_private(key->seed);
	EVP_MD_CTX *context = private ? EVP_MD_CTX_new() : NULL;
	size_t signature_len = SIGN_BYTES;
	bool is_done = context && EVP_DigestSignInit(context, NULL, NULL, NULL, private) == 1 &&
		       EVP_DigestSign(context, ret_signature, &signature_len, bytes, len) == 1;

	EVP_MD_CTX_free(context);
	EVP_PKEY_free(private);
	return is_done ? 0 : err_set(why, -EIO, "OpenSSL cannot sign");
}

int sign_check(const uint8_t public[SIGN_KEY_BYTES], const void *bytes, size_t len,
	       const uint8_t signature[SIGN_BYTES])
{
	EVP_PKEY *key = sign_begin() ? EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, public,
								   SIGN_KEY_BYTES)
				     : NULL;
	EVP_MD_CTX *context = key ? EVP_MD_CTX_new() : NULL;
	bool is_good = context && EVP_DigestVerifyInit(context, NULL, NULL, NULL, key) == 1 &&
		       EVP_DigestVerify(context, signature, SIGN_BYTES, bytes, len) == 1;

	EVP_MD_CTX_free(context);
	EVP_PKEY_free(key);
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
