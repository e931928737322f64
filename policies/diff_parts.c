#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text.h"
#include "policies/diff_space_impl.h"

/* Why these are all.
 *
 * Methods. What loosens compares bytes, what tightens letters of any case, and rules write capital
 * letters. So: each method that is written, the same in other letters, and any other.
 *
 * Paths. One that servers may read in several ways meets all that tightens and nothing that
 * loosens: one stands for all. The others that begin with a slash are told apart by the globs
 * alone, see diff_globs.c; those that do not begin with one meet no glob.
 *
 * Queries. What loosens asks of every parameter, what tightens of one, so a query says what its
 * parameters' kinds say together, in whatever order and number. With a semicolon, or empty, it
 * meets nothing that loosens.
 *
 * And each may be unknown. */

size_t diff_parts_globs(const struct diff_space *space, enum clause_kind kind, const char *name,
			const char **ret)
{
	size_t count = 0, len = name ? strcspn(name, ":") : 0;

	for (size_t i = 0; i < space->request_atoms; i++) {
		const struct diff_atom *atom = &space->atoms[i];

		for (size_t j = 0; atom->kind == kind && j < atom->count; j++) {
			const char *glob = atom->values[j];
			size_t at = 0;

			if (name &&
			    (strcspn(glob, ":") != len || strncasecmp(glob, name, len) != 0))
				continue;
			if (name)
				glob = glob[len] ? glob + len + 2 : "*";
			while (at < count && strcmp(ret[at], glob) != 0)
				at++;
			ret[at] = glob;
			count += at == count;
		}
	}
	return count;
}

/* How many values the atoms have: the most globs there can be. */
static size_t parts_values(const struct diff_space *space)
{
	size_t count = 1;

	for (size_t i = 0; i < space->request_atoms; i++)
		count += space->atoms[i].count;
	return count;
}

static bool parts_has(const struct diff_space *space, enum clause_kind kind)
{
	for (size_t i = 0; i < space->request_atoms; i++) {
		if (space->atoms[i].kind == kind)
			return true;
	}
	return false;
}

/* A kind of which every atom of @kind says what it says in its sense. */
static void parts_add(const struct diff_space *space, enum clause_kind kind, enum diff_says loosens,
		      enum diff_says tightens, const char *text, struct diff_kinds *ret)
{
	auto_free uint8_t *says = mem_new(space->request_atoms + 1);

	for (size_t i = 0; i < space->request_atoms; i++) {
		if (space->atoms[i].kind == kind)
			says[i] = space->atoms[i].is_loosening ? loosens : tightens;
	}
	(void)diff_keys_add_kind(ret, says, text ? mem_strdup(text) : NULL);
}

static void parts_method(struct diff_space *space, const char *method)
{
	auto_free uint8_t *says = mem_new(space->request_atoms + 1);

	for (size_t i = 0; i < space->request_atoms; i++) {
		const struct diff_atom *atom = &space->atoms[i];

		says[i] = atom->kind == CLAUSE_METHOD ? DIFF_UNMET : 0;
		for (size_t j = 0; atom->kind == CLAUSE_METHOD && j < atom->count; j++) {
			if (atom->is_loosening
				    ? strcmp(atom->values[j], method) == 0
				    : text_equal_nocase(method, strlen(method), atom->values[j]))
				says[i] = DIFF_MET;
		}
	}
	(void)diff_keys_add_kind(&space->methods, says, mem_strdup(method));
}

static void parts_lower(char *text)
{
	for (; *text; text++)
		*text = (char)tolower((unsigned char)*text);
}

int diff_parts_methods(struct diff_space *space)
{
	static const char *const others[] = { "POST", "GET", "PUT", "DELETE", "HEAD", "PATCH" };
	auto_free const char **words = mem_new_array(parts_values(space), sizeof(*words));
	size_t count = diff_parts_globs(space, CLAUSE_METHOD, NULL, words);
	char other[POLICY_METHOD_MAX];

	space->methods.says.width = space->request_atoms;
	if (count == 0)
		parts_method(space, "GET");
	for (size_t i = 0; i < count; i++)
		parts_method(space, words[i]);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		parts_method(space, others[i]);
	/* As many names as there are words, and one more: one is none of the words. */
	for (size_t i = 0; i <= count; i++) {
		(void)snprintf(other, sizeof(other), "METHOD-%zu", i);
		parts_method(space, other);
	}
	for (size_t i = 0; i < count; i++) {
		auto_free char *lower = mem_strdup(words[i]);

		parts_lower(lower);
		parts_method(space, lower);
	}
	if (count > 0)
		parts_add(space, CLAUSE_METHOD, DIFF_UNKNOWN, DIFF_UNKNOWN, NULL, &space->methods);
	return 0;
}

/* What the atoms of @kind say of what meets the globs as @found says: 1 where one of the values is
 * met. */
static void parts_project(const struct diff_space *space, enum clause_kind kind,
			  const char *const *globs, size_t count, const uint8_t *found,
			  uint8_t *says)
{
	for (size_t i = 0; i < space->request_atoms; i++) {
		const struct diff_atom *atom = &space->atoms[i];

		says[i] = 0;
		for (size_t j = 0; atom->kind == kind && j < atom->count; j++) {
			size_t at = 0;

			while (at < count && strcmp(globs[at], atom->values[j]) != 0)
				at++;
			says[i] |= at < count && found[2 * at + !atom->is_loosening];
		}
	}
}

/* From 1 where it is met to what is said. */
static void parts_say(const struct diff_space *space, enum clause_kind kind, uint8_t *says)
{
	for (size_t i = 0; i < space->request_atoms; i++) {
		if (space->atoms[i].kind == kind)
			says[i] = says[i] ? DIFF_MET : DIFF_UNMET;
	}
}

