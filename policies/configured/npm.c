#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "policies/configured/configured_impl.h"

#define NPM_KEY_MAX                                                                                \
	(214 + 16) /* the longest package name npm takes, as a scope, and ":registry"              \
		    */

/* Expands "${NAME}" as npm does. If a variable is not set, the value is not used: an incomplete URL
 * names no host. */
static int npm_expand(struct reading *reading, const char *where, const char *text, size_t len,
		      char **ret)
{
	auto_free char *out = mem_strdup("");

	for (size_t at = 0; at < len;) {
		const char *open = memmem(text + at, len - at, "${", 2);
		size_t plain = open ? (size_t)(open - text) - at : len - at;
		const char *close = open ? memchr(open, '}', len - (size_t)(open - text)) : NULL;
		const char *value = "";

		if (open && !close)
			return reading_refuse(reading, where,
					      "the value has a ${ that is not closed");
		if (open) {
			auto_free char *name = mem_strndup(open + 2, (size_t)(close - open) - 2);

			value = reading_variable(reading, name);
			if (!value)
				return reading_refuse(
					reading, where,
					"the value has a variable in ${} that is not set");
		}
		mem_append(&out, "%.*s%s", (int)plain, text + at, value);
		at += plain + (open ? (size_t)(close + 1 - open) : 0);
	}
	*ret = take(out);
	return 0;
}

/* Removes quotes around the value, or a comment after it. */
static void npm_unquote(const char **value, size_t *len)
{
	if (*len >= 2 && ((*value)[0] == '"' || (*value)[0] == '\'') &&
	    (*value)[*len - 1] == (*value)[0]) {
		*value += 1;
		*len -= 2;
		return;
	}
	for (size_t i = 0; i < *len; i++) {
		if ((*value)[i] == ';' || (*value)[i] == '#')
			*len = i;
	}
	lines_trim(value, len);
}

static bool npm_is_wanted(const char *key, size_t len)
{
	static const char scoped[] = ":registry";
	size_t tail = sizeof(scoped) - 1;

	if (lines_is(key, len, "registry") || lines_is(key, len, "prefix"))
		return true;
	return len > tail + 1 && key[0] == '@' && memcmp(key + len - tail, scoped, tail) == 0;
}

static int npm_parse(struct reading *reading, const char *text, size_t len)
{
	struct lines lines = { .at = text, .left = len };

	while (lines_next(&lines)) {
		struct lines_pair pair;
		auto_free char *value = NULL, *key = NULL;

		if (lines.len == 0 || lines.text[0] == '#' || lines.text[0] == ';' ||
		    lines.text[0] == '[' || !lines_pair(&lines, "=", &pair))
			continue;
		if (!npm_is_wanted(pair.key, pair.key_len))
			continue;
		const char *where = reading_where(reading, lines.number);

		if (pair.key_len > NPM_KEY_MAX)
			return reading_refuse(reading, where, "the scope has more than %d bytes",
					      NPM_KEY_MAX);
		npm_unquote(&pair.value, &pair.value_len);
		int r = npm_expand(reading, where, pair.value, pair.value_len, &value);

		key = mem_strndup(pair.key, pair.key_len);
		if (r == 0 && value && value[0])
			r = reading_set(reading, key, value, strlen(value), where);
		if (r < 0)
			return r;
	}
	return 0;
}

/* npm accepts its variables in lower and upper case. */
static const char *npm_variable(struct reading *reading, const char *lower, const char *upper)
{
	const char *value = reading_variable(reading, lower);

	return value ? value : reading_variable(reading, upper);
}

static int npm_read_below(struct reading *reading, const char *folder, const char *name)
{
	auto_free char *path = folder ? mem_printf("%s/%s", folder, name) : NULL;

	return path && path[0] == '/' ? reading_file(reading, path, npm_parse) : 0;
}

/* In npm's order: the first file that sets a value wins. */
static int npm_read_files(struct reading *reading)
{
	static const char *const shared[] = { "/usr/local", "/usr", "" };
	const char *user = npm_variable(reading, "npm_config_userconfig", "NPM_CONFIG_USERCONFIG");
	const char *global =
		npm_variable(reading, "npm_config_globalconfig", "NPM_CONFIG_GLOBALCONFIG");
	const char *prefix = npm_variable(reading, "npm_config_prefix", "NPM_CONFIG_PREFIX");
	int r = npm_read_below(reading, reading->env->cwd, ".npmrc");

	reading->has_left_out = false; /* npm is not asked there */
	if (r >= 0 && user)
		r = user[0] == '/' ? reading_file(reading, user, npm_parse) : 0;
	else if (r >= 0)
		r = npm_read_below(reading, reading->env->home, ".npmrc");
	if (r >= 0 && global)
		return global[0] == '/' ? reading_file(reading, global, npm_parse) : 0;
	if (!prefix && reading_get(reading, "prefix"))
		prefix = reading_get(reading, "prefix")->value;
	if (r >= 0 && prefix) {
		auto_free char *copy = mem_strdup(prefix);

		r = npm_read_below(reading, copy, "etc/npmrc");
	}
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(shared); i++) {
		auto_free char *path = mem_printf("%s/etc/npmrc", shared[i]);

		r = reading_file(reading, path, npm_parse);
	}
	return r < 0 ? r : 0;
}

/* The built-in registry is not listed here: npm itself is asked for it. */
static int npm_ask(struct reading *reading)
{
	static const char *const argv[] = { "npm", "config", "get", "registry", NULL };
	auto_free char *output = NULL;

	if (reading_ask_with_files(reading, argv, &output) == 0)
		return 0;
	struct lines lines = { .at = output, .left = strlen(output) };

	if (lines_next(&lines) && lines.len > 0 && !lines_is(lines.text, lines.len, "undefined"))
		return reading_url(reading, "npm config get registry", lines.text, lines.len);
	reading_remark(reading, "npm names no registry");
	return 0;
}

static int npm_read(struct reading *reading)
{
	const char *registry = npm_variable(reading, "npm_config_registry", "NPM_CONFIG_REGISTRY");
	int r = registry ? reading_set(reading, "registry", registry, strlen(registry),
				       "$npm_config_registry")
			 : 0;

	if (r == 0)
		r = npm_read_files(reading);
	for (size_t i = 0; r == 0 && i < reading->setting_count; i++) {
		const struct setting *setting = &reading->settings[i];

		if (strcmp(setting->key, "prefix") != 0)
			r = reading_url(reading, setting->where, setting->value,
					strlen(setting->value));
	}
	if (r == 0 && !reading_get(reading, "registry"))
		r = npm_ask(reading);
	return r;
}

const struct configured_ops npm_ops = { .name = "npm", .read = npm_read };
