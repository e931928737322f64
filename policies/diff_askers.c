#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policies/asker_impl.h"
#include "policies/diff_space_impl.h"

/* Why these are all.
 *
 * A `from` looks at the simple commands that a command line comes to: what loosens asks of all of
 * them, and that the whole is understood; what tightens asks of one, and of what is not understood
 * it is not known. Which prefixes one simple command has is decided by the longest of them: by its
 * first word, which for what tightens may also be the last part of a path. So: each prefix by
 * itself, also behind each first word that ends in its program's name, and a command that none of
 * them names; all that several of these say together; and each with something that is not
 * understood. A word that a shell would change, or a launcher, takes away what loosens: so does the
 * command that nobody names.
 *
 * That each example says so indeed is asked of policies/asker.c. Where it does not (a prefix that
 * is itself a launcher or a shell) the policies are not compared.
 *
 * A `by` is one program, another, or one that is not known. And nothing may be known of who asks.
 */

struct askers {
	struct diff_space *space;
	const char **prefixes; /* each once */
	size_t prefix_count;
	char other[32];           /* a program that no prefix begins with */
	struct diff_kinds single; /* two bytes for each prefix; texts are shell words */
	struct diff_kinds joined;
	const char **programs;
	size_t program_count;
};

static size_t askers_word(const char **text)
{
	*text += strspn(*text, " \t");
	return strcspn(*text, " \t");
}

/* Is @prefix, by its words, the begin of @line? */
static bool askers_begins(const char *line, const char *prefix)
{
	for (;;) {
		size_t len = askers_word(&prefix), other = askers_word(&line);

		if (len == 0)
			return true;
		if (len != other || memcmp(prefix, line, len) != 0)
			return false;
		prefix += len;
		line += len;
	}
}

/* The last part of the path that @line begins with, and the rest of the line; NULL: no path. */
static const char *askers_base(const char *line)
{
	size_t len = askers_word(&line);
	const char *slash = memrchr(line, '/', len);

	return slash ? slash + 1 : NULL;
}

/* @words with every word in quotes, as one simple command. Returned owned. */
static char *askers_quote(const char *words)
{
	char *out = mem_strdup("");

	for (size_t len; (len = askers_word(&words)) > 0; words += len) {
		auto_free char *before = out;
		auto_free char *word = mem_strndup(words, len), *quoted = mem_strdup("'");

		for (const char *at = word; *at; at++) {
			auto_free char *head = quoted;

			quoted = *at == '\'' ? mem_printf("%s'\\''", head)
					     : mem_printf("%s%c", head, *at);
		}
		out = mem_printf("%s%s%s'", before, before[0] ? " " : "", quoted);
	}
	return out;
}

/* A simple command of @words. */
static void askers_single(struct askers *askers, const char *words)
{
	auto_free uint8_t *says = mem_new(2 * askers->prefix_count + 1);
	const char *base = askers_base(words);

	for (size_t i = 0; i < askers->prefix_count; i++) {
		says[2 * i] = askers_begins(words, askers->prefixes[i]);
		says[2 * i + 1] = says[2 * i] || (base && askers_begins(base, askers->prefixes[i]));
	}
	(void)diff_keys_add_kind(&askers->single, says, askers_quote(words));
}

/* Every prefix, behind its own first word and behind every other that is a path to its program. */
static void askers_singles(struct askers *askers)
{
	askers->single.says.width = 2 * askers->prefix_count;
	for (size_t i = 0; i < askers->prefix_count; i++) {
		const char *path = askers->prefixes[i], *base = askers_base(path);
		size_t len = askers_word(&path);

		askers_single(askers, path);
		auto_free char *alone = mem_strndup(path, len);

		askers_single(askers, alone);
		for (size_t j = 0; base && j < askers->prefix_count; j++) {
			const char *rest = askers->prefixes[j];
			size_t first = askers_word(&rest);
			auto_free char *words = mem_printf("%s%s", alone, rest + first);

			if (first == (size_t)(path + len - base) && memcmp(rest, base, first) == 0)
				askers_single(askers, words);
		}
	}
	askers_single(askers, askers->other);
}

static char *askers_join(const char *left, const char *right)
{
	return mem_printf("%s%s%s", left ? left : "", left ? "; " : "", right);
}

/* The words of one simple command, as askers_quote() wrote them, or `sh -c` and @script. */
static char **askers_argv(const char *script, bool is_script)
{
	char **argv = mem_new_array(strlen(script) + 4, sizeof(*argv));
	size_t count = 0;

	if (is_script) {
		argv[0] = mem_strdup("sh");
		argv[1] = mem_strdup("-c");
		argv[2] = mem_strdup(script);
		return argv;
	}
	while (*script == '\'') {
		const char *end = strchr(script + 1, '\'');

		while (strncmp(end, "'\\''", 4) == 0)
			end = strchr(end + 4, '\'');
		char *word = mem_strndup(script + 1, (size_t)(end - script - 1));

		for (char *at = word; (at = strstr(at, "'\\''")) != NULL; at++)
			memmove(at + 1, at + 4, strlen(at + 4) + 1);
		argv[count++] = word;
		script = end + 1 + (end[1] == ' ');
	}
	return argv;
}

static enum diff_says askers_says(enum asker_says says)
{
	return says == ASKER_YES ? DIFF_MET : says == ASKER_NO ? DIFF_UNMET : DIFF_UNKNOWN;
}

/* Keeps @asker (taken) if nobody else says the same to all atoms. */
static void askers_keep(struct askers *askers, const uint8_t *says, struct diff_asker *asker)
{
	struct diff_space *space = askers->space;
	bool is_new;
	uint32_t number = diff_keys_put(&space->askers, says, &is_new);

	if (!is_new) {
		policy_asker_free(asker->asker);
		mem_free_list(asker->argv);
		return;
	}
	space->asker_list = rules_reserve(space->asker_list, &space->asker_room,
					  space->askers.count, sizeof(*space->asker_list));
	space->asker_list[number] = *asker;
}

