#include "gateway/bundle/bundle.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "gateway/bundle/bundle_impl.h"

/* Keeps text that is visible already, so that its backslashes stay single. Returned owned. */
static char *own_text(const char *text)
{
	char cut[BUNDLE_TEXT_MAX];
	const char *at = text ? text : "";

	for (; *at >= 0x20 && *at < 0x7f; at++)
		;
	if (*at != '\0')
		(void)text_visible(cut, sizeof(cut), text, strlen(text));
	return mem_strndup(*at != '\0' ? cut : text ? text : "", BUNDLE_TEXT_MAX - 1);
}

struct bundle *bundle_new(void)
{
	return mem_new(sizeof(struct bundle));
}

static void entry_free(struct bundle_entry *entry)
{
	char *texts[] = { entry->rule, entry->because, entry->program, entry->chain, entry->plea };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(texts[i]);
	for (size_t i = 0; i < BUNDLE_COMMANDS_MAX; i++)
		free(entry->commands[i]);
	free(entry);
}

void bundle_free(struct bundle *bundle)
{
	if (!bundle)
		return;
	for (size_t i = 0; i < bundle->count; i++)
		entry_free(bundle->entries[i]);
	for (size_t i = 0; i < bundle->source_count; i++) {
		free(bundle->sources[i].run);
		free(bundle->sources[i].session);
	}
	free(bundle->entries);
	free(bundle->sources);
	free(bundle);
}

/* Finds the index of @text, or the index to insert it at; true: it was found. */
static bool bundle_place(const struct bundle *bundle, const char *text, size_t *ret_place)
{
	size_t low = 0, high = bundle->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(bundle->entries[middle]->text, text);

		if (order == 0) {
			*ret_place = middle;
			return true;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_place = low;
	return false;
}

static struct bundle_entry *bundle_insert(struct bundle *bundle, size_t place,
					  const struct bundle_request *request)
{
	struct bundle_entry *entry = mem_new(sizeof(*entry));

	if (bundle->count == bundle->room) {
		bundle->room = bundle->room > 0 ? bundle->room * 2 : 16;
		bundle->entries =
			mem_grow(bundle->entries, bundle->room, sizeof(struct bundle_entry *));
	}
	memmove(bundle->entries + place + 1, bundle->entries + place,
		(bundle->count - place) * sizeof(struct bundle_entry *));
	bundle->entries[place] = entry;
	bundle->count++;
	entry->look.dst = request->dst;
	(void)policy_destination_text(&request->dst, entry->text);
	entry->look.first_s = request->first_s;
	entry->look.last_s = request->last_s;
	entry->rule = own_text(request->rule);
	entry->because = own_text(request->because);
	return entry;
}

/* Keeps the first text that is not empty. */
static void entry_fill(char **place, const char *text)
{
	if (*place && ((*place)[0] != '\0' || !text || text[0] == '\0'))
		return;
	free(*place);
	*place = own_text(text);
}

static void entry_add_command(struct bundle_entry *entry, const char *command)
{
	auto_free char *ours = own_text(command);

	for (size_t i = 0; i < BUNDLE_COMMANDS_MAX; i++) {
		if (entry->commands[i] && strcmp(entry->commands[i], ours) != 0)
			continue;
		if (!entry->commands[i])
			entry->commands[i] = take(ours);
		return;
	}
}

/* Sets the pointers that callers see. */
static void entry_show(struct bundle_entry *entry)
{
	entry->look.rule = entry->rule;
	entry->look.because = entry->because;
	entry->look.program = entry->program;
	entry->look.chain = entry->chain;
	entry->look.plea = entry->plea;
	for (size_t i = 0; i < BUNDLE_COMMANDS_MAX; i++)
		entry->look.commands[i] = entry->commands[i];
}

static uint64_t add_up(uint64_t left, uint64_t right)
{
	return left > BUNDLE_NUMBER_MAX - right ? BUNDLE_NUMBER_MAX : left + right;
}

void bundle_note(struct bundle *bundle, const struct bundle_request *request)
{
	char text[POLICY_DESTINATION_TEXT_MAX];
	size_t place;
	bool is_known = bundle_place(bundle, policy_destination_text(&request->dst, text), &place);

	if (!is_known && bundle->count == BUNDLE_KEYS_MAX) {
		bundle->others = add_up(bundle->others, request->count);
		return;
	}
	struct bundle_entry *entry =
		is_known ? bundle->entries[place] : bundle_insert(bundle, place, request);

	entry->look.count = add_up(entry->look.count, request->count);
	entry->look.runs = add_up(entry->look.runs, request->runs);
	if (request->first_s < entry->look.first_s)
		entry->look.first_s = request->first_s;
	if (request->last_s > entry->look.last_s)
		entry->look.last_s = request->last_s;
	entry_fill(&entry->program, request->program);
	entry_fill(&entry->chain, request->chain);
	entry_fill(&entry->plea, request->plea);
	for (size_t i = 0; i < BUNDLE_COMMANDS_MAX && request->commands[i]; i++)
		entry_add_command(entry, request->commands[i]);
	entry_show(entry);
}

bool bundle_has(const struct bundle *bundle, const struct policy_destination *dst)
{
	char text[POLICY_DESTINATION_TEXT_MAX];
	size_t place;

	return bundle_place(bundle, policy_destination_text(dst, text), &place);
}

void bundle_add_source(struct bundle *bundle, const struct bundle_source *source)
{
	bundle->runs = add_up(bundle->runs, 1);
	if (bundle->source_count == BUNDLE_SOURCES_MAX)
		return;
	bundle->sources =
		mem_grow(bundle->sources, bundle->source_count + 1, sizeof(*bundle->sources));
	struct bundle_origin *origin = &bundle->sources[bundle->source_count++];

	*origin = (struct bundle_origin){
		.run = own_text(source->run),
		.session = own_text(source->session),
		.at_s = source->at_s,
	};
	memcpy(origin->key, source->key, sizeof(origin->key));
}

const struct bundle_request *bundle_look(const struct bundle *bundle, size_t index)
{
	return index < bundle->count ? &bundle->entries[index]->look : NULL;
}

size_t bundle_count(const struct bundle *bundle)
{
	return bundle->count;
}

uint64_t bundle_others(const struct bundle *bundle)
{
	return bundle->others;
}

uint64_t bundle_runs(const struct bundle *bundle)
{
	return bundle->runs;
}

void bundle_merge(struct bundle *into, const struct bundle *from)
{
	uint64_t runs = add_up(into->runs, from->runs);

	for (size_t i = 0; i < from->count; i++)
		bundle_note(into, &from->entries[i]->look);
	for (size_t i = 0; i < from->source_count; i++) {
		const struct bundle_origin *origin = &from->sources[i];
		struct bundle_source source = { origin->run, origin->session, origin->at_s, { 0 } };

		memcpy(source.key, origin->key, sizeof(source.key));
		bundle_add_source(into, &source);
	}
	into->runs = runs; /* includes runs that had no room */
	into->others = add_up(into->others, from->others);
}
