/* buffer: bytes that wait, with a maximum; it uses no memory while it is empty. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Zeroed is empty. @bytes + @at is the first byte, @len how many there are. */
struct buffer {
	char *bytes;
	uint32_t at, len, size;
};

/* All or nothing; -E2BIG: the total would exceed @max. */
int buffer_append(struct buffer *buffer, const void *bytes, size_t len, size_t max);
/* Writes at most @max bytes; -E2BIG: nothing was added. */
int buffer_printf(struct buffer *buffer, size_t max, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Drops the first @len bytes; an empty buffer frees its memory. */
void buffer_consume(struct buffer *buffer, size_t len);
void buffer_clear(struct buffer *buffer);

static inline char *buffer_at(const struct buffer *buffer)
{
	return buffer->bytes ? buffer->bytes + buffer->at : NULL;
}
