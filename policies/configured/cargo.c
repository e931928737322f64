#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/toml.h"
#include "policies/configured/configured_impl.h"

#define CARGO_SPARSE "sparse+"

/* Keeps only values that name a host, as "source.NAME.registry": the value of the first file wins.
 */
static int cargo_value(const struct toml_value *value, void *arg)
{
	struct reading *reading = arg;
	const char *keys[3];

	/* A list or a number is not a value that names a host. */
	if (!value->is_string || value->depth < 2 || value->depth > ARRAY_SIZE(keys))
		return 0;
	for (size_t i = 0; i < value->depth; i++) {
		keys[i] = value->keys[i];
		if (!keys[i])
			return 0;
	}
	bool is_source = value->depth == 3 && strcmp(keys[0], "source") == 0 &&
			 (strcmp(keys[2], "registry") == 0 || strcmp(keys[2], "git") == 0 ||
			  strcmp(keys[2], "replace-with") == 0);
	bool is_registry = value->depth == 3 && strcmp(keys[0], "registries") == 0 &&
			   strcmp(keys[2], "index") == 0;
	bool is_old = value->depth == 2 && strcmp(keys[0], "registry") == 0 &&
		      strcmp(keys[1], "index") == 0;

	if (!is_source && !is_registry && !is_old)
		return 0;
	auto_free char *key =
		mem_printf("%s.%s%s%s", keys[0], keys[1], is_old ? "" : ".", is_old ? "" : keys[2]);

	return reading_set(reading, key, value->text, value->len,
			   reading_where(reading, value->line));
}

static int cargo_parse(struct reading *reading, const char *text, size_t len)
{
	struct err why = { 0 };
	size_t line = 0;
	int r = toml_read(text, len, cargo_value, reading, &line, &why);

	if (r < 0 && why.text[0])
		return reading_refuse(reading, reading_where(reading, line), "%s", why.text);
	return r;
}

static bool cargo_ends_in(const char *key, const char *tail)
{
	size_t len = strlen(key), tail_len = strlen(tail);

	return len > tail_len && strcmp(key + len - tail_len, tail) == 0;
}

/* "replace-with" must name a source or a registry that exists: cargo refuses it too, and otherwise
 * the error would appear in the middle of a build. */
static int cargo_check_replacement(struct reading *reading, const struct setting *setting)
{
	static const char *const forms[] = { "source.%s.registry", "source.%s.git",
					     "source.%s.replace-with", "registries.%s.index" };

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		const char *mark = strstr(forms[i], "%s");
		auto_free char *key = mem_printf("%.*s%s%s", (int)(mark - forms[i]), forms[i],
						 setting->value, mark + 2);

		if (reading_get(reading, key))
			return 0;
	}
	reading_remark(reading, "%s: the source that replaces it names no host", setting->where);
	return 0;
}

static int cargo_use(struct reading *reading, const struct setting *setting)
{
	static const char sparse[] = CARGO_SPARSE;
	size_t skip = sizeof(sparse) - 1;
	const char *url = setting->value;

	if (cargo_ends_in(setting->key, ".replace-with"))
		return cargo_check_replacement(reading, setting);
	if (strncmp(url, sparse, skip) == 0)
		url += skip;
	return reading_url(reading, setting->where, url, strlen(url));
}

/* Reads either name; if both files exist, the old name wins, as in cargo. */
static int cargo_read_folder(struct reading *reading, const char *folder)
{
	static const char *const names[] = { "config", "config.toml" };
	int r = 0;

	for (size_t i = 0; folder && r == 0 && i < ARRAY_SIZE(names); i++) {
		auto_free char *path = mem_printf("%s/%s", folder, names[i]);

		r = reading_file(reading, path, cargo_parse);
		if (r > 0)
			return 0;
	}
	return r;
}

/* No command of cargo prints its default registry, so one is made to fail before it connects: the
 * error names it in backquotes. It has a home of its own, which a registry would be kept in. */
static int cargo_ask(struct reading *reading)
{
	static const char script[] =
		"home=$(mktemp -d) && CARGO_HOME=$home NO_PROXY= no_proxy= cargo "
		"--config 'http.proxy=\"http://127.0.0.1:0\"' --config net.retry=0 search x 2>&1; "
		"rm -rf \"$home\"";
	static const char *const argv[] = { "sh", "-c", script, NULL };
	auto_free char *output = NULL;

	if (reading_ask(reading, argv, &output) == 0)
		return 0;
	const char *mark = strstr(output, "`http");
	const char *end = mark ? strchr(mark + 1, '`') : NULL;

	if (end)
		return reading_url(reading, "cargo search", mark + 1, (size_t)(end - mark) - 1);
	reading_remark(reading, "cargo's configuration does not replace its default registry, and "
				"cargo did not tell it");
	return 0;
}

static int cargo_read(struct reading *reading)
{
	auto_free char *home = reading_place(reading, "CARGO_HOME", ".cargo");
	auto_free char *project =
		reading->env->cwd ? mem_printf("%s/.cargo", reading->env->cwd) : NULL;
	int r = cargo_read_folder(reading, project);

	if (r == 0)
		r = cargo_read_folder(reading, home);
	for (size_t i = 0; r == 0 && i < reading->setting_count; i++)
		r = cargo_use(reading, &reading->settings[i]);
	if (r == 0 && !reading_get(reading, "source.crates-io.replace-with") &&
	    !reading_get(reading, "source.crates-io.registry"))
		r = cargo_ask(reading);
	return r;
}

const struct configured_ops cargo_ops = { .name = "cargo", .read = cargo_read };
