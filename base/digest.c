/* Every run writes records, so the hash is on the way of every start, and libcrypto as a shared
 * library is not cheap there: some 0.9 ms to load and relocate, 0.7 ms and more for the providers
 * behind its first EVP digest, in a program whose own start takes 2. What is used instead are
 * OpenSSL's own SHA256_*() functions, from its static library: 20 KB of code without tables,
 * providers or configuration. OpenSSL calls them deprecated in favour of EVP, whose choice of
 * implementations is just what is not wanted here. docs/decisions/0005 has the numbers. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/digest.h"

#include <errno.h>
#include <openssl/sha.h>

int digest_text(const void *first, size_t first_len, const void *second, size_t second_len,
		char ret[DIGEST_TEXT_MAX])
{
	static const char hex[] = "0123456789abcdef";
	unsigned char bytes[SHA256_DIGEST_LENGTH];
	SHA256_CTX context;

	if (!SHA256_Init(&context) || !SHA256_Update(&context, first, first_len) ||
	    !SHA256_Update(&context, second, second_len) || !SHA256_Final(bytes, &context))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		ret[2 * i] = hex[bytes[i] >> 4];
		ret[2 * i + 1] = hex[bytes[i] & 15];
	}
	ret[2 * sizeof(bytes)] = '\0';
	return 0;
}
