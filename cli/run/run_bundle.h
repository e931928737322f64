/* run_bundle: the unanswered questions of a run, as a file. */
#pragma once

#include <stdbool.h>

struct bundle;
struct run_bundle;
struct run_options;
struct run_places;

/* Returned owned; NULL: the error was printed. */
struct run_bundle *run_bundle_open(const struct run_options *options,
				   const struct run_places *places);
struct bundle *run_bundle_get(struct run_bundle *ours); /* NULL if @ours is NULL */
bool run_bundle_has_any(const struct run_bundle *ours);
/* Returns an exit status and prints what is wrong. Does nothing if no file was asked for. */
int run_bundle_write(struct run_bundle *ours, const char *run, const char *session);
void run_bundle_free(struct run_bundle *ours);
