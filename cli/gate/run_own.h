/* run_own: a run with its own gate, in this process. */
#pragma once

#define RUN_EXEC 1 /* the number of the one command of `run`, at its gateway */

struct gate;
struct run_gateway;
struct run_options;
struct run_summary;

/* As gate_prepare(), for @gate, which is kept; *@ret is returned owned in every case. */
int run_own_prepare(struct gate *gate, struct run_options *options, struct run_gateway **ret);
/* What was contacted through @gate, and under which name it is recorded; borrowed from it. */
void run_own_report(const struct gate *gate, struct run_summary *ret);
