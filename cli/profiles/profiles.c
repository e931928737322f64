#include "cli/profiles/profiles.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/profiles/table.h"

#define PROFILES_MAX 16 /* in a message */

const struct profile *profiles_at(size_t index)
{
	return index < table_profile_count ? &table_profiles[index] : NULL;
}

const struct profile *profiles_find(const char *name)
{
	for (size_t i = 0; i < table_profile_count; i++)
		if (strcmp(table_profiles[i].name, name) == 0)
			return &table_profiles[i];
	return NULL;
}

const char *profiles_name(const struct profile *profile)
{
	return profile->name;
}

const char *profiles_title(const struct profile *profile)
{
	return profile->title;
}

const char *profiles_program(const struct profile *profile)
{
	return profile->program;
}

char *profiles_policy(const struct profile *profile)
{
	char *text = mem_strdup("version 1\n");

	for (size_t i = 0; i < profile->count; i++) {
		if (profile->lines[i].kind != PROFILE_POLICY)
			continue;
		mem_append(&text, "%s\n", profile->lines[i].text);
	}
	return text;
}

void profiles_print_setup(const struct profile *profile)
{
	for (size_t i = 0; i < profile->count; i++) {
		if (profile->lines[i].kind == PROFILE_SETUP)
			(void)puts(profile->lines[i].text);
		else if (profile->lines[i].kind == PROFILE_CONFIG)
			(void)fputs(profile->lines[i].more, stdout);
	}
}

bool profiles_config(const struct profile *profile, size_t index, const char **ret_path,
		     const char **ret_text)
{
	for (size_t i = 0; i < profile->count; i++) {
		const struct profile_line *line = &profile->lines[i];

		if (line->kind != PROFILE_CONFIG || index-- > 0)
			continue;
		*ret_path = line->text;
		*ret_text = line->more;
		return true;
	}
	return false;
}

int profiles_unknown(enum cli_command command, const char *given)
{
	const char *names[PROFILES_MAX];
	size_t count = 0;
	auto_free char *shown = text_visible_dup(given), *all = mem_strdup("");

	for (; profiles_at(count) && count < ARRAY_SIZE(names); count++) {
		char *longer = mem_printf("%s%s%s", all, count > 0 ? ", " : "",
					  profiles_name(profiles_at(count)));

		names[count] = profiles_name(profiles_at(count));
		free(all);
		all = longer;
	}
	const char *nearest = text_nearest(given, strlen(given), names, count);

	if (nearest)
		return options_wrong(command, "no profile `%s`; did you mean %s?", shown, nearest);
	return options_wrong(command, "no profile `%s`; there are %s", shown, all);
}
