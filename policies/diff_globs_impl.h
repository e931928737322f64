/* diff_globs: in how many ways can a text meet several globs? Not by trying texts: all globs read
 * at once, and every state they can be in together is visited. */
#pragma once

#include "policies/diff_keys_impl.h"

/* What a text is; request.c says how each is compared. */
enum diff_grammar {
	DIFF_PATHS,      /* that begin with a slash, and that all servers read alike */
	DIFF_PARAMETERS, /* of a query: NAME or NAME=VALUE, without & and ; */
	DIFF_VALUES,     /* of a field */
};

/* Fills @ret, which is zeroed: every way to meet @globs, with the shortest text. Two bytes for each
 * glob: 1 where it is met in the sense of what loosens, and of what tightens. 0, or -E2BIG. */
int diff_globs(enum diff_grammar grammar, const char *const *globs, size_t count,
	       struct diff_kinds *ret);
