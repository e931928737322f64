#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "policies/exchange/exchange_impl.h"

static int flow_refuse(const struct flow *flow, const char *words)
{
	return exchange_refuse(flow->exchange, flow->line, "%s", words);
}

static int flow_peek(const struct flow *flow)
{
	return flow->at < flow->len ? (unsigned char)flow->text[flow->at] : -1;
}

void flow_skip(struct flow *flow)
{
	for (int c = flow_peek(flow); c >= 0; c = flow_peek(flow)) {
		if (c == '#' && !flow->is_strict) {
			while (flow_peek(flow) >= 0 && flow_peek(flow) != '\n')
				flow->at++;
			continue;
		}
		if (c != ' ' && c != '\t' && c != '\r' && c != '\n')
			return;
		flow->line += c == '\n';
		flow->at++;
	}
}

/* A '/' in a key must not look like two keys: it becomes a byte that no host has. */
int flow_push(struct flow *flow, const char *part)
{
	size_t len = strlen(part);

	if (flow->path_len + len + 2 > sizeof(flow->path) || flow->depth >= EXCHANGE_DEPTH_MAX)
		return flow_refuse(flow, "nested too deep");
	if (flow->path_len > 0)
		flow->path[flow->path_len++] = '/';
	for (size_t i = 0; i < len; i++)
		flow->path[flow->path_len++] = part[i] == '/' ? '\x01' : part[i];
	flow->path[flow->path_len] = '\0';
	flow->depth++;
	return 0;
}

void flow_pop(struct flow *flow, size_t path_len)
{
	flow->path_len = path_len;
	flow->path[path_len] = '\0';
	flow->depth--;
}

int flow_emit(struct flow *flow)
{
	const char *slash = strrchr(flow->path, '/');
	struct exchange_item item = { flow->path, slash ? slash + 1 : flow->path, flow->value,
				      flow->is_text, flow->line };

	return flow->each(flow->exchange, &item, flow->arg);
}

static int flow_put(struct flow *flow, size_t *used, unsigned int c)
{
	if (*used + 1 >= sizeof(flow->value))
		return flow_refuse(flow, "a value of more than 2047 bytes");
	if (c == 0)
		return flow_refuse(flow, "a NUL byte");
	flow->value[(*used)++] = (char)c;
	flow->value[*used] = '\0';
	return 0;
}

/* Behind the backslash. Only ASCII by number: a host in other letters is written in them. */
static int flow_escape(struct flow *flow, size_t *used)
{
	static const char from[] = "\"\\/bfnrt'", to[] = "\"\\/\b\f\n\r\t'";
	int c = flow_peek(flow);
	const char *known = c > 0 ? strchr(from, c) : NULL;
	unsigned int value = 0;

	flow->at++;
	if (known)
		return flow_put(flow, used, (unsigned char)to[known - from]);
	if (c != 'u' || flow->len - flow->at < 4)
		return flow_refuse(flow, "an unknown escape");
	for (size_t i = 0; i < 4; i++, flow->at++) {
		static const char digits[] = "0123456789abcdef0123456789ABCDEF";
		const char *digit = memchr(digits, flow->text[flow->at], sizeof(digits) - 1);

		if (!digit)
			return flow_refuse(flow, "an unknown escape");
		value = value << 4 | (unsigned int)((digit - digits) & 15);
	}
	if (value < 0x80)
		return flow_put(flow, used, value);
	return flow_refuse(flow, "an escape outside ASCII");
}

/* """text""" and '''text''' of Starlark: no value that we read is written so. */
static int flow_long_string(struct flow *flow, int quote)
{
	for (flow->at += 3; flow->at + 2 < flow->len; flow->at++) {
		const char *at = flow->text + flow->at;

		if (at[0] == quote && at[1] == quote && at[2] == quote) {
			flow->at += 3;
			return 0;
		}
		flow->line += at[0] == '\n';
		flow->at += at[0] == '\\' && quote == '"' && at[1] != '\n';
	}
	return flow_refuse(flow, "an unterminated string");
}

