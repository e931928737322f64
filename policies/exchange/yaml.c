#include <string.h>

#include "base/mem.h"
#include "policies/exchange/exchange_impl.h"

/* The YAML that people write: mappings and lists by indentation, plain and quoted scalars, lists in
 * brackets, blocks of lines after | and >. Anchors, aliases, tags, and scalars over several lines
 * are refused. */
struct yaml_level {
	size_t indent;
	size_t path_len; /* before its part */
	bool is_dash;
};

struct yaml {
	struct flow flow;
	struct yaml_level levels[EXCHANGE_DEPTH_MAX];
	size_t level_count;
	size_t block_indent; /* lines further in belong to a | or > */
	bool is_block;
};

static int yaml_refuse(const struct yaml *yaml, const char *words)
{
	return exchange_refuse(yaml->flow.exchange, yaml->flow.line, "%s", words);
}

static void yaml_pop(struct yaml *yaml)
{
	flow_pop(&yaml->flow, yaml->levels[--yaml->level_count].path_len);
}

static int yaml_push(struct yaml *yaml, size_t indent, const char *part, bool is_dash)
{
	if (yaml->level_count == EXCHANGE_DEPTH_MAX)
		return yaml_refuse(yaml, "nested too deep");
	yaml->levels[yaml->level_count++] =
		(struct yaml_level){ indent, yaml->flow.path_len, is_dash };
	return flow_push(&yaml->flow, part);
}

/* Without a comment behind it and the blanks before that. */
static size_t yaml_trim(const char *line, size_t len)
{
	char quote = '\0';

	for (size_t i = 0; i < len; i++) {
		if (quote) {
			quote = line[i] == quote ? '\0' : quote;
		} else if ((line[i] == '"' || line[i] == '\'') &&
			   (i == 0 || strchr(" [,:", line[i - 1]))) {
			quote = line[i];
		} else if (line[i] == '#' && (i == 0 || line[i - 1] == ' ')) {
			len = i;
		}
	}
	while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\r'))
		len--;
	return len;
}

static int yaml_plain(struct yaml *yaml, const char *text, size_t len)
{
	if (len >= sizeof(yaml->flow.value))
		return yaml_refuse(yaml, "a value of more than 2047 bytes");
	if (memchr(text, '\0', len))
		return yaml_refuse(yaml, "a NUL byte");
	memcpy(yaml->flow.value, text, len);
	yaml->flow.value[len] = '\0';
	yaml->flow.is_text = true;
	return flow_emit(&yaml->flow);
}

static int yaml_value(struct yaml *yaml, const char *text, size_t len, size_t indent)
{
	struct flow *flow = &yaml->flow;

	if (text[0] == '|' || text[0] == '>') {
		yaml->is_block = true;
		yaml->block_indent = indent;
		return 0;
	}
	if (strchr("&*!@`%", text[0]))
		return yaml_refuse(yaml, "an anchor, an alias or a tag");
	if (!strchr("\"'[{", text[0]))
		return yaml_plain(yaml, text, len);
	flow->text = text;
	flow->len = len;
	flow->at = 0;
	int r = flow_value(flow);

	flow_skip(flow);
	if (r == 0 && flow->at < len)
		r = yaml_refuse(yaml, "something behind the value");
	return r;
}

/* Where "key:" ends, or 0: it is no key. */
static size_t yaml_colon(const char *text, size_t len)
{
	for (size_t i = 1; i < len; i++) {
		if (text[i] == ':' && (i + 1 == len || text[i + 1] == ' '))
			return i;
	}
	return 0;
}

static int yaml_key(struct yaml *yaml, const char *text, size_t len, size_t indent)
{
	size_t colon = yaml_colon(text, len), key_len = colon;
	bool is_quoted =
		colon >= 2 && (text[0] == '"' || text[0] == '\'') && text[colon - 1] == text[0];

	if (colon == 0 || colon >= 256 || memchr(text, '\0', colon) || strchr("&*!?[{", text[0]))
		return yaml_refuse(yaml, "neither a key nor an element of a list");
	key_len -= is_quoted ? 2 : 0;
	auto_free char *key = mem_strndup(text + (is_quoted ? 1 : 0), key_len);
	int r = yaml_push(yaml, indent, key, false);

	for (colon++; colon < len && text[colon] == ' ';)
		colon++;
	return r == 0 && colon < len ? yaml_value(yaml, text + colon, len - colon, indent) : r;
}

/* One line without its indentation. */
static int yaml_line(struct yaml *yaml, const char *text, size_t len, size_t indent)
{
	for (;;) {
		bool is_dash = text[0] == '-' && (len == 1 || text[1] == ' ');

		/* A list may stand as far in as the key it belongs to. */
		while (yaml->level_count > 0) {
			const struct yaml_level *top = &yaml->levels[yaml->level_count - 1];

			if (top->indent < indent ||
			    (top->indent == indent && is_dash && !top->is_dash))
				break;
			yaml_pop(yaml);
		}
		if (!is_dash)
			break;
		int r = yaml_push(yaml, indent, "#", true);
		size_t step = 1;

		while (step < len && text[step] == ' ')
			step++;
		if (r < 0 || step == len)
			return r;
		text += step;
		len -= step;
		indent += step;
		if (text[0] == '"' || text[0] == '\'' || text[0] == '[' ||
		    (yaml_colon(text, len) == 0 && !(text[0] == '-' && len > 1 && text[1] == ' ')))
			return yaml_value(yaml, text, len, indent - 1);
	}
	return yaml_key(yaml, text, len, indent);
}

static int yaml_take(struct yaml *yaml, const char *line, size_t len)
{
	size_t indent = 0;

	while (indent < len && line[indent] == ' ')
		indent++;
	if (yaml->is_block && (indent > yaml->block_indent || indent == len))
		return indent == len ? 0 : yaml_plain(yaml, line + indent, len - indent);
	yaml->is_block = false;
	len = yaml_trim(line, len);
	if (indent >= len || (len == 3 && memcmp(line, "---", 3) == 0))
		return 0;
	if (line[indent] == '\t')
		return yaml_refuse(yaml, "a tab in the indentation");
	return yaml_line(yaml, line + indent, len - indent, indent);
}

int yaml_read(struct exchange *exchange, const char *text, size_t len, exchange_item_fn each,
	      void *arg)
{
	auto_free struct yaml *yaml = mem_new(sizeof(*yaml));
	uint32_t number = 0;

	yaml->flow = (struct flow){ .exchange = exchange, .each = each, .arg = arg };
	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t line_len = end ? (size_t)(end - text) - at : len - at;

		yaml->flow.line = ++number;
		int r = yaml_take(yaml, text + at, line_len);

		if (r < 0)
			return r;
		at += line_len + 1;
	}
	return 0;
}
