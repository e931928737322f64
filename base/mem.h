/* mem: small allocations that end the process when memory runs out, and locals that free
 * themselves. Data whose size a peer controls must not be allocated here: it belongs in a buffer
 * with a maximum. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* All return owned memory, zeroed where new; out of memory ends the process. */
void *mem_new(size_t size);
void *mem_new_array(size_t count, size_t size);
/* For secrets: whole pages, which are empty in every child process (MADV_WIPEONFORK, Linux 4.14).
 * Freed by mem_free_secret() with the same @size. NULL: the kernel cannot do that. */
void *mem_new_secret(size_t size);
void mem_free_secret(void *secret, size_t size);
/* Grows @array to @count elements of @size; new elements are not initialised. */
void *mem_grow(void *array, size_t count, size_t size);
/* Grows @array, which has room for *@room elements, until @count elements of @size fit; doubles the
 * room. */
void *mem_reserve(void *array, size_t *room, size_t count, size_t size);
char *mem_strdup(const char *text);
char *mem_strdup_or_null(const char *text); /* NULL for NULL */
char *mem_strndup(const char *text, size_t max_bytes);
char *mem_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Appends to *@text, which is owned and grows. */
void mem_append(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A list is a NULL-terminated array of strings. A NULL pointer is an empty list. */
#define mem_count_list(list)                                                                       \
	({                                                                                         \
		__typeof__(list) count_list = (list);                                              \
		size_t count_of_list = 0;                                                          \
		while (count_list && count_list[count_of_list])                                    \
			count_of_list++;                                                           \
		count_of_list;                                                                     \
	})
/* Copies the array and its strings: returned owned, never NULL. */
char **mem_copy_list(const char *const *list);
/* Do they have equal strings, in the same order? */
bool mem_is_same_list(const char *const *one, const char *const *other);
/* Appends @item to *@list, which grows. The caller decides who owns the strings. */
void mem_append_list(char ***list, char *item);
/* Frees the array and its strings. */
void mem_free_list(char **list);

static inline void mem_free_local(void *pointer)
{
	free(*(void **)pointer);
}
static inline void mem_free_list_local(char ***list)
{
	mem_free_list(*list);
}
#define auto_free      __attribute__((cleanup(mem_free_local)))
#define auto_free_list __attribute__((cleanup(mem_free_list_local)))

/* Transfers ownership from a local: the local is NULL afterwards. */
#define take(pointer)                                                                              \
	({                                                                                         \
		__typeof__(pointer) take_value = (pointer);                                        \
		(pointer) = NULL;                                                                  \
		take_value;                                                                        \
	})

#define ARRAY_SIZE(array)                   (sizeof(array) / sizeof((array)[0]))
#define BIT(n)                              (1U << (n))
#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))
