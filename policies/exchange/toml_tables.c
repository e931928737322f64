#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/toml.h"
#include "policies/exchange/exchange_impl.h"

/* Keys become a path, as of all formats that are read here. */
struct tables {
	struct exchange *exchange;
	exchange_item_fn each;
	void *arg;
	bool is_said; /* a refusal has its words already */
};

/* A '/' in a key must not look like two keys, nor a key "#" like an element: both become a byte
 * that no host has. */
static bool tables_path(const struct toml_value *value, char out[EXCHANGE_PATH_MAX])
{
	size_t used = 0;

	for (size_t i = 0; i < value->depth; i++) {
		const char *key = value->keys[i] ? value->keys[i] : "#";
		size_t len = strlen(key);

		if (used + len + 2 > EXCHANGE_PATH_MAX)
			return false;
		if (i > 0)
			out[used++] = '/';
		for (size_t j = 0; j < len; j++)
			out[used++] = key[j] == '/' || (key[j] == '#' && value->keys[i]) ? '\x01'
											 : key[j];
	}
	out[used] = '\0';
	return true;
}

static int tables_value(const struct toml_value *value, void *arg)
{
	struct tables *tables = arg;
	uint32_t line = (uint32_t)value->line;
	char path[EXCHANGE_PATH_MAX];

	tables->is_said = true;
	if (memchr(value->text, '\0', value->len))
		return exchange_refuse(tables->exchange, line, "a NUL byte");
	if (!tables_path(value, path))
		return exchange_refuse(tables->exchange, line, "nested too deep");
	auto_free char *text = mem_strndup(value->text, value->len);
	const char *slash = strrchr(path, '/');
	struct exchange_item item = { path, slash ? slash + 1 : path, text, value->is_string,
				      line };
	int r = tables->each(tables->exchange, &item, tables->arg);

	tables->is_said = r < 0;
	return r;
}

int toml_tables_read(struct exchange *exchange, const char *text, size_t len, exchange_item_fn each,
		     void *arg)
{
	struct tables tables = { .exchange = exchange, .each = each, .arg = arg };
	struct err why = { 0 };
	size_t line = 0;
	int r = toml_read(text, len, tables_value, &tables, &line, &why);

	if (r < 0 && !tables.is_said)
		return exchange_refuse(exchange, (uint32_t)line, "%s", why.text);
	return r;
}
