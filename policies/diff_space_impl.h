/* diff_space: who may ask, and for what request, where rules have conditions. Every way in which
 * the conditions of some rules can be met together, with a request and an asker for each.
 * diff_space.c: the whole; diff_parts.c: method, path and query; diff_fields.c: header fields;
 * diff_askers.c: from and by. Why these are all is said in each. */
#pragma once

#include "policies/diff_globs_impl.h"
#include "policies/policies_request.h"
#include "policies/policy_impl.h"

#define DIFF_KINDS_MAX (1U << 12) /* of one part of a request */
#define DIFF_CASES_MAX (1U << 16) /* of all together */

/* What a request or an asker says to a condition. */
enum diff_says { DIFF_MET, DIFF_UNMET, DIFF_UNKNOWN };

/* All values of one clause, in the sense of what loosens or of what tightens. */
struct diff_atom {
	enum clause_kind kind;
	bool is_loosening;
	bool has_twin;       /* the same in the other sense */
	const char **values; /* owned list of what the policies keep */
	size_t count;
};

/* Who asks. */
struct diff_asker {
	struct policy_asker *asker; /* owned; NULL: not known */
	char **argv;                /* owned, NULL-terminated; NULL: not known */
	const char *program;        /* of a policy, or static; NULL: not known */
};

struct diff_space {
	uint64_t *rules; /* which are looked at: numbers, those of the second policy behind */
	size_t rule_count;
	struct diff_atom *atoms; /* those on the request first */
	size_t atom_count, atom_room, request_atoms;
	struct diff_keys requests; /* what each says: a byte for each atom on the request */
	struct policy_request *request_list;
	size_t request_room;
	size_t unseen; /* the request of which nothing is known */
	struct diff_keys askers;
	struct diff_asker *asker_list;
	size_t asker_room;
	char other_program[32];   /* that no rule names */
	struct diff_kinds fields; /* texts that requests borrow */
	struct diff_kinds methods, paths, queries;
	struct diff_space *next;
};

/* One for each request and asker; a number below this. */
static inline size_t diff_space_cases(const struct diff_space *space)
{
	return space->requests.count * space->askers.count;
}
static inline enum diff_says diff_space_says(const struct diff_space *space, size_t number,
					     size_t atom)
{
	const uint8_t *request = diff_keys_get(&space->requests, number / space->askers.count);

	if (atom < space->request_atoms)
		return (enum diff_says)request[atom];
	return (enum diff_says)diff_keys_get(
		&space->askers, number % space->askers.count)[atom - space->request_atoms];
}
/* Is it a request of which nothing is known? In a tunnel all are. */
static inline bool diff_space_is_unseen(const struct diff_space *space, size_t number)
{
	return number / space->askers.count == space->unseen;
}

/* The space of @rules (taken, sorted) of @sides, made once and kept in @list. */
int diff_space_get(struct diff_space **list, const struct policy *const sides[2], uint64_t *rules,
		   size_t rule_count, const struct diff_space **ret);
void diff_space_free(struct diff_space *list);
/* Puts request and asker of case @number into @facts. */
void diff_space_fill(const struct diff_space *space, size_t number, struct policy_facts *facts);

/* All kinds of each part. A kind's says: a byte for each atom on the request, of its own atoms
 * only; then, of fields, whether one overrides method and path. 0, or -E2BIG. */
int diff_parts_methods(struct diff_space *space);
int diff_parts_paths(struct diff_space *space);
int diff_parts_queries(struct diff_space *space);
int diff_fields(struct diff_space *space);
/* The fields that a kind's text stands for. Returned owned; the text is cut in place. */
struct policy_field *diff_fields_list(char *text, size_t *ret_count);
/* The globs of atoms of @kind, each once: in @ret, room for all values. Returns how many. @name:
 * of the field whose globs are meant, else NULL. */
size_t diff_parts_globs(const struct diff_space *space, enum clause_kind kind, const char *name,
			const char **ret);
/* Every number of @from's things together: @is_and says of which bytes all have to say so, else one
 * has to. @join: one text for two, returned owned. 0, or -E2BIG. */
int diff_parts_join(const struct diff_kinds *from, const bool *is_and,
		    char *(*join)(const char *left, const char *right), struct diff_kinds *ret);
int diff_askers(struct diff_space *space);
