#include "policies/engine/image_impl.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/commands/commands.h"
#include "policies/language/command_line_impl.h"

/* An image that is being checked. */
struct image_view {
	const struct image_header *header;
	const char *bytes, *text, *names;
	const struct image_source *sources;
	uint64_t counts[IMAGE_SECTIONS];
};

/* In C, reading a bool that is neither 0 nor 1 is undefined behaviour. */
static bool image_is_bool(const void *value)
{
	unsigned char byte;

	memcpy(&byte, value, 1);
	return byte <= 1;
}

static bool image_is_range(uint64_t first, uint64_t count, uint64_t room)
{
	return first <= room && count <= room - first;
}

static bool image_sections(struct image_view *view)
{
	const struct image_header *header = view->header;

	for (size_t i = 0; i < IMAGE_SECTIONS; i++) {
		uint64_t at = header->sections[i].at, count = header->sections[i].count;

		if (at % IMAGE_ALIGN != 0 || at > header->len ||
		    count > (header->len - at) / image_sizes[i] || count >= RULE_NONE)
			return false;
		view->counts[i] = count;
	}
	view->text = view->bytes + header->sections[IMAGE_TEXT].at;
	view->names = view->bytes + header->sections[IMAGE_NAMES].at;
	view->sources = (const void *)(view->bytes + header->sections[IMAGE_SOURCES].at);
	return true;
}

static bool image_settled(const struct image_header *header)
{
	return header->has_address_exceptions <= 1 && header->has_only <= 1 &&
	       header->has_set_default <= 1 && header->set_default <= POLICY_ALLOW;
}

/* The section begins and ends with NUL, so every offset is a terminated string. */
static bool image_names(const struct image_view *view)
{
	uint64_t count = view->counts[IMAGE_NAMES];

	return count > 0 && view->names[0] == '\0' && view->names[count - 1] == '\0';
}

static bool image_source(const struct image_view *view, const struct image_source *source)
{
	uint64_t room = view->counts[IMAGE_TEXT];

	return source->name < room && memchr(view->text + source->name, 0, room - source->name) &&
	       image_is_range(source->text, source->len, room) && source->layer <= POLICY_MANAGED &&
	       source->is_changed <= 1 && source->has_default <= 1 &&
	       source->default_action <= POLICY_ALLOW;
}

static bool image_sources(const struct image_view *view)
{
	if (view->counts[IMAGE_SOURCES] > POLICY_SOURCES_MAX)
		return false;
	for (uint64_t i = 0; i < view->counts[IMAGE_SOURCES]; i++) {
		if (!image_source(view, &view->sources[i]))
			return false;
	}
	return true;
}

/* The bytes of a key, or NULL. */
static const char *image_key(const struct image_view *view, const struct pattern *pattern)
{
	if (pattern->key_source > view->counts[IMAGE_SOURCES])
		return NULL;
	if (pattern->key_source == 0)
		return image_is_range(pattern->key, pattern->key_len, view->counts[IMAGE_NAMES])
			       ? view->names + pattern->key
			       : NULL;
	const struct image_source *source = &view->sources[pattern->key_source - 1];

	return image_is_range(pattern->key, pattern->key_len, source->len)
		       ? view->text + source->text + pattern->key
		       : NULL;
}

static bool image_pattern(const struct image_view *view, const struct pattern *pattern)
{
	const char *key = image_key(view, pattern);

	if (!key || !image_is_bool(&pattern->has_ports) || pattern->kind > PATTERN_BLOCK ||
	    pattern->protocol > POLICY_UDP ||
	    !image_is_range(pattern->ports, pattern->port_count, view->counts[IMAGE_PORTS]))
		return false;
	if (pattern->kind != PATTERN_BLOCK)
		return true;
	return pattern->key_len == PATTERN_BLOCK_KEY && key[0] == '\0' &&
	       ((key[1] == AF_INET && (unsigned char)key[2] <= 32) ||
		(key[1] == AF_INET6 && (unsigned char)key[2] <= 128));
}

static bool image_wide(const struct image_view *view, const struct rule *rule)
{
	if (!image_pattern(view, &rule->pattern) || rule->source >= view->counts[IMAGE_SOURCES])
		return false;
	uint32_t len = view->sources[rule->source].len;

	return image_is_bool(&rule->is_private) && image_is_bool(&rule->is_broad) &&
	       rule->action <= RULE_ONLY && rule->clause_kinds < BIT(CLAUSE_COUNT) &&
	       image_is_range(rule->exceptions, rule->exception_count,
			      view->counts[IMAGE_EXCEPTIONS]) &&
	       image_is_range(rule->clauses, rule->clause_count, view->counts[IMAGE_CLAUSES]) &&
	       image_is_range(rule->line, rule->line_len, len) &&
	       image_is_range(rule->by, rule->by_len, len) &&
	       rule->because < view->counts[IMAGE_NAMES];
}

static bool image_packed(const struct image_view *view, const struct packed_rule *packed)
{
	uint32_t bits = packed->bits, source = bits >> RULE_SOURCE_AT & 255;

	if (bits & RULE_WIDE)
		return bits == RULE_WIDE && packed->place < view->counts[IMAGE_WIDES];
	return source < view->counts[IMAGE_SOURCES] &&
	       image_is_range(packed->key, bits & 255, view->sources[source].len) &&
	       (bits >> RULE_KIND_AT & 7) < PATTERN_BLOCK &&
	       (bits >> RULE_ACTION_AT & 7) <= RULE_ONLY &&
	       (bits >> RULE_PROTOCOL_AT & 7) <= POLICY_UDP && !(bits & RULE_UNUSED);
}

