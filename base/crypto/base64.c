#include "base/crypto/base64.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *base64_encode(const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	char *text = mem_new(BASE64_LEN(len) + 1), *out = text;

	for (size_t i = 0; i < len; i += 3) {
		size_t left = len - i < 3 ? len - i : 3;
		uint32_t group = (uint32_t)at[i] << 16;

		group |= left > 1 ? (uint32_t)at[i + 1] << 8 : 0;
		group |= left > 2 ? at[i + 2] : 0;
		*out++ = digits[group >> 18];
		*out++ = digits[group >> 12 & 63];
		*out++ = left > 1 ? digits[group >> 6 & 63] : '=';
		*out++ = left > 2 ? digits[group & 63] : '=';
	}
	return text;
}

static int base64_value(char digit, uint32_t *ret)
{
	const char *at = digit != '\0' ? strchr(digits, digit) : NULL;

	if (!at)
		return -EBADMSG;
	*ret = (uint32_t)(at - digits);
	return 0;
}

/* Four digits → up to three bytes. Unused bits must be zero (§3.5). */
static int base64_group(const char four[4], uint8_t out[3], size_t *ret_count)
{
	size_t count = four[3] != '=' ? 3 : four[2] != '=' ? 2 : 1;
	uint32_t group = 0, value = 0;

	for (size_t i = 0; i < 4; i++) {
		value = 0;
		if (i <= count && base64_value(four[i], &value) < 0)
			return -EBADMSG;
		group = group << 6 | value;
	}
	if ((count == 1 && (group & 0xffff)) || (count == 2 && (group & 0xff)))
		return -EBADMSG;
	out[0] = (uint8_t)(group >> 16);
	out[1] = (uint8_t)(group >> 8);
	out[2] = (uint8_t)group;
	*ret_count = count;
	return 0;
}

int base64_decode(const char *text, size_t len, void *ret, size_t size, size_t *ret_len)
{
	uint8_t *out = ret;
	size_t done = 0, count = 3;

	if (len % 4 != 0)
		return -EBADMSG;
	for (size_t i = 0; i < len; i += 4) {
		uint8_t group[3];

		/* Nothing may follow the padding. */
		if (count != 3 || base64_group(text + i, group, &count) < 0)
			return -EBADMSG;
		if (done + count > size)
			return -E2BIG;
		memcpy(out + done, group, count);
		done += count;
	}
	*ret_len = done;
	return 0;
}
