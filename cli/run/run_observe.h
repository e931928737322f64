/* run_observe: `run --observe`: what it cannot be combined with, and what is printed about it. */
#pragma once

struct options;
struct run_options;

/* An exit status; prints what is wrong. Asks what no rule decides, so that the gateway can tell it
 * from what a rule allows. */
int run_observe_check(struct run_options *options, const struct options *given);
/* Both print nothing without --observe. @run: the id of the run. */
void run_observe_begin(const struct run_options *options);
void run_observe_end(const struct run_options *options, const char *run);