static bool image_rules(const struct image_view *view)
{
	const struct image_header *header = view->header;
	const struct packed_rule *rules =
		(const void *)(view->bytes + header->sections[IMAGE_RULES].at);
	const struct rule *wides = (const void *)(view->bytes + header->sections[IMAGE_WIDES].at);

	for (uint64_t i = 0; i < view->counts[IMAGE_WIDES]; i++) {
		if (!image_wide(view, &wides[i]))
			return false;
	}
	for (uint64_t i = 0; i < view->counts[IMAGE_RULES]; i++) {
		/* Each link goes to a lower number, so every chain ends. */
		if (!image_packed(view, &rules[i]) ||
		    (rules[i].next != RULE_NONE && rules[i].next >= i))
			return false;
	}
	return true;
}

static bool image_parts(const struct image_view *view)
{
	const struct image_header *header = view->header;
	const struct pattern *exceptions =
		(const void *)(view->bytes + header->sections[IMAGE_EXCEPTIONS].at);
	const struct clause *clauses =
		(const void *)(view->bytes + header->sections[IMAGE_CLAUSES].at);
	const struct setting *settings =
		(const void *)(view->bytes + header->sections[IMAGE_SETTINGS].at);

	for (uint64_t i = 0; i < view->counts[IMAGE_EXCEPTIONS]; i++) {
		if (!image_pattern(view, &exceptions[i]))
			return false;
	}
	for (uint64_t i = 0; i < view->counts[IMAGE_CLAUSES]; i++) {
		if (clauses[i].kind >= CLAUSE_COUNT || clauses[i].text >= view->counts[IMAGE_NAMES])
			return false;
	}
	for (uint64_t i = 0; i < view->counts[IMAGE_SETTINGS]; i++) {
		if (settings[i].kind >= SETTING_COUNT ||
		    settings[i].text >= view->counts[IMAGE_NAMES] ||
		    settings[i].source >= view->counts[IMAGE_SOURCES])
			return false;
	}
	/* A narrow rule only has the predefined port lists. */
	return view->counts[IMAGE_PORTS] > POLICY_PORTS_ALL;
}

static bool image_index(const struct image_view *view)
{
	const struct index *index = &view->header->index;
	const struct index_slot *slots =
		(const void *)(view->bytes + view->header->sections[IMAGE_SLOTS].at);
	uint64_t rules = view->counts[IMAGE_RULES], free_slots = 0;

	if (index->rule_count != rules || index->slot_count != view->counts[IMAGE_SLOTS] ||
	    (index->rule_mask & (index->rule_mask + 1)) != 0 || index->rule_mask < rules ||
	    (index->any_head != RULE_NONE && index->any_head >= rules))
		return false;
	for (uint32_t i = 0; i < index->slot_count; i++) {
		if (slots[i].text >= view->counts[IMAGE_TEXT] && slots[i].held != UINT32_MAX)
			return false;
		if (slots[i].held == UINT32_MAX)
			free_slots++;
		else if ((slots[i].held & index->rule_mask) >= rules)
			return false;
	}
	/* There must be a free slot: otherwise a lookup of a missing key would never end. */
	return index->slot_count == 0 || free_slots > 0;
}

static bool image_commands(const struct image_view *view)
{
	const struct image_header *header = view->header;
	const struct command_line *lines =
		(const void *)(view->bytes + header->sections[IMAGE_COMMANDS].at);
	uint64_t len = view->counts[IMAGE_CONFIGURED];

	for (uint64_t i = 0; i < view->counts[IMAGE_COMMANDS]; i++) {
		if (lines[i].source >= view->counts[IMAGE_SOURCES] ||
		    !image_is_range(lines[i].line, lines[i].line_len,
				    view->sources[lines[i].source].len) ||
		    lines[i].action > COMMAND_ALLOW || !image_is_bool(&lines[i].is_program) ||
		    !image_is_bool(&lines[i].is_unconfined))
			return false;
	}
	return len == 0 || view->bytes[header->sections[IMAGE_CONFIGURED].at + len - 1] == '\0';
}

int image_check(const void *bytes, size_t len, bool is_sum_ignored, struct err *why)
{
	const struct image_header *header = bytes;
	struct image_view view = { .header = header, .bytes = bytes };

	if (len < sizeof(*header) || memcmp(header->magic, IMAGE_MAGIC, sizeof(header->magic)) != 0)
		return err_set(why, -EBADMSG, "not a policy image");
	if (header->version != IMAGE_VERSION || header->layout != image_layout())
		return err_set(why, -EPROTO,
			       "the policy image was made by another version of this program");
	if (header->len != len || (!is_sum_ignored && header->sum != image_sum(bytes, len)))
		return err_set(why, -EBADMSG, "the policy image is damaged");
	if (!image_sections(&view) || !image_settled(header) || !image_names(&view) ||
	    !image_sources(&view) || !image_parts(&view) || !image_rules(&view) ||
	    !image_commands(&view) || !image_index(&view))
		return err_set(why, -EBADMSG,
			       "the policy image has an offset outside of the image");
	return 0;
}
