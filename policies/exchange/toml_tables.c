#include <string.h>

#include "base/mem.h"
#include "policies/exchange/exchange_impl.h"

static int toml_refuse(const struct flow *flow, const char *words)
{
	return exchange_refuse(flow->exchange, flow->line, "%s", words);
}

static int toml_peek(const struct flow *flow)
{
	return flow->at < flow->len ? (unsigned char)flow->text[flow->at] : -1;
}

static void toml_blanks(struct flow *flow)
{
	while (toml_peek(flow) == ' ' || toml_peek(flow) == '\t')
		flow->at++;
}

/* a."b.c".d, up to @end. A bare part ends at its dot. */
static int toml_key(struct flow *flow, char end)
{
	for (;;) {
		toml_blanks(flow);
		int r = 0;

		if (toml_peek(flow) == '"' || toml_peek(flow) == '\'') {
			r = flow_scalar(flow);
		} else {
			size_t start = flow->at, len;

			while (toml_peek(flow) > ' ' && !strchr(".=]\"'#[", toml_peek(flow)))
				flow->at++;
			len = flow->at - start;
			if (len == 0 || len >= sizeof(flow->value))
				return toml_refuse(flow, "not a key");
			memcpy(flow->value, flow->text + start, len);
			flow->value[len] = '\0';
		}
		if (r == 0)
			r = flow_push(flow, flow->value);
		toml_blanks(flow);
		if (r < 0 || toml_peek(flow) == end)
			return r;
		if (toml_peek(flow) != '.')
			return toml_refuse(flow, "not a key");
		flow->at++;
	}
}

/* [table] or [[table]]; what stands behind it is below. */
static int toml_header(struct flow *flow)
{
	bool is_list = flow->at + 1 < flow->len && flow->text[flow->at + 1] == '[';

	flow->path_len = 0;
	flow->path[0] = '\0';
	flow->depth = 0;
	flow->at += is_list ? 2 : 1;
	int r = toml_key(flow, ']');

	flow->at += is_list ? 2 : 1;
	if (r == 0 && (flow->at > flow->len || flow->text[flow->at - 1] != ']'))
		r = toml_refuse(flow, "an unclosed bracket");
	return r == 0 && is_list ? flow_push(flow, "#") : r;
}

static int toml_pair(struct flow *flow)
{
	size_t path_len = flow->path_len;
	unsigned int depth = flow->depth;
	int r = toml_key(flow, '=');

	flow->at++;
	if (r == 0)
		r = flow_value(flow);
	if (r < 0)
		return r;
	flow->path_len = path_len;
	flow->path[path_len] = '\0';
	flow->depth = depth;
	return 0;
}

int toml_tables_read(struct exchange *exchange, const char *text, size_t len, exchange_item_fn each,
		     void *arg)
{
	auto_free struct flow *flow = mem_new(sizeof(*flow));

	*flow = (struct flow){ .exchange = exchange,
			       .text = text,
			       .len = len,
			       .line = 1,
			       .equals = '=',
			       .each = each,
			       .arg = arg };
	for (flow_skip(flow); flow->at < flow->len; flow_skip(flow)) {
		uint32_t line;
		int r = toml_peek(flow) == '[' ? toml_header(flow) : toml_pair(flow);

		if (r < 0)
			return r;
		line = flow->line;
		flow_skip(flow);
		if (flow->at < flow->len && flow->line == line)
			return toml_refuse(flow, "something behind the value");
	}
	return 0;
}
