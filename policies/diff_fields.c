#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "policies/diff_space_impl.h"

/* Why these are all. A condition looks at the fields of one name: what loosens asks of all of them,
 * and that there is one; what tightens asks of one. So of each name that rules write: none, and
 * whatever several fields of it say together; of fields by other names only whether one of them
 * overrides method and path. Names do not depend on one another: each kind of one is taken with
 * each of the others. And all fields may be unknown. */

/* Of a text "NAME: VALUE\n...". */
struct policy_field *diff_fields_list(char *text, size_t *ret_count)
{
	struct policy_field *list = mem_new_array(POLICY_FIELDS_MAX + 1, sizeof(*list));

	*ret_count = 0;
	while (*text) {
		char *colon = strchr(text, ':'), *end = strchr(text, '\n');

		*colon = *end = '\0';
		list[*ret_count] = (struct policy_field){ text, colon + 2 };
		*ret_count += 1;
		text = end + 1;
	}
	return list;
}

static char *fields_join(const char *left, const char *right)
{
	return mem_printf("%s%s", left ? left : "", right);
}

static bool fields_fit(const char *text)
{
	size_t count = 0;

	for (const char *at = strchr(text, '\n'); at; at = strchr(at + 1, '\n'))
		count++;
	return count <= POLICY_FIELDS_MAX && strlen(text) < POLICY_FIELDS_BYTES_MAX;
}

/* From what the fields of one name say to its globs to what that says to the atoms: 1 where one
 * value is met. */
static void fields_project(const struct diff_space *space, const char *name,
			   const char *const *globs, size_t count, const uint8_t *joined,
			   uint8_t *says)
{
	size_t len = strcspn(name, ":");

	for (size_t i = 0; i < space->request_atoms; i++) {
		const struct diff_atom *atom = &space->atoms[i];

		says[i] = 0;
		for (size_t j = 0; atom->kind == CLAUSE_HEADER && j < atom->count; j++) {
			const char *value = atom->values[j];
			size_t at = 0;

			if (strcspn(value, ":") != len || strncasecmp(value, name, len) != 0)
				continue;
			value = value[len] ? value + len + 2 : "*";
			while (at < count && strcmp(globs[at], value) != 0)
				at++;
			says[i] |= at < count && joined[2 * at + !atom->is_loosening];
		}
	}
	says[space->request_atoms] = policy_request_is_override(name, len);
}

static void fields_none(const struct diff_space *space, struct diff_kinds *ret)
{
	auto_free uint8_t *says = mem_new(space->request_atoms + 1);

	(void)diff_keys_add_kind(ret, says, mem_strdup(""));
}

/* Fills @ret: none, one or several fields of @name's. */
static int fields_of(const struct diff_space *space, const char *name, size_t room,
		     struct diff_kinds *ret)
{
	auto_free const char **globs = mem_new_array(room, sizeof(*globs));
	auto_free bool *is_and = mem_new_array(2 * room, sizeof(*is_and));
	auto_free uint8_t *says = mem_new(space->request_atoms + 1);
	size_t count = diff_parts_globs(space, CLAUSE_HEADER, name, globs);
	struct diff_kinds found = { 0 }, joined = { 0 };
	int r = diff_globs(DIFF_VALUES, globs, count, &found);

	for (size_t i = 0; i < count; i++)
		is_and[2 * i] = true;
	for (size_t i = 0; r == 0 && i < found.says.count; i++) {
		auto_free char *value = found.texts[i];

		found.texts[i] = mem_printf("%.*s: %s\n", (int)strcspn(name, ":"), name, value);
	}
	if (r == 0)
		r = diff_parts_join(&found, is_and, fields_join, &joined);
	fields_none(space, ret);
	for (size_t i = 0; r == 0 && i < joined.says.count; i++) {
		fields_project(space, name, globs, count, diff_keys_get(&joined.says, i), says);
		(void)diff_keys_add_kind(ret, says, take(joined.texts[i]));
	}
	diff_keys_done_kinds(&found);
	diff_keys_done_kinds(&joined);
	return r;
}

/* Each of @left with each of @right, into @left. */
static int fields_multiply(const struct diff_space *space, struct diff_kinds *left,
			   const struct diff_kinds *right)
{
	struct diff_kinds all = { .says.width = left->says.width };
	auto_free uint8_t *says = mem_new(left->says.width);

	for (size_t i = 0; i < left->says.count; i++) {
		for (size_t j = 0; j < right->says.count; j++) {
			const uint8_t *one = diff_keys_get(&left->says, i);
			const uint8_t *two = diff_keys_get(&right->says, j);

			for (size_t k = 0; k <= space->request_atoms; k++)
				says[k] = one[k] | two[k];
			(void)diff_keys_add_kind(&all, says,
						 fields_join(left->texts[i], right->texts[j]));
		}
	}
	diff_keys_done_kinds(left);
	*left = all;
	return all.says.count > DIFF_KINDS_MAX ? -E2BIG : 0;
}

