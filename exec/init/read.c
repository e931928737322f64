#include "exec/init/read.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

struct reader {
	const char *at, *end;
};

/* The next string, or NULL when no NUL is left. */
static const char *read_string(struct reader *reader)
{
	const char *text = reader->at;

	while (reader->at < reader->end)
		if (*reader->at++ == '\0')
			return text;
	return NULL;
}

/* "/" or "/a/b": absolute, no empty, "." or ".." component, no slash at the end. */
static bool is_canonical(const char *path)
{
	if (path[0] != '/')
		return false;
	if (path[1] == '\0')
		return true;
	for (const char *at = path; *at == '/';) {
		const char *part = ++at;

		while (*at != '\0' && *at != '/')
			at++;
		size_t len = (size_t)(at - part);

		if (len == 0 || (len == 1 && part[0] == '.') ||
		    (len == 2 && part[0] == '.' && part[1] == '.'))
			return false;
	}
	return true;
}

size_t read_pointers(const void *bytes, size_t len)
{
	const struct wire_plan *head = bytes;
	size_t pointers = 0;

	if (len < sizeof(*head) || len > WIRE_PLAN_MAX || head->magic != WIRE_MAGIC ||
	    head->bytes != len || (head->flags & ~(uint32_t)WIRE_FLAGS) != 0)
		return 0;
	for (int i = 0; i < WIRE_LISTS; i++) {
		if (head->counts[i] > WIRE_LIST_MAX || head->counts[i] > len)
			return 0;
		pointers += head->counts[i] + 1;
	}
	return pointers;
}

/* Pairs of a canonical path and a text. */
static bool is_files(char *const *list, uint32_t count)
{
	if (count % 2 != 0 || count / 2 > WIRE_FILES_MAX)
		return false;
	for (uint32_t i = 0; i < count; i += 2)
		if (!is_canonical(list[i]))
			return false;
	return true;
}

static int read_list(struct reader *reader, bool is_paths, uint32_t count, char **list)
{
	for (uint32_t i = 0; i < count; i++) {
		const char *text = read_string(reader);

		if (!text || (is_paths && !is_canonical(text)))
			return -EBADMSG;
		/* execve(2) wants them this way; nobody writes through it */
		list[i] = (char *)(uintptr_t)text;
	}
	list[count] = NULL;
	return 0;
}

int read_plan(const void *bytes, size_t len, char **pointers, struct read_plan *ret)
{
	const struct wire_plan *head = bytes;

	if (read_pointers(bytes, len) == 0 || head->counts[WIRE_ARGV] == 0 ||
	    head->counts[WIRE_FRESH] == 0)
		return -EBADMSG;

	struct reader reader = {
		.at = (const char *)bytes + sizeof(*head),
		.end = (const char *)bytes + len,
	};
	ret->head = head;
	ret->cwd = read_string(&reader);
	if (!ret->cwd || !is_canonical(ret->cwd))
		return -EBADMSG;
	for (int i = 0; i < WIRE_LISTS; i++) {
		ret->lists[i] = pointers;
		if (read_list(&reader, i >= WIRE_FRESH, head->counts[i], pointers) < 0)
			return -EBADMSG;
		if (i == WIRE_FILES && !is_files(pointers, head->counts[i]))
			return -EBADMSG;
		pointers += head->counts[i] + 1;
	}
	return reader.at == reader.end ? 0 : -EBADMSG;
}
