#include "exec/init/read.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

struct reader {
	const char *at, *end;
};

/* The next string, or NULL if no NUL follows. */
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

/* Canonical paths; with @step 2 pairs of a path and a text. */
static bool is_paths(char *const *list, uint32_t count, uint32_t step)
{
	if (count % step != 0)
		return false;
	for (uint32_t i = 0; i < count; i += step)
		if (!is_canonical(list[i]))
			return false;
	return true;
}

static bool is_mounts(char *const *list, uint32_t count)
{
	static const char known[] = { WIRE_FRESH_TMP, WIRE_FRESH,     WIRE_HIDE,  WIRE_HIDE_AROUND,
				      WIRE_PIN,       WIRE_KEEP,      WIRE_READ,  WIRE_READ_NEW,
				      WIRE_WRITE,     WIRE_WRITE_NEW, WIRE_CACHE, WIRE_CACHE_NEW };

	for (uint32_t i = 0; i < count; i++) {
		bool is_known = false;

		for (size_t k = 0; k < sizeof(known); k++)
			is_known |= list[i][0] == known[k];
		if (!is_known || !is_canonical(list[i] + 1))
			return false;
	}
	return count <= WIRE_MOUNTS_MAX;
}

static bool is_grants(char *const *list, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if ((list[i][0] != WIRE_GRANT_NAME && list[i][0] != WIRE_GRANT_INODE) ||
		    !is_canonical(list[i] + 1))
			return false;
	return true;
}

static bool is_baits(char *const *list, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (list[i][0] == '\0' || list[i][1] == '\0')
			return false;
	return true;
}

static bool is_right(enum wire_list which, char *const *list, uint32_t count)
{
	switch (which) {
	case WIRE_ARGV:
		return count > 0;
	case WIRE_FILES:
		return is_paths(list, count, 2) && count / 2 <= WIRE_FILES_MAX;
	case WIRE_PROGRAM:
		return count == 0 || (count == 1 && list[0][0] == '/');
	case WIRE_MOUNTS:
		return is_mounts(list, count);
	case WIRE_LINKS:
	case WIRE_INSTEAD:
	case WIRE_CACHED:
		return is_paths(list, count, 1) && count % 2 == 0;
	case WIRE_GRANTED:
		return is_grants(list, count);
	case WIRE_SOCKETS:
	case WIRE_COVERED:
	case WIRE_FOLDERS:
	case WIRE_ABSENT:
		return is_paths(list, count, 1);
	case WIRE_BAITS:
		return is_baits(list, count);
	case WIRE_ENV:
	case WIRE_LISTS:
	default:
		return true;
	}
}

static int read_list(struct reader *reader, uint32_t count, char **list)
{
	for (uint32_t i = 0; i < count; i++) {
		const char *text = read_string(reader);

		if (!text)
			return -EBADMSG;
		/* execve(2) needs this type, but does not write */
		list[i] = (char *)(uintptr_t)text;
	}
	list[count] = NULL;
	return 0;
}

static bool is_texts(const struct wire_plan *head)
{
	for (int i = 0; i < WIRE_TEXTS; i++)
		if (head->limits.texts[i][0] == '\0' ||
		    head->limits.texts[i][WIRE_TEXT_MAX - 1] != '\0')
			return false;
	return head->limits.processes > 0;
}

int read_plan(const void *bytes, size_t len, char **pointers, struct read_plan *ret)
{
	const struct wire_plan *head = bytes;

	if (read_pointers(bytes, len) == 0 || head->counts[WIRE_ARGV] == 0 || !is_texts(head) ||
	    ((head->flags & WIRE_HAS_PROGRAM) != 0) != (head->counts[WIRE_PROGRAM] != 0))
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
		if (read_list(&reader, head->counts[i], pointers) < 0 ||
		    !is_right((enum wire_list)i, pointers, head->counts[i]))
			return -EBADMSG;
		pointers += head->counts[i] + 1;
	}
	return reader.at == reader.end ? 0 : -EBADMSG;
}
