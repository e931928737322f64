#include "proxy/relay/buffer.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define FIRST_BYTES 512

/* Room for @more bytes behind the last. */
static void buffer_make_room(struct buffer *buffer, size_t more)
{
	size_t size = buffer->size ? buffer->size : FIRST_BYTES;

	if (buffer->size - buffer->at - buffer->len >= more)
		return;
	if (buffer->at) {
		memmove(buffer->bytes, buffer->bytes + buffer->at, buffer->len);
		buffer->at = 0;
	}
	while (size - buffer->len < more)
		size *= 2;
	if (size == buffer->size)
		return;
	buffer->bytes = mem_grow(buffer->bytes, size, 1);
	buffer->size = (uint32_t)size;
}

int buffer_append(struct buffer *buffer, const void *bytes, size_t len, size_t max)
{
	assert(max <= UINT32_MAX / 4);
	if (len > max || buffer->len > max - len)
		return -E2BIG;
	if (!len)
		return 0;
	buffer_make_room(buffer, len);
	memcpy(buffer->bytes + buffer->at + buffer->len, bytes, len);
	buffer->len += (uint32_t)len;
	return 0;
}

int buffer_printf(struct buffer *buffer, size_t max, const char *format, ...)
{
	char text[4096];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(text))
		return -E2BIG;
	return buffer_append(buffer, text, (size_t)len, max);
}

void buffer_consume(struct buffer *buffer, size_t len)
{
	assert(len <= buffer->len);
	buffer->at += (uint32_t)len;
	buffer->len -= (uint32_t)len;
	if (!buffer->len)
		buffer_clear(buffer);
}

void buffer_clear(struct buffer *buffer)
{
	free(buffer->bytes);
	*buffer = (struct buffer){ 0 };
}
