#include "base/crypto/sign.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/crypto/base64.h"
#include "base/err.h"
#include "base/mem.h"

#define RAW_PREFIX "ed25519:"

/* Before anything else of EVP: openssl.cnf, or what the environment names in its place, may load
 * code. OpenSSL does not begin without this call, so no run pays for it that signs and checks
 * nothing. */
static bool sign_begin(void)
{
	return OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) == 1;
}

/* Returned owned, or NULL. */
static EVP_PKEY *sign_private(const uint8_t seed[SIGN_KEY_BYTES])
{
	return sign_begin()
		       ? EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, SIGN_KEY_BYTES)
		       : NULL;
}

/* Takes @private. -EBADMSG: it is not of Ed25519. */
static int sign_key_of(EVP_PKEY *private, struct sign_key *ret)
{
	size_t seed_len = sizeof(ret->seed), public_len = sizeof(ret->public);
	struct sign_key key;
	bool is_done = private && EVP_PKEY_is_a(private, "ED25519") &&
		       EVP_PKEY_get_raw_private_key(private, key.seed, &seed_len) == 1 &&
		       EVP_PKEY_get_raw_public_key(private, key.public, &public_len) == 1;

	EVP_PKEY_free(private);
	if (is_done)
		*ret = key;
	sign_key_forget(&key);
	return is_done ? 0 : -EBADMSG;
}

int sign_key_make(struct sign_key *ret, struct err *why)
{
	uint8_t seed[SIGN_KEY_BYTES];

	if (getrandom(seed, sizeof(seed), 0) != sizeof(seed))
		return err_set(why, -EIO, "cannot get random numbers");
	int r = sign_key_of(sign_private(seed), ret);

	explicit_bzero(seed, sizeof(seed));
	return r < 0 ? err_set(why, -EIO, "OpenSSL cannot make a key") : 0;
}

void sign_key_forget(struct sign_key *key)
{
	explicit_bzero(key, sizeof(*key));
}

/* Else OpenSSL asks for one on the terminal. */
static int sign_no_passphrase(char *buffer, int size, int is_writing, void *arg)
{
	return -1;
}

int sign_key_from_pem(const char *pem, size_t len, struct sign_key *ret, struct err *why)
{
	BIO *from = sign_begin() && len <= SIGN_PEM_MAX ? BIO_new_mem_buf(pem, (int)len) : NULL;
	EVP_PKEY *private =
		from ? PEM_read_bio_PrivateKey(from, NULL, sign_no_passphrase, NULL) : NULL;
	int r = sign_key_of(private, ret);

	BIO_free(from);
	return r < 0 ? err_set(why, r,
			       "this is not an Ed25519 key in PEM without a passphrase; `openssl "
			       "genpkey -algorithm ed25519` makes one")
		     : 0;
}

char *sign_key_to_pem(const struct sign_key *key)
{
	EVP_PKEY *private = sign_private(key->seed);
	BIO *to = private ? BIO_new(BIO_s_mem()) : NULL;
	char *text = NULL, *at;

	if (to && PEM_write_bio_PKCS8PrivateKey(to, private, NULL, NULL, 0, NULL, NULL) == 1) {
		size_t len = (size_t)BIO_get_mem_data(to, &at);

		text = mem_strndup(at, len);
	}
	BIO_free(to); /* wipes what it holds */
	EVP_PKEY_free(private);
	return text;
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
