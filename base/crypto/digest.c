/* Every run writes records, so every start needs the hash. libcrypto as a shared library costs
 * about 0.9 ms to load and relocate, and its providers 0.7 ms or more at the first EVP digest, in a
 * program that starts in 2 ms. So we link OpenSSL's SHA256_*() functions from its static library:
 * 20 KB of code without tables, providers or configuration. OpenSSL deprecates them in favour of
 * EVP, which chooses between implementations; we do not want that choice. docs/decisions/0005 has
 * the numbers. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/crypto/digest.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <string.h>

static void digest_write(const unsigned char bytes[SHA256_DIGEST_LENGTH], char ret[DIGEST_TEXT_MAX])
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0; i < SHA256_DIGEST_LENGTH; i++) {
		ret[2 * i] = hex[bytes[i] >> 4];
		ret[2 * i + 1] = hex[bytes[i] & 15];
	}
	ret[2 * SHA256_DIGEST_LENGTH] = '\0';
}

static int digest_bytes(const void *first, size_t first_len, const void *second, size_t second_len,
			unsigned char ret[SHA256_DIGEST_LENGTH])
{
	SHA256_CTX context;

	if (!SHA256_Init(&context) || !SHA256_Update(&context, first, first_len) ||
	    !SHA256_Update(&context, second, second_len) || !SHA256_Final(ret, &context))
		return -EIO;
	return 0;
}

int digest_text(const void *first, size_t first_len, const void *second, size_t second_len,
		char ret[DIGEST_TEXT_MAX])
{
	unsigned char bytes[SHA256_DIGEST_LENGTH];
	int r = digest_bytes(first, first_len, second, second_len, bytes);

	if (r == 0)
		digest_write(bytes, ret);
	return r;
}

bool digest_equal(const char left[DIGEST_TEXT_MAX], const char right[DIGEST_TEXT_MAX])
{
	return CRYPTO_memcmp(left, right, DIGEST_TEXT_MAX) == 0;
}

/* RFC 2104 §2, with the names K, ipad and opad from there. */
int digest_hmac(const char *key, size_t key_len, const char *text, size_t text_len,
		char ret[DIGEST_TEXT_MAX])
{
	unsigned char block[SHA256_CBLOCK] = { 0 }, bytes[SHA256_DIGEST_LENGTH];
	int r = 0;

	if (key_len > sizeof(block))
		r = digest_bytes(key, key_len, "", 0, block);
	else
		memcpy(block, key, key_len);
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] ^= 0x36;
	if (r == 0)
		r = digest_bytes(block, sizeof(block), text, text_len, bytes);
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] ^= 0x36 ^ 0x5c;
	if (r == 0)
		r = digest_bytes(block, sizeof(block), bytes, sizeof(bytes), bytes);
	if (r == 0)
		digest_write(bytes, ret);
	explicit_bzero(block, sizeof(block));
	return r;
}
