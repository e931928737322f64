#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "policies/configured/configured_impl.h"

#define PIP_SECTION_MAX 64
#define PIP_VALUE_MAX   8192 /* bytes of one value over all its lines */

static const struct {
	const char *key, *variable;
} pip_keys[] = {
	{ "index-url", "PIP_INDEX_URL" },
	{ "extra-index-url", "PIP_EXTRA_INDEX_URL" },
	{ "find-links", "PIP_FIND_LINKS" },
};

/* The state while the lines of one value are read. */
struct pip_value {
	struct reading *reading;
	char section[PIP_SECTION_MAX + 1];
	const char *key; /* one of pip_keys; NULL: the value is skipped */
	char text[PIP_VALUE_MAX + 1];
	size_t len, line;
};

/* pip accepts index_url for index-url. */
static const char *pip_key(const char *text, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(pip_keys); i++) {
		const char *key = pip_keys[i].key;
		size_t at = 0;

		while (at < len && key[at] &&
		       ((text[at] | 32) == key[at] || text[at] == key[at] ||
			(text[at] == '_' && key[at] == '-')))
			at++;
		if (at == len && key[at] == '\0')
			return key;
	}
	return NULL;
}

static int pip_append(struct pip_value *value, const char *text, size_t len)
{
	if (value->key == NULL)
		return 0;
	if (len + 1 > PIP_VALUE_MAX - value->len)
		return reading_refuse(value->reading, reading_where(value->reading, value->line),
				      "the value has more than %d bytes", PIP_VALUE_MAX);
	memcpy(value->text + value->len, text, len);
	value->len += len;
	value->text[value->len++] = '\n';
	return 0;
}

static int pip_flush(struct pip_value *value)
{
	if (value->key == NULL)
		return 0;
	auto_free char *name = mem_printf("%s.%s", value->section, value->key);

	value->key = NULL;
	return reading_set(value->reading, name, value->text, value->len,
			   reading_where(value->reading, value->line));
}

static int pip_section(struct pip_value *value, const struct lines *lines)
{
	if (lines->text[lines->len - 1] != ']' || lines->len - 2 > PIP_SECTION_MAX)
		return reading_refuse(value->reading, reading_where(value->reading, lines->number),
				      "this is not the name of a section");
	memcpy(value->section, lines->text + 1, lines->len - 2);
	value->section[lines->len - 2] = '\0';
	return 0;
}

static int pip_line(struct pip_value *value, const struct lines *lines)
{
	struct lines_pair pair;

	if (lines->len == 0 || lines->text[0] == '#' || lines->text[0] == ';')
		return 0;
	if (lines->is_indented && value->line > 0)
		return pip_append(value, lines->text, lines->len);
	int r = pip_flush(value);

	if (r < 0)
		return r;
	value->line = 0;
	if (lines->text[0] == '[')
		return pip_section(value, lines);
	if (!value->section[0] || !lines_pair(lines, "=:", &pair))
		return reading_refuse(value->reading, reading_where(value->reading, lines->number),
				      value->section[0]
					      ? "the line is not \"name = value\""
					      : "the value is before the first [section]");
	value->key = pip_key(pair.key, pair.key_len);
	value->line = lines->number;
	value->len = 0;
	return pip_append(value, pair.value, pair.value_len);
}

static int pip_parse(struct reading *reading, const char *text, size_t len)
{
	struct lines lines = { .at = text, .left = len };
	auto_free struct pip_value *value = mem_new(sizeof(*value));
	int r = 0;

	value->reading = reading;
	while (r == 0 && lines_next(&lines))
		r = pip_line(value, &lines);
	return r == 0 ? pip_flush(value) : r;
}

/* Reads pip/pip.conf in each folder of XDG_CONFIG_DIRS, or /etc/xdg. */
static int pip_read_shared(struct reading *reading)
{
	const char *folders = reading_variable(reading, "XDG_CONFIG_DIRS");
	auto_free char *list = mem_strdup(folders ? folders : "/etc/xdg");
	char *rest = list;
	int r = 0;

	for (char *folder; r >= 0 && (folder = strsep(&rest, ":")) != NULL;) {
		auto_free char *path = mem_printf("%s/pip/pip.conf", folder);

		if (folder[0] == '/')
			r = reading_file(reading, path, pip_parse);
	}
	return r < 0 ? r : reading_file(reading, "/etc/pip.conf", pip_parse);
}

/* The strongest first: PIP_CONFIG_FILE, the site's file (of the virtual environment), the user's,
 * the system's. */
static int pip_read_files(struct reading *reading)
{
	const char *extra = reading_variable(reading, "PIP_CONFIG_FILE");
	int r = 0;

	if (extra && strcmp(extra, "/dev/null") == 0) /* tells pip to read no files */
		return 0;
	if (extra && extra[0] == '/')
		r = reading_file(reading, extra, pip_parse);
	if (r >= 0)
		r = reading_below(reading, "VIRTUAL_ENV", NULL, "/pip.conf", pip_parse);
	if (r >= 0)
		r = reading_below(reading, "XDG_CONFIG_HOME", ".config", "/pip/pip.conf",
				  pip_parse);
	if (r >= 0)
		r = reading_below(reading, NULL, ".pip", "/pip.conf", pip_parse);
	if (r >= 0)
		r = pip_read_shared(reading);
	return r < 0 ? r : 0;
}

/* Is @name "SECTION.@key"? */
static bool pip_is_key(const char *name, const char *key)
{
	size_t len = strlen(name), tail = strlen(key);

	return len > tail && name[len - tail - 1] == '.' && strcmp(name + len - tail, key) == 0;
}

/* A variable has precedence over every section of every file. *@ret_any: a value was set. */
static int pip_use(struct reading *reading, const char *key, const char *variable, bool *ret_any)
{
	const char *value = reading_variable(reading, variable);
	auto_free char *where = mem_printf("$%s", variable);
	int r = 0;

	if (value) {
		*ret_any = true;
		return reading_urls(reading, where, value);
	}
	for (size_t i = 0; r == 0 && i < reading->setting_count; i++) {
		const struct setting *setting = &reading->settings[i];

		if (!pip_is_key(setting->key, key))
			continue;
		*ret_any = true;
		r = reading_urls(reading, setting->where, setting->value);
	}
	return r;
}

/* The built-in index and the host of its files are not listed here: pip itself is asked. No pip
 * command prints them; its module has had them under these names since pip 10. */
static int pip_ask(struct reading *reading)
{
	static const char *const argv[] = {
		"python3", "-I", "-c",
		("from pip._internal.models.index import PyPI\n"
		 "print(PyPI.simple_url, 'https://' + PyPI.file_storage_domain, sep='\\n')"),
		NULL
	};
	auto_free char *output = NULL;
	int r = 0;

	if (reading_ask(reading, argv, &output) == 0)
		return 0;
	struct lines lines = { .at = output, .left = strlen(output) };

	while (r == 0 && lines_next(&lines)) {
		if (lines.len > 0)
			r = reading_url(reading, "the index built into pip", lines.text, lines.len);
	}
	return r;
}

static int pip_read(struct reading *reading)
{
	bool has[ARRAY_SIZE(pip_keys)] = { false };
	int r = pip_read_files(reading);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(pip_keys); i++)
		r = pip_use(reading, pip_keys[i].key, pip_keys[i].variable, &has[i]);
	return r == 0 && !has[0] ? pip_ask(reading) : r;
}

const struct configured_ops pip_ops = { .name = "pip", .read = pip_read };
