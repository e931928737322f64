/* base64: RFC 4648 §4, with padding. Only the canonical encoding is accepted. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define BASE64_LEN(bytes) (((bytes) + 2) / 3 * 4)

/* Returned owned. */
char *base64_encode(const void *bytes, size_t len);
/* Decodes at most @size bytes into @ret. 0; -EBADMSG: not a canonical encoding; -E2BIG. */
int base64_decode(const char *text, size_t len, void *ret, size_t size, size_t *ret_len);
