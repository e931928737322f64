/* mem: small allocations that die instead of failing, and locals that clean up after themselves.
 * What a peer can size never comes from here: it lives in a buffer with a maximum. */
#pragma once

#include <stddef.h>
#include <stdlib.h>

/* All return owned memory, zeroed where new; out of memory ends the process. */
void *mem_new(size_t size);
void *mem_new_array(size_t count, size_t size);
/* Grows @array to @count elements of @size; what is new is not initialised. */
void *mem_grow(void *array, size_t count, size_t size);
char *mem_strdup(const char *text);
char *mem_strndup(const char *text, size_t max_bytes);
char *mem_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* @list is a NULL-terminated array of strings, all owned; NULL is fine. */
void mem_free_list(char **list);
/* Such an array with copies of what is on @list; NULL is an empty one. Returned owned. */
char **mem_copy_list(const char *const *list);

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

/* Hands over what a local owns: the local is empty afterwards. */
#define take(pointer)                                                                              \
	({                                                                                         \
		__typeof__(pointer) take_value = (pointer);                                        \
		(pointer) = NULL;                                                                  \
		take_value;                                                                        \
	})

#define ARRAY_SIZE(array)                   (sizeof(array) / sizeof((array)[0]))
#define BIT(n)                              (1U << (n))
#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))
