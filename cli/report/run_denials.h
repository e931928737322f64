/* run_denials: what was denied, not answered, refused or not reached in a run, and what to do. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct gateway_trip;
struct run_summary;

/* Destinations that a person reads about: the command chooses how many there are. */
#define RUN_DENIALS_MAX 10

/* Prints them on stderr. */
void run_denials_print(const struct run_summary *summary);
/* Says why the exit status is not the command's; prints nothing if it is. */
void run_denials_print_status(const struct run_summary *summary);

/* Was it denied or not answered, or could not be reached, once or more? */
bool run_denials_is_denied(const struct gateway_trip *trip);
/* The rule that would allow the destination if the request, or the program, met its conditions,
 * such as a path: with file and line, returned owned. NULL: there is none, or a rule has decided.
 */
char *run_denials_near(const struct gateway_trip *trip, const struct run_summary *summary);
/* What was denied, by which rule, and what would allow it: visible text, returned owned. */
char *run_denials_text(const struct gateway_trip *trip, const struct run_summary *summary);