static size_t askers_find(const char *const *list, size_t count, const char *text)
{
	size_t at = 0;

	while (at < count && strcmp(list[at], text) != 0)
		at++;
	return at;
}

/* One command line, asked with every program. @expected: two bytes for each prefix. */
static int askers_add(struct askers *askers, const char *script, bool is_script,
		      const uint8_t *expected, bool is_understood)
{
	struct diff_space *space = askers->space;
	size_t count = space->atom_count - space->request_atoms;
	auto_free uint8_t *says = mem_new(count + 1);

	for (size_t i = 0; i < askers->program_count; i++) {
		struct diff_asker asker = { .argv = askers_argv(script, is_script),
					    .program = askers->programs[i] };
		bool is_so = true;

		asker.asker = policy_asker_new((const char *const *)asker.argv);
		policy_asker_set_program(asker.asker, asker.program);
		for (size_t j = 0; j < count; j++) {
			const struct diff_atom *atom = &space->atoms[space->request_atoms + j];
			const char *value = atom->values[0];
			size_t at = askers_find(askers->prefixes, askers->prefix_count, value);

			if (atom->kind == CLAUSE_BY) {
				says[j] = !asker.program                      ? DIFF_UNKNOWN
					  : strcmp(asker.program, value) == 0 ? DIFF_MET
									      : DIFF_UNMET;
				continue;
			}
			says[j] = askers_says(
				asker_judge_from(asker.asker, value, atom->is_loosening));
			is_so &= says[j] == (expected[2 * at + !atom->is_loosening] ? DIFF_MET
					     : is_understood || atom->is_loosening  ? DIFF_UNMET
										    : DIFF_UNKNOWN);
		}
		askers_keep(askers, says, &asker);
		if (!is_so)
			return -ENOTSUP;
	}
	return 0;
}

/* What is understood, and then the same with something that is not. */
static int askers_add_all(struct askers *askers)
{
	auto_free uint8_t *expected = mem_new(2 * askers->prefix_count + 1);
	int r = 0;

	for (size_t i = 0; r == 0 && i < askers->joined.says.count; i++)
		r = askers_add(askers, askers->joined.texts[i], i >= askers->single.says.count,
			       diff_keys_get(&askers->joined.says, i), true);
	for (size_t i = 0; r == 0 && i < askers->joined.says.count; i++) {
		auto_free char *script =
			mem_printf("%s; '%s' $x", askers->joined.texts[i], askers->other);

		memcpy(expected, diff_keys_get(&askers->joined.says, i), 2 * askers->prefix_count);
		for (size_t j = 0; j < askers->prefix_count; j++)
			expected[2 * j] = 0;
		r = askers_add(askers, script, true, expected, false);
	}
	return r;
}

/* The values of the atoms, each once. */
static void askers_values(struct askers *askers)
{
	struct diff_space *space = askers->space;

	askers->programs[askers->program_count++] = "";
	for (size_t i = space->request_atoms; i < space->atom_count; i++) {
		const char *value = space->atoms[i].values[0];
		bool is_by = space->atoms[i].kind == CLAUSE_BY;
		const char **list = is_by ? askers->programs : askers->prefixes;
		size_t *count = is_by ? &askers->program_count : &askers->prefix_count;
		size_t at = askers_find(list, *count, value);

		list[at] = value;
		*count += at == *count;
	}
	/* One that no rule names, and one that is not known. Where no rule asks, any will do. */
	size_t named = askers->program_count - 1;

	for (unsigned int i = 0; named > 0; i++) {
		(void)snprintf(space->other_program, sizeof(space->other_program),
			       "/usr/bin/other%u", i);
		if (askers_find(askers->programs + 1, named, space->other_program) == named)
			break;
	}
	askers->programs[0] = named > 0 ? space->other_program : NULL;
	if (named > 0)
		askers->programs[askers->program_count++] = NULL;
}

static void askers_find_other(struct askers *askers)
{
	for (unsigned int i = 0;; i++) {
		size_t at = 0;

		(void)snprintf(askers->other, sizeof(askers->other), i == 0 ? "other" : "other%u",
			       i);
		while (at < askers->prefix_count &&
		       !askers_begins(askers->prefixes[at], askers->other))
			at++;
		if (at == askers->prefix_count)
			return;
	}
}

int diff_askers(struct diff_space *space)
{
	size_t count = space->atom_count - space->request_atoms;
	auto_free const char **prefixes = mem_new_array(count + 1, sizeof(*prefixes));
	auto_free const char **programs = mem_new_array(count + 3, sizeof(*programs));
	struct askers askers = { .space = space, .prefixes = prefixes, .programs = programs };
	auto_free uint8_t *unknown = mem_new(count + 1);

	space->askers.width = count;
	memset(unknown, DIFF_UNKNOWN, count);
	if (count > 0) {
		askers_values(&askers);
		askers_find_other(&askers);
		askers_singles(&askers);
	}
	auto_free bool *is_and = mem_new_array(2 * askers.prefix_count + 1, sizeof(*is_and));

	for (size_t i = 0; i < askers.prefix_count; i++)
		is_and[2 * i] = true;
	int r = diff_parts_join(&askers.single, is_and, askers_join, &askers.joined);

	if (r == 0)
		r = askers_add_all(&askers);
	askers_keep(&askers, unknown, &(struct diff_asker){ 0 });
	diff_keys_done_kinds(&askers.single);
	diff_keys_done_kinds(&askers.joined);
	return r;
}
