#include "policies/language/configured_line_impl.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/configured/configured.h"
#include "policies/policies_tools.h"
#include "policies/engine/pattern_impl.h"
#include "policies/engine/rules_impl.h"

#define CONFIGURED_ADVICE "configured npm; sallyport-presets(7) lists the tools"

void policy_set_environment(struct policy *policy, const struct configured_environment *environment)
{
	policy->environment = environment;
}

void configured_line_free(struct configured_list *lists)
{
	for (size_t tool = 0; lists && tool < CONFIGURED_TOOLS; tool++) {
		for (size_t i = 0; i < lists[tool].count; i++) {
			free(lists[tool].list[i].destination);
			free(lists[tool].list[i].where);
		}
		free(lists[tool].list);
	}
	free(lists);
}

/* Receives the destinations while a tool's configuration is read. */
struct configured_listener {
	struct policy *policy;
	struct configured_list *list;
	const struct spot *spot;
};

static void configured_add(struct configured_list *list, const char *destination, const char *where)
{
	list->list = mem_grow(list->list, list->count + 1, sizeof(*list->list));
	list->list[list->count++] = (struct configured_found){
		.destination = mem_strdup(destination),
		.where = mem_strdup(where),
	};
}

static void configured_on_found(const char *destination, const char *where, void *arg)
{
	configured_add(((struct configured_listener *)arg)->list, destination, where);
}

static void configured_on_note(const char *text, void *arg)
{
	const struct configured_listener *listener = arg;

	problems_note(&listener->policy->notes, listener->spot, "%s: %s", listener->list->tool,
		      text);
}

/* A file that the command can change is trusted like the project's policy: by its digest. */
static bool configured_is_trusted(const char *path, const void *bytes, size_t len, void *arg)
{
	const struct policy *policy = arg;

	return policy->trust &&
	       policy->trust(path, bytes, len, policy->trust_arg) == POLICY_TRUSTED_NOW;
}

static void configured_on_read(const char *path, void *arg)
{
	struct policy *policy = arg;
	size_t count = policy->configured_file_count;

	policy->configured_files =
		mem_grow(policy->configured_files, count + 2, sizeof(*policy->configured_files));
	policy->configured_files[count] = mem_strdup(path);
	policy->configured_files[count + 1] = NULL;
	policy->configured_file_count++;
}

static size_t configured_put(char *out, size_t at, const char *word)
{
	size_t len = strlen(word) + 1;

	if (out)
		memcpy(out + at, word, len);
	return at + len;
}

size_t configured_line_save(const struct policy *policy, char *out)
{
	size_t at = 0;

	for (size_t i = 0; i < policy->configured_file_count; i++)
		at = configured_put(out, at, policy->configured_files[i]);
	for (size_t tool = 0; policy->configured && tool < CONFIGURED_TOOLS; tool++) {
		const struct configured_list *list = &policy->configured[tool];

		for (size_t i = 0; i < list->count; i++)
			at = configured_put(out, at, list->list[i].destination);
	}
	return at;
}

/* Which tool it was no longer matters when all lines are read. */
void configured_line_restore(struct policy *policy, const char *word)
{
	if (word[0] == '/') {
		configured_on_read(word, policy);
		return;
	}
	if (!policy->configured)
		policy->configured = mem_new_array(CONFIGURED_TOOLS, sizeof(*policy->configured));
	configured_add(&policy->configured[0], word, "");
}

const char *policy_configured_file(const struct policy *policy, size_t index)
{
	return index < policy->configured_file_count ? policy->configured_files[index] : NULL;
}

bool policy_is_configured(const struct policy *policy, const struct policy_destination *dst)
{
	for (size_t tool = 0; policy->configured && tool < CONFIGURED_TOOLS; tool++) {
		const struct configured_list *list = &policy->configured[tool];

		for (size_t i = 0; i < list->count; i++) {
			struct policy_destination named;

			if (policy_destination_parse(list->list[i].destination, &named, NULL) ==
				    0 &&
			    named.protocol == dst->protocol && named.port == dst->port &&
			    strcmp(named.host, dst->host) == 0)
				return true;
		}
	}
	return false;
}

/* False: an error was reported. */
static bool configured_read_tool(struct policy *policy, enum configured_tool tool,
				 const struct spot *spot)
{
	struct configured_list *list = &policy->configured[tool];
	struct configured_listener listener = { policy, list, spot };
	struct configured_hearer hearer = { configured_on_found, configured_on_note, &listener };
	struct configured_environment environment = *policy->environment;
	struct err why = { 0 };

	environment.is_trusted = configured_is_trusted;
	environment.was_read = configured_on_read;
	environment.trust_arg = policy;
	list->tool = configured_name(tool);
	if (configured_read(tool, &environment, &hearer, &why) < 0) {
		problems_add(&policy->problems, spot,
			     "a correct configuration: check it with the tool itself",
			     "the configuration of %s cannot be read: %s", list->tool, why.text);
		return false;
	}
	list->was_asked = true;
	return true;
}

