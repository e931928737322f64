#include <string.h>

#include "base/mem.h"
#include "policies/configured/configured_impl.h"

static const char *const go_names[] = { "GOPROXY", "GOSUMDB" };

static int go_parse(struct reading *reading, const char *text, size_t len)
{
	struct lines lines = { .at = text, .left = len };

	while (lines_next(&lines)) {
		struct lines_pair pair;

		if (lines.len == 0 || lines.text[0] == '#')
			continue;
		const char *where = reading_where(reading, lines.number);

		if (!lines_pair(&lines, "=", &pair))
			return reading_refuse(reading, where, "the line is not NAME=value");
		for (size_t i = 0; i < ARRAY_SIZE(go_names); i++) {
			if (!lines_is(pair.key, pair.key_len, go_names[i]) || pair.value_len == 0)
				continue;
			int r = reading_set(reading, go_names[i], pair.value, pair.value_len,
					    where);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* `go env GOPROXY GOSUMDB` prints one line for each variable. */
static int go_ask(struct reading *reading)
{
	static const char *const argv[] = { "go", "env", "GOPROXY", "GOSUMDB", NULL };
	auto_free char *output = NULL;

	if (reading_ask_with_files(reading, argv, &output) == 0)
		return 0;
	struct lines lines = { .at = output, .left = strlen(output) };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(go_names) && lines_next(&lines); i++) {
		if (lines.len > 0)
			r = reading_set(reading, go_names[i], lines.text, lines.len,
					"go env GOPROXY GOSUMDB");
	}
	return r;
}

/* URLs, "direct" and "off", separated by commas and pipes. */
static int go_use_proxies(struct reading *reading, const struct setting *setting)
{
	for (const char *at = setting->value; at;) {
		size_t len = strcspn(at, ",|");
		const char *piece = at, *next = at[len] ? at + len + 1 : NULL;
		int r = 0;

		lines_trim(&piece, &len);
		if (lines_is(piece, len, "direct"))
			reading_remark(reading,
				       "%s: \"direct\" means the hosts of the modules "
				       "themselves, which no configuration names",
				       setting->where);
		else if (len > 0 && !lines_is(piece, len, "off"))
			r = reading_url(reading, setting->where, piece, len);
		if (r < 0)
			return r;
		at = next;
	}
	return 0;
}

/* "off", "NAME", "NAME+KEY" or "NAME+KEY URL"; a name without a URL is the host. */
static int go_use_database(struct reading *reading, const struct setting *setting)
{
	size_t name = strcspn(setting->value, " \t");
	const char *url = setting->value + name;
	size_t len = strlen(url);

	lines_trim(&url, &len);
	if (strcmp(setting->value, "off") == 0)
		return 0;
	if (len > 0)
		return reading_url(reading, setting->where, url, len);
	return reading_host(reading, setting->where, setting->value, strcspn(setting->value, "+"),
			    false);
}

static int go_read(struct reading *reading)
{
	const char *file = reading_variable(reading, "GOENV");
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(go_names); i++) {
		const char *value = reading_variable(reading, go_names[i]);
		auto_free char *where = mem_printf("$%s", go_names[i]);

		if (value)
			r = reading_set(reading, go_names[i], value, strlen(value), where);
	}
	if (r == 0 && file && strcmp(file, "off") != 0)
		r = reading_below(reading, "GOENV", NULL, "", go_parse);
	else if (r == 0 && !file)
		r = reading_below(reading, "XDG_CONFIG_HOME", ".config", "/go/env", go_parse);
	if (r >= 0)
		r = reading_below(reading, "GOROOT", NULL, "/go.env", go_parse);
	r = r < 0 ? r : 0;
	if (r == 0 && (!reading_get(reading, "GOPROXY") || !reading_get(reading, "GOSUMDB")))
		r = go_ask(reading);
	const struct setting *proxies = reading_get(reading, "GOPROXY");
	const struct setting *database = reading_get(reading, "GOSUMDB");

	if (r == 0 && proxies)
		r = go_use_proxies(reading, proxies);
	if (r == 0 && database)
		r = go_use_database(reading, database);
	return r;
}

const struct configured_ops go_ops = { .name = "go", .read = go_read };
