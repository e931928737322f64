/* diff_cover: many cases that differ alike, as one condition. */
#pragma once

#include "policies/diff_impl.h"

/* Widens what is said by case @number until no more cases that differ by its code at @point can be
 * told with it: of each atom, in diff->masks, BIT() of each enum diff_says that is meant. */
void diff_cover(struct diff *diff, const struct diff_space *space, size_t number, size_t point);
bool diff_cover_has(const struct diff *diff, const struct diff_space *space, size_t number);
/* diff->masks in the policy's language; "" where nothing is asked for. */
void diff_cover_text(const struct diff *diff, const struct diff_space *space, char *out,
		     size_t size);
/* The request and the asker of case @number: "POST /v1/, from "npm ci"". */
void diff_cover_example(const struct diff_space *space, size_t number, char *out, size_t size);
