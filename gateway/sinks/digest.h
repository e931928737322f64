/* digest: SHA-256 from libcrypto, loaded at the first use and not before. */
#pragma once

#include <stddef.h>

#define DIGEST_TEXT_MAX 65 /* 64 lower-case hexadecimal digits and NUL */

struct digest;
struct err;

/* Loads the library. Returned owned; NULL with @why: there is none, or it refuses SHA-256. */
struct digest *digest_new(struct err *why);
void digest_free(struct digest *digest);

/* SHA-256 over @first, then @second, as text. 0, or -EIO: @ret is untouched. */
int digest_text(struct digest *digest, const void *first, size_t first_len, const void *second,
		size_t second_len, char ret[DIGEST_TEXT_MAX]);