static void configured_unknown(struct line *line, const struct word *word)
{
	const char *names[CONFIGURED_TOOLS];
	struct spot spot = reader_spot(line, word->at);

	for (unsigned int tool = 0; tool < CONFIGURED_TOOLS; tool++)
		names[tool] = configured_name((enum configured_tool)tool);
	const char *nearest = words_nearest(word, names, CONFIGURED_TOOLS);

	problems_add(&line->reader->policy->problems, &spot, nearest ? nearest : CONFIGURED_ADVICE,
		     "unknown tool \"%.*s\"", (int)(word->len < 40 ? word->len : 40), word->text);
}

const struct configured_list *configured_line_ask(struct line *line, size_t at)
{
	static const struct configured_list unknown = { .is_unknown = true };
	struct policy *policy = line->reader->policy;
	const struct words *words = &line->words;
	enum configured_tool tool;

	if (at + 1 >= words->count) {
		(void)reader_refuse(line, reader_end(line), CONFIGURED_ADVICE,
				    "`configured` needs the name of a tool");
		return NULL;
	}
	const struct word *word = &words->list[at + 1];
	struct spot spot = reader_spot(line, words->list[at].at);

	if (word->is_quoted || !configured_find(word->text, word->len, &tool)) {
		configured_unknown(line, word);
		return NULL;
	}
	if (policy->is_text_only)
		return &unknown;
	if (!policy->environment) {
		problems_add(&policy->problems, &spot, NULL,
			     "the configuration of %s cannot be read from here",
			     configured_name(tool));
		return NULL;
	}
	if (!policy->configured)
		policy->configured = mem_new_array(CONFIGURED_TOOLS, sizeof(*policy->configured));
	if (!policy->configured[tool].was_asked && !configured_read_tool(policy, tool, &spot))
		return NULL;
	return &policy->configured[tool];
}

struct pattern *configured_line_patterns(struct line *line, const struct configured_list *list,
					 size_t at)
{
	auto_free struct pattern *patterns = mem_new_array(list->count + 1, sizeof(*patterns));
	struct spot spot = reader_spot(line, line->words.list[at].at);

	for (size_t i = 0; i < list->count; i++) {
		const char *text = list->list[i].destination;
		struct flaw flaw = { 0 };

		if (pattern_parse(line->reader->policy, text, strlen(text), false, &patterns[i],
				  &flaw) == 0)
			continue;
		problems_add(&line->reader->policy->problems, &spot, flaw.instead,
			     "%s names %s: %s", list->list[i].where, text, flaw.words);
		return NULL;
	}
	return list->count > 0 ? take(patterns) : NULL;
}

/* One line for each, such as "allow https://a.test:443 private # configured npm: /etc/npmrc:3".
 * Returns the offset of each in @ret_offsets. Returned owned. */
static char *configured_text(const struct line *line, const struct rule *like,
			     const struct configured_list *list, size_t at, size_t *ret_offsets)
{
	const struct word *first = &line->words.list[0], *word = &line->words.list[at],
			  *tool = word + 1;
	size_t from = like->action == RULE_ONLY ? line->words.comment : tool->at + tool->len;
	size_t to = line->words.comment;
	const char *head = like->action == RULE_ONLY ? "only " : line->text + first->at;
	size_t head_len = like->action == RULE_ONLY ? 5 : word->at - first->at;
	char *text = mem_strdup("");
	size_t used = 0;

	while (to > from && (line->text[to - 1] == ' ' || line->text[to - 1] == '\t'))
		to--;
	for (size_t i = 0; i < list->count; i++) {
		auto_free char *one =
			mem_printf("%.*s%s%.*s   # configured %s: %s\n", (int)head_len, head,
				   list->list[i].destination, (int)(to - from), line->text + from,
				   list->tool, list->list[i].where);
		size_t len = strlen(one);

		ret_offsets[i] = used;
		text = mem_grow(text, used + len + 1, 1);
		memcpy(text + used, one, len + 1);
		used += len;
	}
	ret_offsets[list->count] = used;
	return text;
}

/* They are added in a source with the name of the real file, so that rules are shown with the real
 * file and line and the resulting text. */
void configured_line_add(struct line *line, const struct rule *like,
			 const struct configured_list *list, const struct pattern *patterns,
			 size_t at)
{
	static const struct stat nowhere;
	struct policy *policy = line->reader->policy;
	uint32_t parent = line->reader->source;
	auto_free size_t *offsets = mem_new_array(list->count + 1, sizeof(*offsets));
	auto_free char *text = configured_text(line, like, list, at, offsets);
	size_t len = offsets[list->count];

	if (policy->source_count == POLICY_SOURCES_MAX ||
	    len > POLICY_TOTAL_MAX - policy->total_bytes) {
		(void)reader_refuse(line, line->words.list[at].at, NULL,
				    "the policy has more than 256 files and configured tools");
		return;
	}
	auto_free char *name = mem_strdup(policy->sources[parent].name);
	uint32_t source = load_add_source(policy, name, take(text), len, &nowhere,
					  (enum policy_layer)policy->sources[parent].layer);

	policy->sources[source].is_open = false;
	policy->sources[source].parent = parent + 1;
	for (size_t i = 0; i < list->count; i++) {
		struct rule rule = *like;

		rule.pattern = patterns[i];
		rule.source = source;
		rule.number = line->number;
		rule.line = (uint32_t)offsets[i];
		rule.line_len = (uint32_t)(offsets[i + 1] - offsets[i] - 1);
		rules_add(policy, &rule);
	}
}
