/* digest: SHA-256 (FIPS 180-4) by OpenSSL, without delaying the start. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define DIGEST_TEXT_MAX 65 /* 64 lower-case hexadecimal digits and NUL */

/* SHA-256 over @first, then @second, as text. 0, or -EIO: @ret is untouched. */
int digest_text(const void *first, size_t first_len, const void *second, size_t second_len,
		char ret[DIGEST_TEXT_MAX]);
/* Takes the same time wherever two digests differ. */
bool digest_equal(const char left[DIGEST_TEXT_MAX], const char right[DIGEST_TEXT_MAX]);
/* HMAC-SHA-256 (RFC 2104) of @text under @key, as text. Errors as above. */
int digest_hmac(const char *key, size_t key_len, const char *text, size_t text_len,
		char ret[DIGEST_TEXT_MAX]);
