/* filter: which records the options of `audit query` choose. */
#pragma once

struct options;
struct selection;
struct store_filter;

/* Borrows the words of @options, and the run of @selection. @ret->limit is the default. An exit
 * status, after what is wrong was printed. */
int filter_take(struct store_filter *ret, const struct options *options,
		const struct selection *selection);
