/* buffer: bytes waiting, with a maximum; holds no memory while it is empty. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Zeroed is empty. @bytes + @at is the first byte, @len how many there are. */
struct buffer {
	char *bytes;
	uint32_t at, len, size;
};

/* All or nothing; -E2BIG: there would be more than @max. */
int buffer_append(struct buffer *buffer, const void *bytes, size_t len, size_t max);
/* Never more than @max; -E2BIG and nothing added. */
int buffer_printf(struct buffer *buffer, size_t max, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Forgets the first @len bytes; an emptied buffer gives its memory back. */
void buffer_consume(struct buffer *buffer, size_t len);
void buffer_clear(struct buffer *buffer);

static inline char *buffer_at(const struct buffer *buffer)
{
	return buffer->bytes ? buffer->bytes + buffer->at : NULL;
}
