#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static void *mem_or_die(void *pointer)
{
	static const char words[] = "sallyport: out of memory\n";

	if (!pointer) {
		(void)fputs(words, stderr);
		abort();
	}
	return pointer;
}

void *mem_new(size_t size)
{
	return mem_or_die(calloc(1, size ? size : 1));
}

void *mem_new_secret(size_t size)
{
	void *secret = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (secret == MAP_FAILED)
		return mem_or_die(NULL);
	if (madvise(secret, size, MADV_WIPEONFORK) == 0)
		return secret;
	(void)munmap(secret, size);
	return NULL;
}

void mem_free_secret(void *secret, size_t size)
{
	explicit_bzero(secret, size);
	(void)munmap(secret, size);
}

void *mem_new_array(size_t count, size_t size)
{
	return mem_or_die(calloc(count ? count : 1, size ? size : 1));
}

void *mem_grow(void *array, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count ? count : 1, size ? size : 1, &bytes))
		return mem_or_die(NULL);
	return mem_or_die(realloc(array, bytes));
}

void *mem_reserve(void *array, size_t *room, size_t count, size_t size)
{
	if (count <= *room)
		return array;
	size_t want = *room ? *room : 16;

	while (want < count)
		want *= 2;
	*room = want;
	return mem_grow(array, want, size);
}

char *mem_strdup(const char *text)
{
	return mem_or_die(strdup(text));
}

char *mem_strdup_or_null(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

char *mem_strndup(const char *text, size_t max_bytes)
{
	return mem_or_die(strndup(text, max_bytes));
}

char *mem_printf(const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int len;

	va_start(args, format);
	len = vasprintf(&text, format, args);
	va_end(args);
	return mem_or_die(len < 0 ? NULL : text);
}

void mem_append(char **text, const char *format, ...)
{
	auto_free char *more = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&more, format, args) < 0)
		more = NULL;
	va_end(args);
	size_t len = strlen(*text), more_len = strlen(mem_or_die(more));

	*text = mem_grow(*text, len + more_len + 1, 1);
	memcpy(*text + len, more, more_len + 1);
}

char **mem_copy_list(const char *const *list)
{
	size_t count = mem_count_list(list);
	char **copy = mem_new_array(count + 1, sizeof(*copy));

	for (size_t i = 0; i < count; i++)
		copy[i] = mem_strdup(list[i]);
	return copy;
}

bool mem_is_same_list(const char *const *one, const char *const *other)
{
	while (*one && *other && strcmp(*one, *other) == 0) {
		one++;
		other++;
	}
	return !*one && !*other;
}

void mem_append_list(char ***list, char *item)
{
	size_t count = mem_count_list(*list);

	*list = mem_grow(*list, count + 2, sizeof(**list));
	(*list)[count] = item;
	(*list)[count + 1] = NULL;
}

void mem_free_list(char **list)
{
	if (!list)
		return;
	for (char **item = list; *item; item++)
		free(*item);
	free(list);
}
