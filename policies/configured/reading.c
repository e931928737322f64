#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "policies/configured/configured_impl.h"

static void reading_free_settings(struct setting *settings, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(settings[i].key);
		free(settings[i].value);
		free(settings[i].where);
	}
	free(settings);
}

void reading_done(struct reading *reading)
{
	reading_free_settings(reading->settings, reading->setting_count);
	reading_free_settings(reading->found, reading->found_count);
	for (size_t i = 0; i < reading->note_count; i++)
		free(reading->notes[i]);
	free(reading->notes);
	free(reading->file);
	free(reading->where);
}

static void reading_add_note(struct reading *reading, const char *format, va_list args)
{
	char text[ERR_MAX_BYTES];

	if (reading->note_count == CONFIGURED_NOTES_MAX)
		return;
	(void)vsnprintf(text, sizeof(text), format, args); /* may be cut */
	reading->notes = mem_grow(reading->notes, reading->note_count + 1, sizeof(*reading->notes));
	reading->notes[reading->note_count++] = mem_strdup(text);
}

void reading_note(struct reading *reading, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	reading_add_note(reading, format, args);
	va_end(args);
}

void reading_remark(struct reading *reading, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (reading->env->tells_all)
		reading_add_note(reading, format, args);
	va_end(args);
}

int reading_refuse(struct reading *reading, const char *where, const char *format, ...)
{
	char text[ERR_MAX_BYTES];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args); /* may be cut */
	va_end(args);
	return err_set(reading->why, -EBADMSG, "%s: %s", where, text);
}

const char *reading_where(struct reading *reading, size_t line)
{
	free(reading->where);
	reading->where = mem_printf("%s:%zu", reading->file ? reading->file : "", line);
	return reading->where;
}

const char *reading_variable(const struct reading *reading, const char *name)
{
	const struct configured_environment *env = reading->env;
	const char *value = env->variable ? env->variable(name, env->arg) : NULL;

	return value && value[0] ? value : NULL;
}

char *reading_place(struct reading *reading, const char *variable, const char *fallback)
{
	const char *value = variable ? reading_variable(reading, variable) : NULL;

	if (value && value[0] == '/')
		return mem_strdup(value);
	if (value)
		reading_note(reading, "$%s is not used, because it is not an absolute path",
			     variable);
	if (!fallback || !reading->env->home || reading->env->home[0] != '/')
		return NULL;
	return mem_printf("%s/%s", reading->env->home, fallback);
}

/* With a test's callback there is no disk: paths are compared as text. */
static int reading_from_callback(const struct configured_environment *env, const char *path,
				 char **ret_text, size_t *ret_len, struct err *why)
{
	int r = env->read(path, ret_text, ret_len, env->arg, why);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (env->is_project_trusted || !env->cwd || !source_is_below(path, env->cwd)) {
		if (env->was_read)
			env->was_read(path, env->trust_arg);
		return 1;
	}
	if (env->is_trusted && env->is_trusted(path, *ret_text, *ret_len, env->trust_arg))
		return 1;
	return SOURCE_WITHIN;
}

int reading_file(struct reading *reading, const char *path, reading_parse_fn parse)
{
	auto_free char *text = NULL;
	size_t len = 0;
	int r = reading->env->read
			? reading_from_callback(reading->env, path, &text, &len, reading->why)
			: source_read(reading->env, path, &text, &len, reading->why);

	free(reading->file);
	reading->file = text_visible_dup(path);
	if (r == SOURCE_WITHIN) {
		reading->has_left_out = true;
		reading_note(reading,
			     "%s: not read, because a command could write it, or a link that leads "
			     "to it, and its current content is not trusted",
			     reading->file);
		return 0;
	}
	if (r == SOURCE_LINK) {
		reading->has_left_out = true;
		reading_note(reading,
			     "%s: not read, because it is a link in the project, or cannot be "
			     "opened there",
			     reading->file);
		return 0;
	}
	if (r < 0)
		return err_prefix(reading->why, r, "%s", reading->file);
	if (r == 0)
		return 0;
	if (memchr(text, '\0', len))
		return reading_refuse(reading, reading->file, "the file contains a NUL byte");
	r = parse(reading, text, len);
	return r < 0 ? r : 1;
}

int reading_below(struct reading *reading, const char *variable, const char *fallback,
		  const char *name, reading_parse_fn parse)
{
	auto_free char *place = reading_place(reading, variable, fallback);
	auto_free char *path = place ? mem_printf("%s%s", place, name) : NULL;

	return path ? reading_file(reading, path, parse) : 0;
}

