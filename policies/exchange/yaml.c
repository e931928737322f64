#include <string.h>
#include <yaml.h>

#include "base/mem.h"
#include "policies/exchange/exchange_impl.h"

/* libyaml parses the syntax. Anything that can repeat or hide a part is refused: anchors, aliases,
 * merged mappings, tags, duplicate keys, a second document. */
#define YAML_KEYS_MAX 1024 /* of the open mappings */

#define auto_event __attribute__((cleanup(yaml_event_delete)))

struct yaml {
	struct walk walk;
	yaml_parser_t parser;
	char *keys[YAML_KEYS_MAX]; /* of the open mappings, the outermost first */
	size_t key_count;
};

static uint32_t yaml_line(const yaml_event_t *event)
{
	return (uint32_t)event->start_mark.line + 1;
}

static int yaml_refuse(const struct yaml *yaml, const yaml_mark_t *at, const char *words)
{
	return exchange_refuse(yaml->walk.exchange, (uint32_t)at->line + 1, "column %zu: %s",
			       at->column + 1, words);
}

/* An error in the encoding has no mark, but an offset. */
static int yaml_next(struct yaml *yaml, yaml_event_t *ret)
{
	const yaml_parser_t *parser = &yaml->parser;

	if (yaml_parser_parse(&yaml->parser, ret))
		return 0;
	if (parser->error == YAML_READER_ERROR)
		return exchange_refuse(yaml->walk.exchange, 0, "byte %zu: %s",
				       parser->problem_offset + 1, parser->problem);
	return yaml_refuse(yaml, &parser->problem_mark,
			   parser->problem ? parser->problem : "out of memory");
}

/* Scalars, lists and mappings begin with these two members. */
static bool yaml_is_marked(const yaml_event_t *event)
{
	return event->data.scalar.anchor || event->data.scalar.tag;
}

static int yaml_node(struct yaml *yaml, const yaml_event_t *event);

static int yaml_list(struct yaml *yaml)
{
	size_t path_len = yaml->walk.path_len;

	for (;;) {
		auto_event yaml_event_t event;
		int r = yaml_next(yaml, &event);

		if (r < 0 || event.type == YAML_SEQUENCE_END_EVENT)
			return r;
		r = walk_push(&yaml->walk, yaml_line(&event), NULL);
		if (r == 0)
			r = yaml_node(yaml, &event);
		if (r < 0)
			return r;
		walk_pop(&yaml->walk, path_len);
	}
}

/* @first: index of the first key of this mapping. */
static int yaml_key(struct yaml *yaml, const yaml_event_t *event, size_t first)
{
	const char *key = (const char *)event->data.scalar.value;

	if (event->type != YAML_SCALAR_EVENT || yaml_is_marked(event) ||
	    strlen(key) != event->data.scalar.length)
		return yaml_refuse(yaml, &event->start_mark, "the key is not plain text");
	if (strcmp(key, "<<") == 0 && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		return yaml_refuse(yaml, &event->start_mark,
				   "merged mappings are not supported; write the keys out");
	for (size_t i = first; i < yaml->key_count; i++) {
		if (strcmp(yaml->keys[i], key) == 0)
			return yaml_refuse(yaml, &event->start_mark,
					   "this key is there twice; remove one of the two");
	}
	if (yaml->key_count == YAML_KEYS_MAX)
		return yaml_refuse(yaml, &event->start_mark, "the mapping has more than 1024 keys");
	yaml->keys[yaml->key_count++] = mem_strdup(key);
	return walk_push(&yaml->walk, yaml_line(event), key);
}

static void yaml_forget(struct yaml *yaml, size_t first)
{
	while (yaml->key_count > first)
		free(yaml->keys[--yaml->key_count]);
}

static int yaml_mapping(struct yaml *yaml)
{
	size_t path_len = yaml->walk.path_len, first = yaml->key_count;

	for (;;) {
		auto_event yaml_event_t key, value = { 0 };
		int r = yaml_next(yaml, &key);

		if (r < 0 || key.type == YAML_MAPPING_END_EVENT) {
			yaml_forget(yaml, first);
			return r;
		}
		r = yaml_key(yaml, &key, first);
		if (r == 0)
			r = yaml_next(yaml, &value);
		if (r == 0)
			r = yaml_node(yaml, &value);
		if (r < 0)
			return r;
		walk_pop(&yaml->walk, path_len);
	}
}

/* The depth is limited by that of a path. */
static int yaml_node(struct yaml *yaml, const yaml_event_t *event)
{
	yaml_scalar_style_t style = event->data.scalar.style;
	/* After | and > the text begins on the next line. */
	uint32_t line = yaml_line(event) +
			(style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE);

	if (event->type == YAML_ALIAS_EVENT || yaml_is_marked(event))
		return yaml_refuse(
			yaml, &event->start_mark,
			"anchors, aliases and tags are not supported; write the value out");
	if (event->type == YAML_SEQUENCE_START_EVENT)
		return yaml_list(yaml);
	if (event->type == YAML_MAPPING_START_EVENT)
		return yaml_mapping(yaml);
	if (style == YAML_PLAIN_SCALAR_STYLE && event->data.scalar.length == 0)
		return 0; /* a key without a value */
	return walk_value(&yaml->walk, line, (const char *)event->data.scalar.value,
			  event->data.scalar.length, style != YAML_PLAIN_SCALAR_STYLE);
}

static int yaml_stream(struct yaml *yaml)
{
	bool has_document = false;

	for (;;) {
		auto_event yaml_event_t event;
		int r = yaml_next(yaml, &event);

		if (r < 0 || event.type == YAML_STREAM_END_EVENT)
			return r;
		if (event.type == YAML_MAPPING_START_EVENT)
			r = yaml_node(yaml, &event);
		else if (event.type == YAML_DOCUMENT_START_EVENT && has_document)
			r = yaml_refuse(yaml, &event.start_mark,
					"there is a second document; remove it");
		else if (event.type == YAML_DOCUMENT_START_EVENT)
			has_document = true;
		else if (event.type != YAML_STREAM_START_EVENT &&
			 event.type != YAML_DOCUMENT_END_EVENT)
			r = yaml_refuse(yaml, &event.start_mark,
					"this is not a mapping of keys to values");
		if (r < 0)
			return r;
	}
}

int yaml_read(struct exchange *exchange, const char *text, size_t len, exchange_item_fn each,
	      void *arg)
{
	auto_free struct yaml *yaml = mem_new(sizeof(*yaml));

	yaml->walk = (struct walk){ .exchange = exchange, .each = each, .arg = arg };
	if (!yaml_parser_initialize(&yaml->parser))
		return exchange_refuse(exchange, 0, "out of memory");
	yaml_parser_set_input_string(&yaml->parser, (const unsigned char *)text, len);
	int r = yaml_stream(yaml);

	yaml_forget(yaml, 0);
	yaml_parser_delete(&yaml->parser);
	return r;
}
