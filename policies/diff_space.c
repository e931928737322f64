#include "policies/diff_space_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policies/asker_impl.h"
#include "policies/diff_impl.h"
#include "policies/request_impl.h"
#include "policies/search_impl.h"

#define SPACE_PRODUCT_MAX (1ULL << 24)
#define SPACE_ON_ASKER    (BIT(CLAUSE_FROM) | BIT(CLAUSE_BY))

static bool space_is_atom(const struct diff_atom *atom, const struct diff_atom *other)
{
	if (atom->kind != other->kind || atom->count != other->count)
		return false;
	for (size_t i = 0; i < atom->count; i++) {
		if (strcmp(atom->values[i], other->values[i]) != 0)
			return false;
	}
	return true;
}

/* Takes @atom's list of values. */
static void space_add_atom(struct diff_space *space, struct diff_atom *atom)
{
	for (size_t i = 0; i < space->atom_count; i++) {
		struct diff_atom *other = &space->atoms[i];

		if (!space_is_atom(atom, other))
			continue;
		if (other->is_loosening == atom->is_loosening) {
			free(atom->values);
			return;
		}
		other->has_twin = atom->has_twin = true;
	}
	space->atoms = rules_reserve(space->atoms, &space->atom_room, space->atom_count + 1,
				     sizeof(*space->atoms));
	space->atoms[space->atom_count++] = *atom;
}

static void space_add_clause(struct diff_space *space, const struct policy *policy,
			     const struct rule *rule, enum clause_kind kind)
{
	struct diff_atom atom = { .kind = kind,
				  .is_loosening = kind == CLAUSE_BY || search_loosens(rule) };

	atom.values = mem_new_array(rule->clause_count, sizeof(*atom.values));
	for (uint32_t i = 0; i < rule->clause_count; i++) {
		const struct clause *clause = &policy->clauses[rule->clauses + i];

		if (clause->kind == kind)
			atom.values[atom.count++] = policy->names + clause->text;
	}
	space_add_atom(space, &atom);
}

/* @kinds: of the clauses that are wanted now. */
static void space_add_atoms(struct diff_space *space, const struct policy *const sides[2],
			    unsigned int kinds)
{
	for (size_t i = 0; i < space->rule_count; i++) {
		const struct policy *policy = sides[space->rules[i] >> 32];
		struct rule rule;

		rules_get_bare(policy, (uint32_t)space->rules[i], &rule);
		/* Of a digest nothing is ever known. */
		unsigned int never = asker_not_enforced(policy, &rule);

		for (unsigned int kind = CLAUSE_METHOD; kind <= CLAUSE_BY; kind++) {
			if (rule.clause_kinds & kinds & ~never & BIT(kind))
				space_add_clause(space, policy, &rule, (enum clause_kind)kind);
		}
	}
}

/* An override leaves what is known of method and path in doubt. */
static void space_says(const struct diff_space *space, const uint8_t *const parts[4], uint8_t *says)
{
	bool is_override = parts[3][space->request_atoms];

	for (size_t i = 0; i < space->request_atoms; i++) {
		const struct diff_atom *atom = &space->atoms[i];
		bool is_doubtful =
			is_override && (atom->kind == CLAUSE_METHOD || atom->kind == CLAUSE_PATH);

		says[i] = parts[0][i] | parts[1][i] | parts[2][i] | parts[3][i];
		if (is_doubtful && says[i] != DIFF_UNKNOWN)
			says[i] = atom->is_loosening ? DIFF_UNMET : DIFF_MET;
	}
}

/* Where nothing is known there is no request. */
static void space_keep(struct diff_space *space, const uint8_t *says, const size_t at[4])
{
	bool is_new, is_unseen = true;
	uint32_t number = diff_keys_put(&space->requests, says, &is_new);

	if (!is_new)
		return;
	for (size_t i = 0; i < space->request_atoms; i++)
		is_unseen &= says[i] == DIFF_UNKNOWN;
	if (is_unseen)
		space->unseen = number;
	space->request_list = rules_reserve(space->request_list, &space->request_room,
					    space->requests.count, sizeof(*space->request_list));
	struct policy_request *request = &space->request_list[number];

	*request = (struct policy_request){
		.has_override = diff_keys_get(&space->fields.says, at[3])[space->request_atoms]
	};
	if (is_unseen)
		return;
	request->method = space->methods.texts[at[0]];
	request->path = space->paths.texts[at[1]];
	request->query = space->queries.texts[at[2]];
	if (space->fields.texts[at[3]]) {
		char *copy = mem_strdup(space->fields.texts[at[3]]);

		request->fields = diff_fields_list(copy, &request->field_count);
		if (request->field_count == 0)
			free(copy);
	}
}

