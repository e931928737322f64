#include "policies/commands/option_impl.h"

#include <string.h>

/* The next of the space-separated names; returns its length, 0 at the end. */
static size_t next_name(const char **names)
{
	while (**names == ' ')
		(*names)++;
	return strcspn(*names, " ");
}

bool option_has_letter(const char *word, const char *letters)
{
	return word[0] == '-' && word[1] && word[1] != '-' && strpbrk(word + 1, letters) != NULL;
}

bool option_has_name(const char *word, const char *names)
{
	if (strncmp(word, "--", 2) != 0 || !word[2])
		return false;
	size_t len = strcspn(word + 2, "=");

	for (size_t name; (name = next_name(&names)) > 0; names += name) {
		if (len > 0 && len <= name && memcmp(word + 2, names, len) == 0)
			return true;
	}
	return false;
}

bool option_is_one_of(const char *word, const char *list)
{
	size_t len = strlen(word);

	for (size_t name; (name = next_name(&list)) > 0; list += name) {
		if (name == len && memcmp(word, list, len) == 0)
			return true;
	}
	return false;
}

bool option_find(const char *word, const char *names, bool *ret_takes_word)
{
	size_t len = strncmp(word, "--", 2) == 0 ? strcspn(word + 2, "=") : 0;
	size_t found = 0;

	for (size_t name; (name = next_name(&names)) > 0; names += name) {
		bool takes = names[name - 1] == '=';
		size_t bare = name - takes;

		if (len == 0 || len > bare || memcmp(word + 2, names, len) != 0)
			continue;
		*ret_takes_word = takes;
		if (len == bare)
			return true;
		found++;
	}
	return found == 1;
}
