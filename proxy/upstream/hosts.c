#include "proxy/upstream/hosts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct hosts_entry {
	const char *name; /* points into the text, so comparing pointers gives the file's order */
	struct addr addr;
};

struct hosts {
	char *text;
	bool is_indexed;
	struct hosts_entry *entries; /* sorted by name, then by position */
	size_t count, room;
};

struct hosts *hosts_new(char *text)
{
	struct hosts *hosts = mem_new(sizeof(*hosts));

	hosts->text = text;
	return hosts;
}

void hosts_free(struct hosts *hosts)
{
	if (!hosts)
		return;
	free(hosts->entries);
	free(hosts->text);
	free(hosts);
}

static void add_entry(struct hosts *hosts, char *name, const struct addr *addr)
{
	size_t len = strlen(name);

	if (len > 1 && name[len - 1] == '.')
		name[len - 1] = '\0';
	for (char *c = name; *c; c++)
		*c = *c >= 'A' && *c <= 'Z' ? (char)(*c | 0x20) : *c;
	if (hosts->count == hosts->room) {
		hosts->room = hosts->room ? hosts->room * 2 : 16;
		hosts->entries = mem_grow(hosts->entries, hosts->room, sizeof(*hosts->entries));
	}
	hosts->entries[hosts->count++] = (struct hosts_entry){ .name = name, .addr = *addr };
}

static void add_line(struct hosts *hosts, char *line)
{
	struct addr addr = { 0 };
	char *rest = line;

	line[strcspn(line, "#")] = '\0';
	for (char *word; (word = strsep(&rest, " \t\r\f\v"));) {
		if (!*word)
			continue;
		/* The first word is the address; a link-local address with a zone is skipped. */
		if (addr.family) {
			add_entry(hosts, word, &addr);
			continue;
		}
		if (addr_parse(word, strlen(word), &addr) < 0)
			return;
	}
}

static int compare(const void *left, const void *right)
{
	const struct hosts_entry *l = left, *r = right;
	int order = strcmp(l->name, r->name);

	return order ? order : (l->name > r->name) - (l->name < r->name);
}

static void build_index(struct hosts *hosts)
{
	char *rest = hosts->text;

	for (char *line; (line = strsep(&rest, "\n"));)
		add_line(hosts, line);
	if (hosts->count > 1)
		qsort(hosts->entries, hosts->count, sizeof(*hosts->entries), compare);
	hosts->is_indexed = true;
}

size_t hosts_find(struct hosts *hosts, const char *name, struct addr *ret, size_t max)
{
	size_t low = 0, found = 0;

	if (!hosts->is_indexed)
		build_index(hosts);
	for (size_t high = hosts->count; low < high;) {
		size_t middle = low + (high - low) / 2;
		if (strcmp(hosts->entries[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < hosts->count && strcmp(hosts->entries[low].name, name) == 0; low++) {
		if (found < max)
			ret[found++] = hosts->entries[low].addr;
	}
	return found;
}