static int flow_string(struct flow *flow, int quote)
{
	size_t used = 0;
	int r = 0;

	flow->is_text = true;
	flow->value[0] = '\0';
	if (!flow->is_strict && flow->len - flow->at >= 3 && flow->text[flow->at + 1] == quote &&
	    flow->text[flow->at + 2] == quote)
		return flow_long_string(flow, quote);
	for (flow->at++; r == 0;) {
		int c = flow_peek(flow);

		if (c < 0 || c == '\n')
			return flow_refuse(flow, "an unterminated string");
		flow->at++;
		if (c == quote)
			return 0;
		/* YAML has no escapes in single quotes; Starlark does: refused above. */
		r = c == '\\' && quote == '"' ? flow_escape(flow, &used)
					      : flow_put(flow, &used, (unsigned int)c);
	}
	return r;
}

/* A bare word or a string, into flow->value. */
static int flow_scalar(struct flow *flow)
{
	static const char bare[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+.-";
	int c = flow_peek(flow);
	size_t used = 0;

	if (c == '"' || (c == '\'' && !flow->is_strict))
		return flow_string(flow, c);
	flow->is_text = false;
	flow->value[0] = '\0';
	while (c > 0 && strchr(bare, c)) {
		int r = flow_put(flow, &used, (unsigned int)c);

		if (r < 0)
			return r;
		flow->at++;
		c = flow_peek(flow);
	}
	return used > 0 ? 0 : flow_refuse(flow, "something that is not read here");
}

/* "key: value" or a value of a list. */
static int flow_member(struct flow *flow, bool is_table)
{
	size_t path_len = flow->path_len;
	int r = is_table ? flow_scalar(flow) : flow_push(flow, "#");

	if (r == 0 && is_table) {
		r = flow_push(flow, flow->value);
		flow_skip(flow);
		if (r == 0 && flow_peek(flow) != ':')
			r = flow_refuse(flow, "a key without a value");
		flow->at++;
	}
	if (r == 0)
		r = flow_value(flow);
	if (r == 0)
		flow_pop(flow, path_len);
	return r;
}

static int flow_members(struct flow *flow, int close)
{
	bool is_table = close == '}', is_first = true;

	for (flow->at++;; is_first = false) {
		flow_skip(flow);
		if (flow_peek(flow) == close && (is_first || !flow->is_strict)) {
			flow->at++;
			return 0;
		}
		int r = flow_member(flow, is_table);

		if (r < 0)
			return r;
		flow_skip(flow);
		if (flow_peek(flow) == ',') {
			flow->at++;
			continue;
		}
		if (flow_peek(flow) != close)
			return flow_refuse(flow, "a comma or a closing bracket is missing");
		flow->at++;
		return 0;
	}
}

int flow_value(struct flow *flow)
{
	flow_skip(flow);
	int c = flow_peek(flow);

	if (c == '[' || c == '{')
		return flow_members(flow, c == '[' ? ']' : '}');
	int r = flow_scalar(flow);

	return r < 0 ? r : flow_emit(flow);
}

int flow_json(struct exchange *exchange, const char *text, size_t len, exchange_item_fn each,
	      void *arg)
{
	auto_free struct flow *flow = mem_new(sizeof(*flow));

	*flow = (struct flow){ .exchange = exchange,
			       .text = text,
			       .len = len,
			       .line = 1,
			       .is_strict = true,
			       .each = each,
			       .arg = arg };
	flow_skip(flow);
	if (flow_peek(flow) != '{')
		return flow_refuse(flow, "not a JSON object");
	int r = flow_value(flow);

	flow_skip(flow);
	if (r == 0 && flow->at < flow->len)
		r = flow_refuse(flow, "something behind the end");
	return r;
}
