#include "policies/configured_line_impl.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/configured/configured.h"
#include "policies/policies_tools.h"
#include "policies/rule_line_impl.h"

#define CONFIGURED_ADVICE "configured npm; the tools are in sallyport-presets(7)"

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

/* Who listens while one tool's configuration is read. */
struct configured_listener {
	struct policy *policy;
	struct configured_list *list;
	const struct spot *spot;
};

static void configured_on_found(const char *destination, const char *where, void *arg)
{
	struct configured_list *list = ((struct configured_listener *)arg)->list;

	list->list = mem_grow(list->list, list->count + 1, sizeof(*list->list));
	list->list[list->count++] = (struct configured_found){
		.destination = mem_strdup(destination),
		.where = mem_strdup(where),
	};
}

static void configured_on_note(const char *text, void *arg)
{
	const struct configured_listener *listener = arg;

	problems_note(listener->policy, listener->spot, "%s: %s", listener->list->tool, text);
}

/* A file in the command's reach counts as the project's own policy does: by its bytes. */
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

const char *policy_configured_file(const struct policy *policy, size_t index)
{
	return index < policy->configured_file_count ? policy->configured_files[index] : NULL;
}

/* False: said. */
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
		problems_add(policy, spot, "a configuration that the tool itself can read",
			     "what %s is configured to use cannot be read: %s", list->tool,
			     why.text);
		return false;
	}
	list->was_asked = true;
	return true;
}

static void configured_unknown(struct rule_line *rl, const struct word *word)
{
	const char *names[CONFIGURED_TOOLS];
	struct spot spot = reader_spot(rl->line, word->at);

	for (unsigned int tool = 0; tool < CONFIGURED_TOOLS; tool++)
		names[tool] = configured_name((enum configured_tool)tool);
	const char *nearest = words_nearest(word, names, CONFIGURED_TOOLS);

	problems_add(rl->policy, &spot, nearest ? nearest : CONFIGURED_ADVICE,
		     "not a tool whose configuration is read: \"%.*s\"",
		     (int)(word->len < 40 ? word->len : 40), word->text);
}

const struct configured_list *configured_line_ask(struct rule_line *rl, size_t at)
{
	static const struct configured_list unknown = { .is_unknown = true };
	struct policy *policy = rl->policy;
	const struct words *words = &rl->line->words;
	enum configured_tool tool;

	if (at + 1 >= words->count) {
		rule_line_problem(rl, rule_line_end(rl), CONFIGURED_ADVICE,
				  "configured needs the name of a tool");
		return NULL;
	}
	const struct word *word = &words->list[at + 1];
	struct spot spot = reader_spot(rl->line, words->list[at].at);

	if (word->is_quoted || !configured_find(word->text, word->len, &tool)) {
		configured_unknown(rl, word);
		return NULL;
	}
	if (policy->is_text_only)
		return &unknown;
	if (!policy->environment) {
		problems_add(policy, &spot, NULL,
			     "what %s is configured to use cannot be looked up from here",
			     configured_name(tool));
		return NULL;
	}
	if (!policy->configured)
		policy->configured = mem_new_array(CONFIGURED_TOOLS, sizeof(*policy->configured));
	if (!policy->configured[tool].was_asked && !configured_read_tool(policy, tool, &spot))
		return NULL;
	return &policy->configured[tool];
}

struct pattern *configured_line_patterns(struct rule_line *rl, const struct configured_list *list,
					 size_t at)
{
	auto_free struct pattern *patterns = mem_new_array(list->count + 1, sizeof(*patterns));
	struct spot spot = reader_spot(rl->line, rl->line->words.list[at].at);

	for (size_t i = 0; i < list->count; i++) {
		const char *text = list->list[i].destination;
		struct flaw flaw = { 0 };

		if (pattern_parse(rl->policy, text, strlen(text), false, &patterns[i], &flaw) == 0)
			continue;
		problems_add(rl->policy, &spot, flaw.instead, "%s names %s: %s",
			     list->list[i].where, text, flaw.words);
		return NULL;
	}
	return list->count > 0 ? take(patterns) : NULL;
}