/* The names that rules write, each once. */
static size_t fields_names(const struct diff_space *space, const char **ret)
{
	size_t count = 0;

	for (size_t i = 0; i < space->request_atoms; i++) {
		const struct diff_atom *atom = &space->atoms[i];

		for (size_t j = 0; atom->kind == CLAUSE_HEADER && j < atom->count; j++) {
			const char *value = atom->values[j];
			size_t at = 0, len = strcspn(value, ":");

			while (at < count && (strcspn(ret[at], ":") != len ||
					      strncasecmp(ret[at], value, len) != 0))
				at++;
			ret[at] = value;
			count += at == count;
		}
	}
	return count;
}

/* A field that overrides and that no rule looks at; NULL: rules look at all of them. */
static const char *fields_other(const char *const *names, size_t count)
{
	const char *other;

	for (size_t i = 0; (other = policy_request_override(i)) != NULL; i++) {
		size_t at = 0, len = strlen(other);

		while (at < count &&
		       (strcspn(names[at], ":") != len || strncasecmp(names[at], other, len) != 0))
			at++;
		if (at == count)
			break;
	}
	return other;
}

/* An override beside what is there. */
static int fields_override(const struct diff_space *space, const char *const *names, size_t count,
			   struct diff_kinds *all)
{
	struct diff_kinds extra = { .says.width = all->says.width };
	auto_free uint8_t *says = mem_new(space->request_atoms + 1);
	const char *other = fields_other(names, count);

	fields_none(space, &extra);
	says[space->request_atoms] = true;
	if (other)
		(void)diff_keys_add_kind(&extra, says, mem_printf("%s: GET\n", other));
	int r = fields_multiply(space, all, &extra);

	diff_keys_done_kinds(&extra);
	return r;
}

static int fields_known(const struct diff_space *space, struct diff_kinds *all)
{
	size_t room = 1;

	for (size_t i = 0; i < space->request_atoms; i++)
		room += space->atoms[i].count;
	auto_free const char **names = mem_new_array(room, sizeof(*names));
	size_t count = fields_names(space, names);
	int r = 0;

	fields_none(space, all);
	for (size_t i = 0; r == 0 && i < count; i++) {
		struct diff_kinds one = { .says.width = all->says.width };

		r = fields_of(space, names[i], room, &one);
		if (r == 0)
			r = fields_multiply(space, all, &one);
		diff_keys_done_kinds(&one);
	}
	return r < 0 ? r : fields_override(space, names, count, all);
}

static void fields_say(const struct diff_space *space, const struct diff_kinds *all,
		       struct diff_kinds *ret, bool is_override)
{
	auto_free uint8_t *says = mem_new(space->request_atoms + 1);

	for (size_t i = 0; i < all->says.count; i++) {
		memcpy(says, diff_keys_get(&all->says, i), space->request_atoms + 1);
		if (says[space->request_atoms] != is_override)
			continue;
		for (size_t j = 0; j < space->request_atoms; j++) {
			if (space->atoms[j].kind == CLAUSE_HEADER)
				says[j] = says[j] ? DIFF_MET : DIFF_UNMET;
		}
		(void)diff_keys_add_kind(ret, says, mem_strdup(all->texts[i]));
	}
	for (size_t j = 0; j < space->request_atoms; j++)
		says[j] = space->atoms[j].kind == CLAUSE_HEADER ? DIFF_UNKNOWN : 0;
	says[space->request_atoms] = is_override;
	(void)diff_keys_add_kind(ret, says, NULL);
}

int diff_fields(struct diff_space *space)
{
	struct diff_kinds all = { .says.width = space->request_atoms + 1 };
	int r = fields_known(space, &all);

	space->fields.says.width = space->request_atoms + 1;
	for (size_t i = 0; r == 0 && i < all.says.count; i++)
		r = fields_fit(all.texts[i]) ? 0 : -E2BIG;
	/* First those without an override, which make the better examples. */
	fields_say(space, &all, &space->fields, false);
	fields_say(space, &all, &space->fields, true);
	diff_keys_done_kinds(&all);
	return r;
}