/* Each kind of each part with each of the others. */
static int space_multiply(struct diff_space *space)
{
	const struct diff_kinds *const kinds[4] = { &space->methods, &space->paths, &space->queries,
						    &space->fields };
	auto_free uint8_t *says = mem_new(space->request_atoms + 1);
	size_t at[4] = { 0 }, place;
	uint64_t all = 1;

	for (size_t i = 0; i < 4; i++)
		all *= kinds[i]->says.count; /* none has more than DIFF_KINDS_MAX and a few */
	if (all > SPACE_PRODUCT_MAX)
		return -E2BIG;
	space->requests.width = space->request_atoms;
	do {
		const uint8_t *parts[4];

		for (size_t i = 0; i < 4; i++)
			parts[i] = diff_keys_get(&kinds[i]->says, at[i]);
		space_says(space, parts, says);
		space_keep(space, says, at);
		if (space->requests.count > DIFF_CASES_MAX)
			return -E2BIG;
		for (place = 0; place < 4 && ++at[place] == kinds[place]->says.count; place++)
			at[place] = 0;
	} while (place < 4);
	return 0;
}

static int space_build(struct diff_space *space, const struct policy *const sides[2])
{
	space_add_atoms(space, sides, REQUEST_CONDITIONS);
	space->request_atoms = space->atom_count;
	space_add_atoms(space, sides, SPACE_ON_ASKER);
	int r = diff_parts_methods(space);

	if (r == 0)
		r = diff_parts_paths(space);
	if (r == 0)
		r = diff_parts_queries(space);
	if (r == 0)
		r = diff_fields(space);
	if (r == 0)
		r = space_multiply(space);
	if (r == 0)
		r = diff_askers(space);
	return r == 0 && diff_space_cases(space) > DIFF_CASES_MAX ? -E2BIG : r;
}

int diff_space_get(struct diff_space **list, const struct policy *const sides[2], uint64_t *rules,
		   size_t rule_count, const struct diff_space **ret)
{
	for (struct diff_space *space = *list; space; space = space->next) {
		if (space->rule_count != rule_count ||
		    (rule_count > 0 &&
		     memcmp(space->rules, rules, rule_count * sizeof(*rules)) != 0))
			continue;
		free(rules);
		*ret = space;
		return 0;
	}
	struct diff_space *space = mem_new(sizeof(*space));

	*space = (struct diff_space){ .rules = rules, .rule_count = rule_count, .next = *list };
	*list = space;
	*ret = space;
	return space_build(space, sides);
}

static void space_free_fields(struct policy_request *request)
{
	if (request->field_count > 0)
		free((char *)request->fields[0].name); /* the text that all are in */
	free((struct policy_field *)request->fields);
}

void diff_space_free(struct diff_space *list)
{
	while (list) {
		struct diff_space *next = list->next;

		for (size_t i = 0; i < list->requests.count; i++)
			space_free_fields(&list->request_list[i]);
		for (size_t i = 0; i < list->askers.count; i++) {
			policy_asker_free(list->asker_list[i].asker);
			mem_free_list(list->asker_list[i].argv);
		}
		for (size_t i = 0; i < list->atom_count; i++)
			free(list->atoms[i].values);
		free(list->atoms);
		free(list->rules);
		free(list->request_list);
		free(list->asker_list);
		diff_keys_done(&list->requests);
		diff_keys_done(&list->askers);
		diff_keys_done_kinds(&list->methods);
		diff_keys_done_kinds(&list->paths);
		diff_keys_done_kinds(&list->queries);
		diff_keys_done_kinds(&list->fields);
		free(list);
		list = next;
	}
}

void diff_space_fill(const struct diff_space *space, size_t number, struct policy_facts *facts)
{
	facts->request = space->request_atoms == 0 || diff_space_is_unseen(space, number)
				 ? NULL
				 : &space->request_list[number / space->askers.count];
	facts->asker = space->asker_list[number % space->askers.count].asker;
}