void configured_line_destination(struct rule_line *rl)
{
	size_t at = rl->at;
	struct spot spot = reader_spot(rl->line, rule_line_word(rl)->at);

	rl->configured_at = at;
	rl->at += at + 1 < rl->line->words.count ? 2 : 1;
	if (rl->rule.action == RULE_ANSWER_ALLOW || rl->rule.action == RULE_ANSWER_DENY) {
		problems_add(rl->policy, &spot, "allow configured ... or deny configured ...",
			     "an answer names its destination itself");
		return;
	}
	rl->configured = configured_line_ask(rl, at);
	if (!rl->configured)
		return;
	rl->patterns = configured_line_patterns(rl, rl->configured, at);
	if (rl->configured->count > 0 || rl->configured->is_unknown)
		return;
	/* It would look as if it denied something. */
	if (rl->rule.action == RULE_DENY)
		problems_add(rl->policy, &spot, "the destinations themselves",
			     "%s is configured to use nothing here, so this denies nothing",
			     rl->configured->tool);
	else
		problems_note(rl->policy, &spot,
			      "%s is configured to use nothing here, so this line says nothing",
			      rl->configured->tool);
}

void configured_line_except(struct rule_line *rl)
{
	size_t at = rl->at, added = 0;
	struct spot spot = reader_spot(rl->line, rule_line_word(rl)->at);
	const struct configured_list *list = configured_line_ask(rl, at);

	rl->at += at + 1 < rl->line->words.count ? 2 : 1;
	if (!list || list->is_unknown)
		return;
	auto_free struct pattern *patterns = configured_line_patterns(rl, list, at);

	for (size_t i = 0; patterns && i < list->count; i++)
		added += rule_line_except_pattern(rl, &patterns[i]);
	if (added > 0 || (list->count > 0 && !patterns))
		return;
	problems_add(rl->policy, &spot, "the line without this exception",
		     list->count == 0
			     ? "%s is configured to use nothing here, so this excepts nothing"
			     : "nothing that %s is configured to use can meet this rule",
		     list->tool);
}

/* "allow https://a.test:443 private   # configured npm: /etc/npmrc:3" for each, one a line. Returns
 * the offset of each in @ret_offsets. Returned owned. */
static char *configured_text(const struct rule_line *rl, const struct configured_list *list,
			     size_t at, size_t *ret_offsets)
{
	const struct line *line = rl->line;
	const struct word *first = &line->words.list[0], *word = &line->words.list[at],
			  *tool = word + 1;
	size_t from = rl->rule.action == RULE_ONLY ? line->words.comment : tool->at + tool->len;
	size_t to = line->words.comment;
	const char *head = rl->rule.action == RULE_ONLY ? "only " : line->text + first->at;
	size_t head_len = rl->rule.action == RULE_ONLY ? 5 : word->at - first->at;
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

/* They stand in a source of their own with the name of the real one, so that they are shown by the
 * real file and line, as what they have become. */
void configured_line_add(struct rule_line *rl, const struct configured_list *list,
			 const struct pattern *patterns, size_t at)
{
	static const struct stat nowhere;
	struct policy *policy = rl->policy;
	uint32_t parent = rl->line->reader->source;
	auto_free size_t *offsets = mem_new_array(list->count + 1, sizeof(*offsets));
	auto_free char *text = configured_text(rl, list, at, offsets);
	size_t len = offsets[list->count];

	if (policy->source_count == POLICY_SOURCES_MAX ||
	    len > POLICY_TOTAL_MAX - policy->total_bytes) {
		rule_line_problem(rl, rl->line->words.list[at].at, NULL,
				  "more than 256 files and configured tools");
		return;
	}
	auto_free char *name = mem_strdup(policy->sources[parent].name);
	uint32_t source = load_add_source(policy, name, take(text), len, &nowhere,
					  (enum policy_layer)policy->sources[parent].layer);

	policy->sources[source].is_open = false;
	policy->sources[source].parent = parent + 1;
	for (size_t i = 0; i < list->count; i++) {
		struct rule rule = rl->rule;

		rule.pattern = patterns[i];
		rule.source = source;
		rule.number = rl->line->number;
		rule.line = (uint32_t)offsets[i];
		rule.line_len = (uint32_t)(offsets[i + 1] - offsets[i] - 1);
		rules_add(policy, &rule);
	}
}
