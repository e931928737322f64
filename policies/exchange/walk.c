#include <string.h>

#include "base/mem.h"
#include "policies/exchange/exchange_impl.h"

int walk_push(struct walk *walk, uint32_t line, const char *key)
{
	const char *part = key ? key : "#";
	size_t len = strlen(part);

	if (walk->path_len + len + 2 > sizeof(walk->path) || walk->depth >= EXCHANGE_DEPTH_MAX)
		return exchange_refuse(walk->exchange, line, "the values are nested too deeply");
	if (walk->depth++ > 0)
		walk->path[walk->path_len++] = '/';
	for (; *part; part++)
		walk->path[walk->path_len++] =
			*part == '/' || (*part == '#' && key) ? '\x01' : *part;
	walk->path[walk->path_len] = '\0';
	return 0;
}

void walk_pop(struct walk *walk, size_t path_len)
{
	walk->path_len = path_len;
	walk->path[path_len] = '\0';
	walk->depth--;
}

int walk_value(struct walk *walk, uint32_t line, const char *text, size_t len, bool is_text)
{
	const char *slash = strrchr(walk->path, '/');

	if (memchr(text, '\0', len))
		return exchange_refuse(walk->exchange, line, "the value has a NUL byte");
	auto_free char *value = mem_strndup(text, len);
	struct exchange_item item = { walk->path, slash ? slash + 1 : walk->path, value, is_text,
				      line };

	return walk->each(walk->exchange, &item, walk->arg);
}