static int parts_read(const struct diff_space *space, enum diff_grammar grammar,
		      enum clause_kind kind, struct diff_kinds *ret)
{
	auto_free const char **globs = mem_new_array(parts_values(space), sizeof(*globs));
	auto_free uint8_t *says = mem_new(space->request_atoms + 1);
	size_t count = diff_parts_globs(space, kind, NULL, globs);
	struct diff_kinds found = { 0 };
	int r = diff_globs(grammar, globs, count, &found);

	for (size_t i = 0; r == 0 && i < found.says.count; i++) {
		parts_project(space, kind, globs, count, diff_keys_get(&found.says, i), says);
		(void)diff_keys_add_kind(ret, says, take(found.texts[i]));
	}
	diff_keys_done_kinds(&found);
	return r;
}

int diff_parts_paths(struct diff_space *space)
{
	struct diff_kinds found = { .says.width = space->request_atoms };
	auto_free uint8_t *says = mem_new(space->request_atoms + 1);
	int r = 0;

	space->paths.says.width = space->request_atoms;
	if (!parts_has(space, CLAUSE_PATH)) {
		(void)diff_keys_add_kind(&space->paths, says, mem_strdup("/"));
		return 0;
	}
	r = parts_read(space, DIFF_PATHS, CLAUSE_PATH, &found);
	for (size_t i = 0; r == 0 && i < found.says.count; i++) {
		if (strlen(found.texts[i]) >= POLICY_PATH_MAX)
			r = -E2BIG; /* a shorter one may be of this kind, too */
		memcpy(says, diff_keys_get(&found.says, i), space->request_atoms);
		parts_say(space, CLAUSE_PATH, says);
		(void)diff_keys_add_kind(&space->paths, says, take(found.texts[i]));
	}
	diff_keys_done_kinds(&found);
	parts_add(space, CLAUSE_PATH, DIFF_UNMET, DIFF_UNMET, "*", &space->paths);
	parts_add(space, CLAUSE_PATH, DIFF_UNMET, DIFF_MET, "/..", &space->paths);
	parts_add(space, CLAUSE_PATH, DIFF_UNKNOWN, DIFF_UNKNOWN, NULL, &space->paths);
	return r;
}

int diff_parts_join(const struct diff_kinds *from, const bool *is_and,
		    char *(*join)(const char *left, const char *right), struct diff_kinds *ret)
{
	size_t width = from->says.width;
	auto_free uint8_t *says = mem_new(width + 1);

	ret->says.width = width;
	for (size_t i = 0; i < from->says.count; i++)
		(void)diff_keys_add_kind(ret, diff_keys_get(&from->says, i),
					 join(NULL, from->texts[i]));
	for (size_t i = 0; i < ret->says.count; i++) {
		for (size_t j = 0; j < from->says.count; j++) {
			const uint8_t *left = diff_keys_get(&ret->says, i);
			const uint8_t *right = diff_keys_get(&from->says, j);

			for (size_t k = 0; k < width; k++)
				says[k] = is_and[k] ? left[k] & right[k] : left[k] | right[k];
			(void)diff_keys_add_kind(ret, says, join(ret->texts[i], from->texts[j]));
		}
		if (ret->says.count > DIFF_KINDS_MAX)
			return -E2BIG;
	}
	return 0;
}

/* An empty parameter needs its end to be one. */
static char *parts_join_parameters(const char *left, const char *right)
{
	return mem_printf("%s%s%s%s", left ? left : "", left ? "&" : "", right,
			  right[0] ? "" : "&");
}

static int parts_add_queries(struct diff_space *space, const struct diff_kinds *joined)
{
	auto_free uint8_t *says = mem_new(space->request_atoms + 1);

	for (size_t i = 0; i < joined->says.count; i++) {
		if (strlen(joined->texts[i]) + 1 >= POLICY_QUERY_MAX)
			return -E2BIG;
		memcpy(says, diff_keys_get(&joined->says, i), space->request_atoms);
		parts_say(space, CLAUSE_QUERY, says);
		(void)diff_keys_add_kind(&space->queries, says, mem_strdup(joined->texts[i]));
	}
	for (size_t i = 0; i < joined->says.count; i++) {
		memcpy(says, diff_keys_get(&joined->says, i), space->request_atoms);
		for (size_t j = 0; j < space->request_atoms; j++)
			says[j] &= !space->atoms[j].is_loosening;
		parts_say(space, CLAUSE_QUERY, says);
		(void)diff_keys_add_kind(&space->queries, says,
					 mem_printf("%s;", joined->texts[i]));
	}
	return 0;
}

int diff_parts_queries(struct diff_space *space)
{
	struct diff_kinds found = { .says.width = space->request_atoms }, joined = { 0 };
	auto_free bool *is_and = mem_new_array(space->request_atoms + 1, sizeof(*is_and));

	space->queries.says.width = space->request_atoms;
	parts_add(space, CLAUSE_QUERY, DIFF_UNMET, DIFF_UNMET, "", &space->queries);
	if (!parts_has(space, CLAUSE_QUERY))
		return 0;
	for (size_t i = 0; i < space->request_atoms; i++)
		is_and[i] = space->atoms[i].is_loosening;
	int r = parts_read(space, DIFF_PARAMETERS, CLAUSE_QUERY, &found);

	if (r == 0)
		r = diff_parts_join(&found, is_and, parts_join_parameters, &joined);
	if (r == 0)
		r = parts_add_queries(space, &joined);
	parts_add(space, CLAUSE_QUERY, DIFF_UNKNOWN, DIFF_UNKNOWN, NULL, &space->queries);
	diff_keys_done_kinds(&found);
	diff_keys_done_kinds(&joined);
	return r;
}
