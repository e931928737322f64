#include "base/err.h"
#include "base/toml.h"
#include "policies/exchange/exchange_impl.h"

/* Turns keys into a path, as for every format that is read here. */
struct tables {
	struct walk walk;
	bool is_said; /* a refusal has its message already */
};

static int tables_value(const struct toml_value *value, void *arg)
{
	struct tables *tables = arg;
	uint32_t line = (uint32_t)value->line;
	int r = 0;

	tables->walk.path_len = tables->walk.depth = 0;
	for (size_t i = 0; r == 0 && i < value->depth; i++)
		r = walk_push(&tables->walk, line, value->keys[i]);
	if (r == 0)
		r = walk_value(&tables->walk, line, value->text, value->len, value->is_string);
	tables->is_said = r < 0;
	return r;
}

int toml_tables_read(struct exchange *exchange, const char *text, size_t len, exchange_item_fn each,
		     void *arg)
{
	struct tables tables = { .walk = { .exchange = exchange, .each = each, .arg = arg } };
	struct err why = { 0 };
	size_t line = 0;
	int r = toml_read(text, len, tables_value, &tables, &line, &why);

	if (r < 0 && !tables.is_said)
		return exchange_refuse(exchange, (uint32_t)line, "%s", why.text);
	return r;
}