int reading_folder(struct reading *reading, const char *path, char ***ret_names)
{
	if (reading->env->read) {
		*ret_names = mem_new_array(1, sizeof(**ret_names));
		return 0;
	}
	int r = source_list(reading->env, path, ret_names, reading->why);

	return r < 0 ? err_prefix(reading->why, r, "%s", path) : 0;
}

static int reading_add(struct reading *reading, struct setting **list, size_t *count, size_t max,
		       const struct setting *setting)
{
	if (*count == max)
		return err_set(reading->why, -E2BIG, "%s: more than %zu values", setting->where,
			       max);
	*list = mem_grow(*list, *count + 1, sizeof(**list));
	(*list)[(*count)++] = (struct setting){
		.key = mem_strdup(setting->key),
		.value = mem_strdup(setting->value),
		.where = mem_strdup(setting->where),
	};
	return 0;
}

const struct setting *reading_get(const struct reading *reading, const char *key)
{
	for (size_t i = 0; i < reading->setting_count; i++) {
		if (strcmp(reading->settings[i].key, key) == 0)
			return &reading->settings[i];
	}
	return NULL;
}

int reading_set(struct reading *reading, const char *key, const char *value, size_t len,
		const char *where)
{
	auto_free char *copy = mem_strndup(value, len);
	auto_free char *name = mem_strdup(key);
	struct setting setting = { name, copy, (char *)(uintptr_t)where };

	if (reading_get(reading, key))
		return 0;
	return reading_add(reading, &reading->settings, &reading->setting_count,
			   CONFIGURED_SETTINGS_MAX, &setting);
}

static int reading_found(struct reading *reading, const char *where, const struct url *url)
{
	char destination[URL_DESTINATION_MAX];
	char none[] = "";
	struct setting setting = { destination, none, (char *)(uintptr_t)where };

	(void)url_destination(url, destination);
	for (size_t i = 0; i < reading->found_count; i++) {
		if (strcmp(reading->found[i].key, destination) == 0)
			return 0;
	}
	return reading_add(reading, &reading->found, &reading->found_count,
			   CONFIGURED_DESTINATIONS_MAX, &setting);
}

int reading_url(struct reading *reading, const char *where, const char *text, size_t len)
{
	struct err why = { 0 };
	struct url url;

	if (url_parse(text, len, &url, &why) < 0)
		return reading_refuse(reading, where, "%s", why.text);
	if (url.scheme != URL_ELSE)
		return reading_found(reading, where, &url);
	if (len < 5 || !text_equal_nocase(text, 5, "file:"))
		reading_remark(reading, "%s: left out, because it is neither http nor https",
			       where);
	return 0;
}

int reading_host(struct reading *reading, const char *where, const char *text, size_t len,
		 bool is_plain_too)
{
	auto_free char *host = mem_strndup(text, len);
	auto_free char *https = mem_printf("https://%s", host);
	auto_free char *http = mem_printf("http://%s", host);
	int r = reading_url(reading, where, https, strlen(https));

	if (r == 0 && is_plain_too)
		r = reading_url(reading, where, http, strlen(http));
	return r;
}

int reading_urls(struct reading *reading, const char *where, const char *text)
{
	static const char blanks[] = " \t\r\n";

	for (text += strspn(text, blanks); *text; text += strspn(text, blanks)) {
		size_t len = strcspn(text, blanks);
		int r = memmem(text, len, "://", 3) ? reading_url(reading, where, text, len) : 0;

		if (r < 0)
			return r;
		text += len;
	}
	return 0;
}

int reading_ask(struct reading *reading, const char *const *argv, char **ret_output)
{
	const struct configured_environment *env = reading->env;
	auto_free char *command = text_command_line(argv, 200);
	struct err why = { 0 };

	if (!env->ask) {
		reading_remark(reading, "%s was not asked for its default (\"%s\")", argv[0],
			       command);
		return 0;
	}
	int r = env->ask(argv, ret_output, env->arg, &why);

	if (r < 0) {
		reading_remark(reading, "%s could not be asked for its default (\"%s\")%s%s",
			       argv[0], command, why.text[0] ? ": " : "", why.text);
		return 0;
	}
	return 1;
}

int reading_ask_with_files(struct reading *reading, const char *const *argv, char **ret_output)
{
	if (!reading->has_left_out)
		return reading_ask(reading, argv, ret_output);
	reading_note(reading,
		     "%s was not asked for its default, because it would use the file that is not "
		     "trusted",
		     argv[0]);
	return 0;
}
